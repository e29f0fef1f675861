// Checks sensitive paths as written: whether they parse, and which formulas would store their values in clear text.

import {
  findClearRead,
  findClearReads,
  isHidingLevel,
  overlaps,
  parseSensitivePath,
  type SensitivePath,
} from '../core/events/sensitive/index.ts'
import { clearPaths, readFormula } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { MAPPINGS } from '../core/ingest/source/index.ts'
import { readsWholeEvent } from './actions/index.ts'
import type { SensitiveSource } from './document-context.ts'
import type { FieldPath, Remark } from './finding.ts'
import { type Fields, fieldsOf } from './written.ts'

/** Kinds whose events come from outside, and that say what is sensitive in them. */
const SOURCE_KINDS: readonly unknown[] = ['Source', 'Poller']

export function isSource({ kind }: { readonly kind?: unknown }): boolean {
  return SOURCE_KINDS.includes(kind)
}

/** Of the sources and pollers among these documents, valid or not. */
export function sensitiveSources(documents: readonly Fields[]): readonly SensitiveSource[] {
  return documents.flatMap((source) => {
    const paths = isSource(source) ? pathsOf(source) : []
    return paths.length === 0 ? [] : [{ paths, firstToken: firstTokenOf(source) }]
  })
}

export function checkSensitiveSource(source: Fields): readonly Remark[] {
  return [...checkPaths(source.sensitive), ...checkClassification(source), ...checkFormulas(source)]
}

export function checkPaths(sensitive: JsonValue | undefined): readonly Remark[] {
  if (!Array.isArray(sensitive)) return []
  return sensitive.flatMap((text: JsonValue, index): readonly Remark[] => {
    if (typeof text !== 'string' || text === '' || text.includes('{{')) return []
    const parsed = parseSensitivePath(text)
    if (parsed.ok) return []
    const { message, offset } = parsed.problem
    return [{ rule: 'sensitivePath', message, path: ['sensitive', index], offset }]
  })
}

/** Each path is one, and what is public or internal is not sensitive as well. */
function checkClassification(source: Fields): readonly Remark[] {
  const hidden = pathsOf(source)
  return Object.entries(fieldsOf(source.classification)).flatMap(([text, level]): readonly Remark[] => {
    const at: FieldPath = ['classification', text]
    const parsed = parseSensitivePath(text)
    if (!parsed.ok) return [{ rule: 'sensitivePath', message: parsed.problem.message, path: at, onKey: true }]
    if (isHidingLevel(level)) return []
    const above = hidden.find((one) => isWithin(parsed.path, one))
    if (above === undefined) return []
    const message = `\`${text}\` is ${String(level)}, and \`${above.text}\` hides it: leave one of them out`
    return [{ rule: 'sensitivePath', message, path: at, onKey: true }]
  })
}

function isWithin(path: SensitivePath, above: SensitivePath): boolean {
  return above.steps.length <= path.steps.length && overlaps(path, above)
}

/** The formulas whose result is stored beside the payload, where searches and lists read it. */
const KEPT: readonly {
  readonly path: FieldPath
  readonly as: 'expression' | 'template'
  readonly name: string
}[] = [
  { path: ['subject'], as: 'template', name: 'subject' },
  { path: ['event', 'id'], as: 'expression', name: 'id' },
  { path: ['event', 'objectType'], as: 'template', name: 'object type' },
  { path: ['event', 'objectId'], as: 'expression', name: 'object id' },
  { path: ['event', 'occurredAt'], as: 'expression', name: 'time' },
  { path: ['dedup', 'by'], as: 'expression', name: 'dedup key' },
]

function checkFormulas(source: Fields): readonly Remark[] {
  const sensitive = pathsOf(source)
  if (sensitive.length === 0) return []
  const mapping = mappingOf(source.subjects)
  const named = KEPT.flatMap(({ path, as, name }) => {
    const written = at(source, path)
    const text = written ?? at(mapping, path)
    if (typeof text !== 'string') return []
    const place = written === undefined ? ['subjects'] : path
    return report(text, as, sensitive, place, `the ${name} of an event`)
  })
  const rules = at(source, ['dispatch', 'rules'])
  const emitted = (Array.isArray(rules) ? rules : []).flatMap((rule: JsonValue, index) =>
    reportSubject(at({ rule }, ['rule', 'emit']), sensitive, ['dispatch', 'rules', index, 'emit']),
  )
  return [...named, ...emitted]
}

/**
 * Keys of effects and lanes appear in lists and in the log, references also at the other side, and subjects wherever
 * events do.
 */
export function checkSensitiveRoute(route: Fields, sources: readonly SensitiveSource[]): readonly Remark[] {
  const { key } = route
  const patterns = [route.on].flat().filter((pattern) => typeof pattern === 'string')
  const sensitive = sources.filter((source) => mayHear(patterns, source)).flatMap(({ paths }) => paths)
  const keyed =
    typeof key === 'string' ? report(key, 'expression', sensitive, ['key'], 'the key of an effect') : []
  const lanes = ['order', 'debounce', 'concurrency'].flatMap((field) => {
    const by = at(route, [field, 'by'])
    return typeof by === 'string'
      ? report(by, 'expression', sensitive, [field, 'by'], 'what work is ordered by')
      : []
  })
  const extRef = at(route, ['do', 'upsert', 'extRef'])
  const referenced =
    typeof extRef === 'string'
      ? report(extRef, 'template', sensitive, ['do', 'upsert', 'extRef'], 'an external reference')
      : []
  const subject = reportSubject(at(route, ['do', 'emit']), sensitive, ['do', 'emit'])
  return [...keyed, ...lanes, ...referenced, ...subject]
}

/** What an endpoint receives is redacted, and so is what its condition and its templates read. */
export function checkSensitiveSubscription(
  subscription: Fields,
  sources: readonly SensitiveSource[],
): readonly Remark[] {
  const sensitive = heardBy([subscription], sources)
  if (sensitive.length === 0) return []
  const by = at(subscription, ['order', 'by'])
  const lane =
    typeof by === 'string'
      ? report(by, 'expression', sensitive, ['order', 'by'], 'what deliveries are ordered by')
      : []
  if (subscription.sensitive === 'send') return lane
  const { where, transform, headers } = subscription
  const read = [
    ...conditionTexts(where, ['where']),
    ...templateTexts(transform, ['transform']),
    ...templateTexts(headers, ['headers']),
  ]
  const hidden = read.flatMap(({ text, as, path }): readonly Remark[] => {
    const reads = readFormula(text, as)?.reads ?? []
    const found = reads
      .map((one) => findClearRead(one.path, 'expression', sensitive))
      // The rest of a value with hidden parts arrives.
      .find((one) => one !== null && isUnder(withoutIndexes(one.read), withoutIndexes(one.sensitive.text)))
    if (found == null) return []
    const instead = path[0] === 'where' ? 'the condition would see' : 'the endpoint would get'
    const message = `\`${found.sensitive.text}\` is sensitive, and ${instead} \`[hidden]\`: if it may be known there, write \`sensitive: send\``
    return [{ rule: 'hidden', severity: 'warning', message, path, suggestion: 'sensitive: send' }]
  })
  return [...lane, ...hidden]
}

function withoutIndexes(path: string): string {
  return path.replaceAll(/\[(?:\d+|\*)\]/g, '')
}

interface ReadText {
  readonly text: string
  readonly as: 'expression' | 'template'
  readonly path: FieldPath
}

function templateTexts(value: JsonValue | undefined, path: FieldPath): readonly ReadText[] {
  if (typeof value === 'string') return value.includes('{{') ? [{ text: value, as: 'template', path }] : []
  if (typeof value !== 'object' || value === null) return []
  const isList = Array.isArray(value)
  return Object.entries(value).flatMap(([key, one]) =>
    templateTexts(one as JsonValue, [...path, isList ? Number(key) : key]),
  )
}

/** An expression, or the paths of a filter. */
function conditionTexts(value: JsonValue | undefined, path: FieldPath): readonly ReadText[] {
  if (typeof value === 'string') return [{ text: value, as: 'expression', path }]
  if (Array.isArray(value))
    return value.flatMap((one: JsonValue, index) => conditionTexts(one, [...path, index]))
  if (!isFields(value)) return []
  const own = typeof value.path === 'string' ? conditionTexts(value.path, [...path, 'path']) : []
  const inner = ['all', 'any', 'not'].flatMap((name) => conditionTexts(value[name], [...path, name]))
  return [...own, ...inner]
}

/**
 * Keys of instances are stored and shown in clear text. Other values that events bring into an instance are encrypted:
 * `encryptedTargets`.
 */
export function checkSensitiveWorkflow(
  workflow: Fields,
  sources: readonly SensitiveSource[],
): readonly Remark[] {
  const triggers = mapsOf(workflow.triggers)
  const ofTriggers = triggers.flatMap(([trigger, index]) => {
    const sensitive = heardBy([trigger], sources)
    const { correlate } = trigger
    const keys = typeof correlate === 'string' ? [[[], correlate] as const] : textsOf(correlate)
    return [
      ...keys.flatMap(([key, text]) =>
        report(
          text,
          'expression',
          sensitive,
          ['triggers', index, 'correlate', ...key],
          'a key of an instance',
        ),
      ),
      ...reportKeys(trigger.map, sensitive, ['triggers', index, 'map']),
    ]
  })
  const began = heardByAny(workflow, sources)
  const ofSteps = outsOf(workflow).flatMap(([name, out]) =>
    reportKeys(out, began, ['transitions', name, 'out']),
  )
  return [...ofTriggers, ...ofSteps, ...reportRestricted(workflow, sources)]
}

/** What only admins see of an event, operators would see in the instance. */
function reportRestricted(workflow: Fields, sources: readonly SensitiveSource[]): readonly Remark[] {
  if (fieldsOf(workflow.security).classification === 'restricted') return []
  const maps = [
    ...mapsOf(workflow.triggers).map(
      ([trigger, index]) => [trigger.map, heardBy([trigger], sources), ['triggers', index, 'map']] as const,
    ),
    ...outsOf(workflow).map(
      ([name, out]) => [out, heardByAny(workflow, sources), ['transitions', name, 'out']] as const,
    ),
  ]
  return maps.flatMap(([map, sensitive, path]) =>
    textsOf(map).flatMap(([[key = ''], text]): readonly Remark[] => {
      const restricted = sensitive.filter(({ isRestricted }) => isRestricted === true)
      const found = findClearRead(text, 'expression', restricted)
      if (found === null) return []
      const message = `\`${found.sensitive.text}\` is restricted, and operators would see it in the instance: write \`classification: restricted\` under \`security\``
      return [{ rule: 'restrictedCopy', severity: 'warning', message, path: [...path, key] }]
    }),
  )
}

/**
 * Paths of instances that copy a sensitive value from an event, or from a field that does. If a formula does more than
 * copy it, its whole result counts. Lists are encrypted as a whole.
 */
export function encryptedTargets(workflow: Fields, sources: readonly SensitiveSource[]): readonly string[] {
  const began = heardByAny(workflow, sources)
  if (began.length === 0) return []
  const maps = [
    ...mapsOf(workflow.triggers).map(
      ([trigger]) => [trigger.map, heardBy([trigger], sources), undefined] as const,
    ),
    // A step reads the event that started its instance.
    ...outsOf(workflow).map(
      ([name, out]) => [out, began, at(workflow, ['transitions', name, 'do'])] as const,
    ),
  ]
  const written = maps.flatMap(([map, sensitive, action]) =>
    textsOf(map).flatMap(([[key = ''], text]) => {
      const target = targetOf(key)?.split('[', 1)[0] ?? ''
      return target.startsWith('correlation') ? [] : [{ target, text, sensitive, action }]
    }),
  )
  const found = new Set(
    written.flatMap(({ target, text, sensitive }) =>
      findClearReads(text, 'expression', sensitive).map((read) => `${target}${partOf(text, read)}`),
    ),
  )
  const isFound = (read: string) => [...found].some((path) => isUnder(read, path) || isUnder(path, read))
  /** The result of a step that gets something sensitive may contain it. */
  const isResultOf = (action: JsonValue | undefined, sensitive: readonly SensitivePath[]) =>
    actionTexts(action).some(
      ({ text, as }) =>
        findClearReads(text, as, sensitive).length > 0 || clearPaths(text, as).some((read) => isFound(read)),
    )
  // Copied values may be copied further, in any order of the steps.
  for (let before = -1; before !== found.size; ) {
    before = found.size
    for (const { target, text, sensitive, action } of written) {
      const reads = clearPaths(text, 'expression')
      const isTaken =
        reads.some(isFound) ||
        (reads.some((read) => isUnder(read, 'result')) && isResultOf(action, sensitive))
      if (isTaken && ![...found].some((path) => isUnder(target, path))) found.add(target)
    }
  }
  return [...found].filter((path) => ![...found].some((one) => one !== path && isUnder(path, one))).sort()
}

/** For a step. A function reads the whole event by its context, and an agent's prompt is in another document. */
function actionTexts(action: JsonValue | undefined): readonly Pick<ReadText, 'text' | 'as'>[] {
  const texts = templateTexts(action, [])
  return readsWholeEvent(action) ? [...texts, { text: 'payload', as: 'expression' }] : texts
}

/** Of a plain copy, the part that is sensitive; empty: all of it. */
function partOf(text: string, { read, sensitive }: { read: string; sensitive: SensitivePath }): string {
  const hidden = sensitive.text
  if (text.trim() !== read || !hidden.startsWith(`${read}.`)) return ''
  const part = hidden.slice(read.length).split('[', 1)[0] ?? ''
  // Paths of instances have plain names.
  return /^(\.[A-Za-z_][A-Za-z0-9_]*)+$/.test(part) ? part : ''
}

function outsOf(workflow: Fields): readonly (readonly [string, JsonValue | undefined])[] {
  const transitions = at(workflow, ['transitions'])
  const names = isFields(transitions) ? Object.keys(transitions) : []
  return names.map((name) => [name, at(workflow, ['transitions', name, 'out'])] as const)
}

function heardByAny(workflow: Fields, sources: readonly SensitiveSource[]): readonly SensitivePath[] {
  return heardBy(
    mapsOf(workflow.triggers).map(([trigger]) => trigger),
    sources,
  )
}

function heardBy(triggers: readonly Fields[], sources: readonly SensitiveSource[]): readonly SensitivePath[] {
  const patterns = triggers.flatMap(({ on }) => [on].flat().filter((pattern) => typeof pattern === 'string'))
  return sources.filter((source) => mayHear(patterns, source)).flatMap(({ paths }) => paths)
}

function reportKeys(
  map: JsonValue | undefined,
  sensitive: readonly SensitivePath[],
  path: FieldPath,
): readonly Remark[] {
  if (sensitive.length === 0) return []
  return textsOf(map).flatMap(([[key = ''], text]) =>
    targetOf(key)?.startsWith('correlation.') === true
      ? report(text, 'expression', sensitive, [...path, key], 'a key of an instance')
      : [],
  )
}

function targetOf(path: JsonValue): string | null {
  if (typeof path !== 'string') return null
  return /^(data|metadata|correlation)(\.|\[|$)/.test(path) ? path : `data.${path}`
}

function isUnder(path: string, of: string): boolean {
  return path === of || path.startsWith(`${of}.`) || path.startsWith(`${of}[`)
}

function isFields(value: JsonValue | undefined): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function mapsOf(list: JsonValue | undefined): readonly (readonly [Fields, number])[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((one: JsonValue, index) => (isFields(one) ? [[one, index] as const] : []))
}

function textsOf(map: JsonValue | undefined): readonly (readonly [readonly string[], string])[] {
  if (!isFields(map)) return []
  return Object.entries(map).flatMap(([key, text]) =>
    typeof text === 'string' ? [[[key], text] as const] : [],
  )
}

function reportSubject(
  emit: JsonValue | undefined,
  sensitive: readonly SensitivePath[],
  path: FieldPath,
): readonly Remark[] {
  return typeof emit === 'string' ? report(emit, 'template', sensitive, path, 'the subject of an event') : []
}

function mayHear(patterns: readonly string[], { firstToken }: SensitiveSource): boolean {
  return patterns.some((pattern) => {
    const token = pattern.split('.', 1)[0]
    return firstToken === null || token === '*' || token === '>' || token === firstToken
  })
}

function report(
  text: string,
  as: 'expression' | 'template',
  sensitive: readonly SensitivePath[],
  path: FieldPath,
  where: string,
): readonly Remark[] {
  const found = findClearRead(text, as, sensitive)
  return found === null ? [] : [keptInClear(found, path, where)]
}

export function keptInClear(
  { read, sensitive }: { readonly read: string; readonly sensitive: SensitivePath },
  path: FieldPath,
  where: string,
): Remark {
  const message = `\`${sensitive.text}\` is sensitive, and ${where} is kept and shown in clear: write \`hmac(${read})\` instead of \`${read}\`, or \`hash(${read})\` if its values cannot be guessed`
  return { rule: 'sensitiveInClear', severity: 'warning', message, path }
}

export function pathsOf({ sensitive, classification }: Fields): readonly SensitivePath[] {
  const named = (Array.isArray(sensitive) ? sensitive : []).flatMap((text: JsonValue) => pathOf(text))
  const classified = Object.entries(fieldsOf(classification)).flatMap(([text, level]) =>
    isHidingLevel(level)
      ? pathOf(text).map((one) => (level === 'restricted' ? { ...one, isRestricted: true as const } : one))
      : [],
  )
  return [...named, ...classified]
}

function pathOf(text: JsonValue): readonly SensitivePath[] {
  const parsed = typeof text === 'string' ? parseSensitivePath(text) : null
  return parsed?.ok === true ? [parsed.path] : []
}

function firstTokenOf(source: Fields): string | null {
  const { name, subject, schedule } = source
  const text =
    subject ??
    mappingOf(source.subjects).subject ??
    (schedule === undefined ? null : `schedule.${String(name)}`)
  const token = typeof text === 'string' ? text.split('.', 1)[0] : undefined
  return token === undefined || token === '' || token.includes('{{') ? null : token
}

function mappingOf(name: JsonValue | undefined): Fields {
  if (typeof name !== 'string' || !Object.hasOwn(MAPPINGS, name)) return {}
  return MAPPINGS[name as keyof typeof MAPPINGS] as unknown as Fields
}

function at(fields: Fields, path: FieldPath): JsonValue | undefined {
  let value: JsonValue | undefined = fields
  for (const step of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    value = Object.hasOwn(value, step) ? (value as Fields)[step as string] : undefined
  }
  return value ?? undefined
}
