// The shorter forms of the language: `vendor` of a source, templates in keys, `forEach` of a route, `delay` of a transition.
// Rewritten to the long form before anything is checked, with positions preserved, so that a document has one meaning and one
// hash however it is written. `steps` of a route is in expand-steps.ts: it needs the checks.

import {
  ADDRESSED_SCHEMES,
  PLAIN_SCHEMES,
  TIMED_ADDRESSED_SCHEMES,
  TIMED_SCHEMES,
} from '../core/definitions/documents/index.ts'
import { compileExpression, splitTemplateText } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { MAPPING_NAMES } from '../core/ingest/source/index.ts'
import type { FieldPath } from './finding.ts'
import { moved, type Rewriting, rewritten } from './import-origins.ts'
import type { ReadDocument } from './read.ts'
import { type Fields, fieldsOf, isMap } from './written.ts'

/** The same document if it has none of these forms. */
export function expandShortForms(document: ReadDocument): ReadDocument {
  const work: Rewriting = { origins: [], notes: [] }
  const { value } = document
  const expanded =
    value.kind === 'Source'
      ? expandVendor(value, work)
      : value.kind === 'Route'
        ? expandKeys(expandForEach(value, work), work)
        : value.kind === 'Workflow'
          ? expandDelays(expandTransitionKeys(value, work), work)
          : value
  return expanded === value ? document : rewritten(document, expanded, work).document
}

// --- `vendor` of a source

/** The schemes that are a vendor's own. */
export const VENDORS = [
  ...PLAIN_SCHEMES,
  ...TIMED_SCHEMES,
  ...ADDRESSED_SCHEMES,
  ...TIMED_ADDRESSED_SCHEMES,
] as const

function isVendor(value: JsonValue | undefined): value is string {
  return (VENDORS as readonly (JsonValue | undefined)[]).includes(value)
}

/** What excludes `vendor`, because it is what `vendor` stands for. */
export const INSTEAD_OF_VENDOR = ['verify', 'subjects'] as const

/** With what excludes it, it stays, and the checks of a source report both. */
function expandVendor(value: Fields, work: Rewriting): Fields {
  const { vendor, secret, ...rest } = value
  if (!isVendor(vendor) || INSTEAD_OF_VENDOR.some((name) => rest[name] !== undefined)) return value
  moved(work, ['verify'], ['vendor'])
  moved(work, ['verify', 'scheme'], ['vendor'])
  moved(work, ['verify', 'secret'], ['secret'])
  moved(work, ['subjects'], ['vendor'])
  const isMapped = (MAPPING_NAMES as readonly string[]).includes(vendor) && rest.subject === undefined
  return {
    ...rest,
    verify: { scheme: vendor, ...(secret === undefined ? {} : { secret }) },
    ...(isMapped ? { subjects: vendor } : {}),
  }
}

// --- `forEach` of a route

/** With `each`, or with `concurrency` beside `parallel`, it stays, and the checks of a route report both. */
export function clashOfForEach(value: Fields): 'each' | 'concurrency' | null {
  if (value.each !== undefined) return 'each'
  const isTwice = fieldsOf(value.forEach).parallel !== undefined && value.concurrency !== undefined
  return isTwice ? 'concurrency' : null
}

function expandForEach(value: Fields, work: Rewriting): Fields {
  const { forEach, ...rest } = value
  if (!isMap(forEach) || clashOfForEach(value) !== null || value.steps !== undefined) return value
  const { parallel, ...each } = fieldsOf(forEach)
  moved(work, ['each'], ['forEach'])
  moved(work, ['concurrency'], ['forEach', 'parallel'])
  moved(work, ['concurrency', 'limit'], ['forEach', 'parallel'])
  return {
    ...rest,
    each,
    ...(parallel === undefined ? {} : { concurrency: { limit: parallel, by: EVENT_LANE } }),
  }
}

/** All elements of one event. */
export const EVENT_LANE = 'event.id'

// --- `delay` of a transition

/** Why the transition cannot have one, or null. */
export function faultOfDelay(name: string, transition: Fields, workflow: Fields): string | null {
  const { on, fromAny } = transition
  const from = placeOf(transition)
  if (on !== undefined) return `a \`delay\` fires the transition by itself: leave out \`on: ${String(on)}\``
  if (fromAny !== undefined || from === null) return 'a `delay` is a stay in one place: name one under `from`'
  const place = fieldsOf(workflow.places)[from]
  if (fieldsOf(place).timeout !== undefined)
    return `\`${from}\` has a \`timeout\`, which ends the same stay: give one of both a place of its own`
  const other = Object.entries(fieldsOf(workflow.transitions)).find(
    ([one, written]) =>
      one !== name && fieldsOf(written).delay !== undefined && placeOf(fieldsOf(written)) === from,
  )
  return other === undefined ? null : `\`${other[0]}\` ends the same stay in \`${from}\`: keep one \`delay\``
}

function placeOf({ from }: Fields): string | null {
  const [only, ...others] = [from].flat()
  return typeof only === 'string' && others.length === 0 ? only : null
}

/** One that cannot be had stays, and the checks of a workflow report it. */
export function expandDelays(workflow: Fields, work: Rewriting): Fields {
  const delayed = Object.entries(fieldsOf(workflow.transitions)).filter(([name, one]) => {
    const transition = fieldsOf(one)
    const { delay } = transition
    const place = fieldsOf(workflow.places)[placeOf(transition) ?? '']
    return typeof delay === 'string' && isMap(place) && faultOfDelay(name, transition, workflow) === null
  })
  if (delayed.length === 0) return workflow
  const places: Record<string, JsonValue> = { ...fieldsOf(workflow.places) }
  const transitions: Record<string, JsonValue> = { ...fieldsOf(workflow.transitions) }
  for (const [name, one] of delayed) {
    const { delay = null, ...rest } = fieldsOf(one)
    const from = placeOf(rest) ?? ''
    const at: FieldPath = ['transitions', name, 'delay']
    places[from] = { ...fieldsOf(places[from]), timeout: { after: delay, fire: name } }
    transitions[name] = { ...rest, on: 'timer' }
    for (const now of [
      ['places', from, 'timeout'],
      ['places', from, 'timeout', 'after'],
      ['places', from, 'timeout', 'fire'],
      ['transitions', name, 'on'],
    ])
      moved(work, now, at)
  }
  return { ...workflow, places, transitions }
}

// --- Templates in keys

function expandKeys(value: Fields, work: Rewriting): Fields {
  const key = formulaOf(value.key, ['key'], work)
  const migration = fieldsOf(value.keyMigration)
  const from = formulaOf(migration.from, ['keyMigration', 'from'], work)
  const steps = expandStepKeys(value.steps, work)
  if (key === null && from === null && steps === null) return value
  return {
    ...value,
    ...(key === null ? {} : { key }),
    ...(from === null ? {} : { keyMigration: { ...migration, from } }),
    ...(steps === null ? {} : { steps }),
  }
}

/** null: no step has one. */
function expandStepKeys(steps: JsonValue | undefined, work: Rewriting): JsonValue | null {
  if (!Array.isArray(steps)) return null
  const keys = steps.map((step: JsonValue, index) =>
    formulaOf(fieldsOf(step).key, ['steps', index, 'key'], work),
  )
  if (keys.every((key) => key === null)) return null
  return steps.map((step: JsonValue, index) => {
    const key = keys[index] ?? null
    return key === null ? step : { ...fieldsOf(step), key }
  })
}

function expandTransitionKeys(value: Fields, work: Rewriting): Fields {
  if (!isMap(value.transitions)) return value
  let isChanged = false
  const transitions = Object.entries(fieldsOf(value.transitions)).map(([name, step]) => {
    const key = formulaOf(fieldsOf(step).key, ['transitions', name, 'key'], work)
    if (key === null) return [name, step] as const
    isChanged = true
    return [name, { ...fieldsOf(step), key }] as const
  })
  return isChanged ? { ...value, transitions: Object.fromEntries(transitions) } : value
}

/** null: it is no template, or one with an error, which is reported as it is written. */
export function formulaOf(text: JsonValue | undefined, path: FieldPath, work: Rewriting): string | null {
  if (typeof text !== 'string' || !text.includes('{{')) return null
  // An expression may have `{{` in a text of its own.
  if (compileExpression(text).ok) return null
  const parts = splitTemplateText(text)
  if (parts === null) return null
  const pieces: Piece[] = []
  let formula = ''
  for (const { text: part, at, isExpression } of parts) {
    if (formula !== '') formula += ' + '
    const isAlone = parts.length === 1
    const before = isExpression ? (isAlone ? '' : 'string(') : "'"
    pieces.push({ from: formula.length, inner: formula.length + before.length, at })
    formula += isExpression ? `${before}${part}${isAlone ? '' : ')'}` : quotedText(part)
  }
  moved(work, path, path, undefined, (offset) => writtenOffset(pieces, offset))
  return formula
}

/** A part of the formula that starts at `from`; its text starts at `inner`, and was written at `at`. */
interface Piece {
  readonly from: number
  readonly inner: number
  readonly at: number
}

function writtenOffset(pieces: readonly Piece[], offset: number): number {
  const piece = pieces.findLast(({ from }) => from <= offset)
  return piece === undefined ? offset : piece.at + Math.max(0, offset - piece.inner)
}

function quotedText(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
  return `'${escaped.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')}'`
}

/** A sum of texts and `string(…)` as a text with templates; null: it is another formula, or no shorter. */
export function shortKeyOf(formula: string): string | null {
  let rest = formula.trim()
  let text = ''
  while (rest !== '') {
    const literal = /^'((?:[^'\\]|\\.)*)'/s.exec(rest)
    const call = literal === null && rest.startsWith('string(') ? callIn(rest) : null
    if (literal === null && call === null) return null
    text += literal === null ? `{{ ${call} }}` : unquotedText(String(literal[1]))
    rest = rest.slice(literal === null ? 'string()'.length + String(call).length : literal[0].length)
    const plus = /^\s*\+\s*(?=\S)/.exec(rest)
    if (plus === null && rest !== '') return null
    rest = rest.slice(plus?.[0].length ?? 0)
  }
  const work: Rewriting = { origins: [], notes: [] }
  // Only what is read as the same formula again.
  return formulaOf(text, [], work) === formula ? text : null
}

/** The shortest argument of the call at the start that is an expression. */
function callIn(text: string): string | null {
  for (let end = text.indexOf(')'); end >= 0; end = text.indexOf(')', end + 1)) {
    const inner = text.slice('string('.length, end)
    if (compileExpression(inner).ok) return inner
  }
  return null
}

function unquotedText(text: string): string {
  return text.replaceAll(/\\(.)/gs, (_, char: string) => ESCAPES[char] ?? char)
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }
