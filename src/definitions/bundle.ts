// Checks routes together, and against the deployed ones: keys that collide in the ledger, a formula that changed, how
// long the ledger remembers, routes that must be alone. Works on valid documents.

import { publishedBy } from '../core/definitions/catalog/index.ts'
import {
  type DefinitionDocument,
  RETENTION_MS,
  type RouteDocument,
  type WorkflowDocument,
} from '../core/definitions/documents/index.ts'
import { patternsMeet } from '../core/events/subject/index.ts'
import { type FormulaStart, formatDuration, isSameFormula, readFormula } from '../core/expression/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../core/foundation/time/index.ts'
import { ledgerNeeds, sumOf } from '../core/store/retention/index.ts'
import type { BundleWorkflow } from './bundle-workflows.ts'
import type { FieldPath, Remark } from './finding.ts'

/** A route of the files, and how to report on it. */
export interface BundleRoute {
  readonly document: RouteDocument
  report(remark: Remark): void
}

/**
 * `documents` are all that will be deployed, those of the files included. `hasAllSources` is false while a document
 * that may be a source has an error: which events can be published is not known then.
 */
export function reportBundle(
  routes: readonly BundleRoute[],
  documents: readonly DefinitionDocument[],
  hasAllSources: boolean,
  workflows: readonly BundleWorkflow[] = [],
): void {
  reportCollisions([...routes.flatMap(keyedRoute), ...workflows.flatMap(keyedSteps)], documents)
  reportAlone(routes, documents)
  reportArithmetic(routes)
  if (hasAllSources) reportLedger(routes, documents)
}

// --- Keys that collide

interface Start extends FormulaStart {
  /** `a_route`, or `a_workflow.a_transition`. */
  readonly owner: string
}

/** The owner of a formula: a route, or a transition of a workflow. */
interface Keyed {
  readonly owner: string
  readonly key: string
  readonly path: FieldPath
  report(remark: Remark): void
}

function keyedRoute({ document: { name, key }, report }: BundleRoute): readonly Keyed[] {
  return key === null ? [] : [{ owner: name, key, path: ['key'], report }]
}

function keyedSteps({ document, report }: BundleWorkflow): readonly Keyed[] {
  return document.transitions.flatMap(({ name, key }) => {
    const path = ['transitions', name, 'key']
    return key === null ? [] : [{ owner: `${document.name}.${name}`, key, path, report }]
  })
}

/** The prefixes of keys: without a formula a route's name, for steps their workflow's. */
function startsOf(document: DefinitionDocument): readonly Start[] {
  if (document.kind === 'Route') return startsOfKey(document.name, document.key, document.name)
  if (document.kind !== 'Workflow') return []
  return document.transitions.flatMap((one) => stepStarts(document, one))
}

function stepStarts(
  { name }: WorkflowDocument,
  one: WorkflowDocument['transitions'][number],
): readonly Start[] {
  return one.do === undefined ? [] : startsOfKey(`${name}.${one.name}`, one.key, name)
}

function startsOfKey(owner: string, key: string | null, usual: string): readonly Start[] {
  const starts = key === null ? [{ text: `${usual}:`, isWhole: false }] : (readFormula(key)?.starts ?? [])
  return starts.map((start) => ({ ...start, owner }))
}

/** The ledger belongs to the tenant: two routes, or two steps, with one key share one effect. */
function reportCollisions(keyed: readonly Keyed[], documents: readonly DefinitionDocument[]): void {
  const all = documents.flatMap(startsOf)
  const places = new Map(keyed.map(({ owner }, index) => [owner, index]))
  const sorted = all.filter(({ text }) => text !== '').sort((a, b) => compare(a.text, b.text))
  for (const [index, { owner, key, path, report }] of keyed.entries()) {
    const starts = startsOfKey(owner, key, owner)
    if (starts.some(({ text, isWhole }) => text === '' && !isWhole)) {
      if (all.every((start) => start.owner === owner)) continue
      const message =
        'the key begins with a value, not with words of its own: the ledger is one for all routes, and another that has the same value ' +
        `would take it for done. Begin it with what is done, as in \`'${wordsFor(owner)}:' + …\``
      report({ rule: 'keyCollision', severity: 'warning', message, path })
      continue
    }
    const other = starts.flatMap((start) => meeting(start, sorted) ?? [])[0]
    if (other === undefined) continue
    // Of two in the files that have a formula, the later one is reported.
    const place = places.get(other.owner)
    if (place !== undefined && index < place) continue
    const message =
      `the keys of \`${other.owner}\` begin with \`${other.text}\`: the ledger is one for all routes, and where two keys are alike the second effect is not made. ` +
      'Begin each with words of its own, unless they are to share one effect'
    report({ rule: 'keyCollision', severity: 'warning', message, path })
  }
}

/** A prefix of another route that the values of both may share. */
function meeting(start: Start, sorted: readonly Start[]): Start | undefined {
  // Prefixes of this text, shortest first; then those that extend it, which directly follow it.
  const shorter = sorted.find(
    (other) => other.owner !== start.owner && start.text.startsWith(other.text) && canMeet(other, start),
  )
  if (shorter !== undefined) return shorter
  return sorted.find(
    (other) => other.owner !== start.owner && other.text.startsWith(start.text) && canMeet(start, other),
  )
}

/** `short` is a prefix of `long`: they collide unless the shorter one ends there. */
function canMeet(short: Start, long: Start): boolean {
  return !short.isWhole || (long.text === short.text && long.isWhole)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function wordsFor(name: string): string {
  return name.toUpperCase().replaceAll(/[-.]/g, '_')
}

// --- A formula that changed

/** As it could be written; without a formula the event decides. */
function formulaOf({ name, key, each }: Pick<RouteDocument, 'name' | 'key' | 'each'>): string {
  return key ?? `'${name}:' + event.id${each === undefined ? '' : " + ':' + index"}`
}

export function reportMigrations(
  routes: readonly BundleRoute[],
  deployedDocuments: readonly DefinitionDocument[],
): void {
  const before = new Map(
    deployedDocuments.flatMap((one) => (one.kind === 'Route' ? [[one.name, one] as const] : [])),
  )
  for (const { document, report } of routes) {
    const old = before.get(document.name)
    if (old === undefined) continue
    const [was, is] = [formulaOf(old), formulaOf(document)]
    const { keyMigration } = document
    if (isSameFormula(was, is) || (keyMigration !== undefined && isSameFormula(keyMigration.from, was)))
      continue
    const wrong =
      keyMigration === undefined
        ? ''
        : ` \`keyMigration.from\` is \`${keyMigration.from}\`, which is not in force.`
    const message =
      `the key was \`${was}\` and would be \`${is}\`: what is done under the old one would be done again under the new one.${wrong} ` +
      'If that is safe, say so with `keyMigration`, the formula in force and a note why'
    report({
      rule: 'keyMigration',
      message,
      path: keyMigration === undefined ? ['key'] : ['keyMigration', 'from'],
      ...(keyMigration === undefined
        ? {
            suggestion: `keyMigration: { from: ${JSON.stringify(was)}, note: "why no effect is repeated or lost" }`,
          }
        : { suggestedText: was }),
    })
  }
}

// --- Routes that must be alone

function reportAlone(routes: readonly BundleRoute[], documents: readonly DefinitionDocument[]): void {
  for (const { document, report } of routes) {
    if (document.fanOut !== 'one' || document.where !== null || document.status === 'disabled') continue
    const other = documents.find(
      (one) =>
        one.kind === 'Route' &&
        one.name !== document.name &&
        one.where === null &&
        one.status !== 'disabled' &&
        one.on.some((pattern) => document.on.includes(pattern)),
    )
    if (other === undefined) continue
    const message = `\`${other.name}\` wants the same events, always: with \`fanOut: one\` neither would run, and each event be a dead letter. Tell them apart with \`where\``
    report({ rule: 'alone', severity: 'warning', message, path: ['fanOut'] })
  }
}

// --- Arithmetic

function reportArithmetic(routes: readonly BundleRoute[]): void {
  for (const { document, report } of routes) {
    const { drain, rateLimit, batch } = document
    if (drain === undefined) continue
    const items = drain.events * drain.cycles
    const calls = batch === undefined ? items : Math.ceil(items / batch.size)
    const every = formatDuration(drain.everyMs)
    if (rateLimit !== undefined) {
      const allowed = Math.floor((rateLimit.perMinute * drain.everyMs) / MINUTE)
      if (calls > allowed) {
        const inBatches = batch === undefined ? '' : `, in batches of ${batch.size} ${calls} calls`
        const message =
          `this never drains: ${drain.events} × ${drain.cycles} = ${items} items every ${every}${inBatches}, ` +
          `and the rate limit of ${rateLimit.perMinute} a minute allows ${allowed} calls in that time. Raise the limit, or drain less`
        report({ rule: 'neverDrains', severity: 'warning', message, path: ['rateLimit'] })
      }
    }
    const retriesMs = document.retry.delaysMs.reduce((sum, delay) => sum + delay, 0)
    if (document.retry.attempts > 1 && drain.everyMs > document.maxWaitMs + retriesMs) {
      const message =
        `an item that fails would expire before it is tried again: it has ${spelled(document.maxWaitMs + retriesMs)} ` +
        `(\`maxWait\` and retries), and the next drain is after ${every}`
      report({ rule: 'slowDrain', severity: 'warning', message, path: ['drain'] })
    }
  }
}

/** The longest time for which an event of the route can be replayed. */
function replayHorizonMs(route: RouteDocument, documents: readonly DefinitionDocument[]): number {
  let longestMs = 0
  const seen = new Set<RouteDocument>()
  const look = (one: RouteDocument) => {
    if (seen.has(one)) return
    seen.add(one)
    for (const other of documents) {
      if (other.kind !== 'Source' && other.kind !== 'Poller' && other.kind !== 'Route') continue
      const isHeard = publishedBy(other).some(({ subject }) =>
        one.on.some((pattern) => patternsMeet(pattern, subject)),
      )
      if (!isHeard) continue
      if (other.kind === 'Route') look(other)
      else longestMs = Math.max(longestMs, other.retentionMs ?? RETENTION_MS)
    }
  }
  look(route)
  return longestMs === 0 ? RETENTION_MS : longestMs
}

function reportLedger(routes: readonly BundleRoute[], documents: readonly DefinitionDocument[]): void {
  for (const { document, report } of routes) {
    const { ledgerKeepMs } = document
    if (ledgerKeepMs === undefined) continue
    const needs = ledgerNeeds(document, replayHorizonMs(document, documents))
    const neededMs = sumOf(needs)
    if (ledgerKeepMs >= neededMs) continue
    const sum = needs.map(({ name, ms }) => `${spelled(ms)} ${name}`).join(' + ')
    const message = `the ledger would forget what can come again: ${sum} = ${spelled(neededMs)}, and \`keep\` is ${spelled(ledgerKeepMs)}`
    const days = `${Math.ceil(neededMs / DAY)}d`
    report({ rule: 'ledgerKeep', message, path: ['ledger', 'keep'], suggestedText: days })
  }
}

/** A sum of durations rarely fits one unit. */
function spelled(durationMs: number): string {
  const rests = [DAY, HOUR, MINUTE, SECOND].map((unit, index, units) => {
    const above = units[index - 1]
    return Math.floor((above === undefined ? durationMs : durationMs % above) / unit) * unit
  })
  return (
    rests
      .filter((ms) => ms > 0)
      .map(formatDuration)
      .join(' ') || formatDuration(durationMs)
  )
}
