// Predicts what a deployed route would do with an event: reads the ledger as a run would, and renders the request to
// see where it would go. It calls nothing and writes nothing.

import { requestOf } from '../../../core/effects/action/index.ts'
import type { LedgerEntry } from '../../../core/effects/ledger/index.ts'
import type { StoredEvent } from '../../../core/events/event/index.ts'
import { parsePayload } from '../../../core/events/sensitive/index.ts'
import { describeError as describe, ExpressionError, type Scope } from '../../../core/expression/index.ts'
import { JsonError, parseJson } from '../../../core/foundation/json/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'
import { callScope, itemScope, type Route, routeScope, type Vars } from '../../../core/routing/index.ts'
import type { Subscription } from '../../../core/webhooks/subscription/index.ts'
import type { EngineBase } from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import { hostOf } from '../../effects/index.ts'
import { judgeLedger } from '../../observe/index.ts'
import { judgeDelivery, mustBeDecided, sightOf } from '../../webhooks/index.ts'
import { findEarlierKey } from '../replay-key.ts'
import { type Difference, diffDefinitions, diffPayloads } from './replay-differences.ts'

export interface PreviewDeps extends Pick<EngineBase, 'store' | 'vars' | 'time'> {
  readonly registry: Registry
}

const VERDICTS = ['would-skip', 'would-call', 'would-differ', 'would-wait', 'would-fail'] as const
export type Verdict = (typeof VERDICTS)[number]

/** The effect that exists under a key: a skipped replay points to it. */
export interface FirstEffect {
  readonly key: string
  readonly generation: number
  readonly workId: string
  readonly effectRef: string | null
}

export interface Judged {
  readonly verdict: Verdict
  readonly reason: string
  /** With would-differ. */
  readonly diff?: readonly Difference[]
  /** With would-skip. */
  readonly effect?: FirstEffect
  /** The call that it would make; null: no outbound call. */
  readonly call: { readonly host: string; readonly route: string; readonly perMinute: number | null } | null
}

/** A further delivery of an event; `before`: the subscription's jobs of it. */
export function judgeFurther(
  { registry, vars }: PreviewDeps,
  event: StoredEvent,
  name: string,
  before: readonly WorkRow[],
  again: boolean,
): Judged {
  const subscription = registry.subscription(event.tenant, name)
  if (subscription === null) return judgedToFail(`there is no subscription ${name} any more`)
  let host: string | null = null
  try {
    host = hostOf(subscription.urlOf({ vars: vars(event.tenant) }))
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
  }
  const judged = judgeDelivery(subscription.route, host, before, again)
  if (judged.verdict !== 'would-call') return judged
  const undecided = whyUndecided(subscription, event, vars)
  return undecided === null ? judged : judgedToFail(undecided)
}

/** null: its condition can be evaluated. */
function whyUndecided(subscription: Subscription, event: StoredEvent, vars: Vars): string | null {
  const seen = {
    event,
    payload: () => parsePayload(event.data),
    header: () => parsePayload(event.headers),
  }
  try {
    mustBeDecided(subscription, event, () => sightOf(subscription, seen, vars))
    return null
  } catch (error) {
    if (error instanceof ExpressionError) return describe(error)
    if (error instanceof JsonError) return error.message
    throw error
  }
}

export function judgedToFail(reason: string): Judged {
  return { verdict: 'would-fail', reason, call: null }
}

/** `before`: its jobs of the event, or of the event that it is a copy of. */
export async function judgeRun(
  deps: PreviewDeps,
  route: Route,
  event: StoredEvent,
  asked: { readonly key: string | null; readonly before: readonly WorkRow[]; readonly again: boolean },
): Promise<Judged> {
  const reads = deps.store.forTenant(event.tenant)
  const before = asked.before.at(-1) ?? null
  const element = before?.element ?? null
  try {
    const ofEvent = routeScope(event, parsePayload(event.data), parseJson(event.headers), deps.vars)
    // For the whole event: it becomes one job per element, and each of them checks the ledger itself.
    if (route.each !== null && element === null) return judgeWhole(route, route.each, ofEvent)
    const scope = itemScope(route, ofEvent, element)
    const same = asked.before.filter((one) => one.element === element)
    const key = asked.key ?? (await findEarlierKey(deps.registry, scope, same)) ?? route.keyOf(scope, element)
    // A replay is a new job: a reserve of the previous one counts as another's.
    const said = await judgeLedger(reads, route, key, { own: null, before }, deps.time.now())
    const repeats = asked.again && said.entry?.state === 'done' ? said.entry : null
    if (said.verdict === 'would-skip' && repeats === null) return skip(key, said.entry)
    if (!route.wants(ofEvent)) return judgedToFail('the route’s condition does not hold')
    if (said.verdict !== 'would-call' && repeats === null)
      return { verdict: 'would-wait', reason: said.reason, call: null }
    const { action, document } = route
    const host = hostCalled(route, scope, key)
    const perMinute = document.rateLimit?.perMinute ?? null
    const call = host === null ? null : { host, route: document.name, perMinute }
    const does = `${host === null ? `runs ${action.type}` : `calls ${host}`}${again(repeats)}`
    const diff = before === null ? [] : await diffSince(deps, route, event, before)
    return diff.length === 0
      ? { verdict: 'would-call', reason: does, call }
      : { verdict: 'would-differ', reason: `${does}, other than before`, diff, call }
  } catch (error) {
    if (error instanceof ExpressionError) return judgedToFail(describe(error))
    if (error instanceof JsonError) return judgedToFail(error.message)
    throw error
  }
}

function judgeWhole(route: Route, each: NonNullable<Route['each']>, ofEvent: Scope): Judged {
  if (!route.wants(ofEvent)) return judgedToFail('the route’s condition does not hold')
  const count = each.count(ofEvent)
  if (count > each.max)
    return judgedToFail(`the list of \`each\` has ${count} elements; the route takes ${each.max} at most`)
  if (count === 0) return { verdict: 'would-skip', reason: 'the list of `each` is empty', call: null }
  const items = count === 1 ? '1 item' : `${count} items`
  return { verdict: 'would-call', reason: `becomes ${items}, one per element`, call: null }
}

function again(repeats: LedgerEntry | null): string {
  return repeats === null ? '' : `, although the effect of ${repeats.key} is there already`
}

function skip(key: string, entry: LedgerEntry | null): Judged {
  const reason = `the effect of ${key} is there already`
  if (entry === null) return { verdict: 'would-skip', reason, call: null }
  const { generation, work, effectRef } = entry
  const effect = { key: entry.key, generation, workId: work, effectRef }
  return { verdict: 'would-skip', reason, effect, call: null }
}

async function diffSince(
  { registry, store }: PreviewDeps,
  route: Route,
  event: StoredEvent,
  before: WorkRow,
): Promise<readonly Difference[]> {
  const diff: Difference[] = []
  if (before.definition !== route.hash) {
    const earlier = await registry.routeOf(before)
    diff.push(...diffDefinitions(earlier?.document ?? null, route))
  }
  if (before.eventId !== event.id)
    diff.push(diffPayloads(await store.forTenant(event.tenant).event(before.eventId), event))
  return diff
}

/** Against the rate limit of the route that would call: null if it has none. */
export interface Cost {
  readonly host: string
  readonly route: string
  readonly calls: number
  readonly perMinute: number | null
  /** How long the calls take at that rate, in minutes. */
  readonly minutes: number | null
}

export interface Sums {
  readonly totals: Readonly<Record<Verdict, number>>
  /** By host. */
  readonly calls: Readonly<Record<string, number>>
  /** By host and route, the slowest first. */
  readonly cost: readonly Cost[]
}

/** How many of each verdict, how many calls to each host, and their share of the rate limits. */
export function addUp(seen: readonly Pick<Judged, 'verdict' | 'call'>[]): Sums {
  const totals = Object.fromEntries(VERDICTS.map((verdict) => [verdict, 0])) as Record<Verdict, number>
  const calls: Record<string, number> = {}
  const costs = new Map<string, Cost>()
  for (const { verdict, call } of seen) {
    totals[verdict] += 1
    if (call === null) continue
    const { host, route, perMinute } = call
    calls[host] = (calls[host] ?? 0) + 1
    const number = (costs.get(`${host} ${route}`)?.calls ?? 0) + 1
    const minutes = perMinute === null ? null : Math.round((number / perMinute) * 100) / 100
    costs.set(`${host} ${route}`, { host, route, calls: number, perMinute, minutes })
  }
  const cost = [...costs.values()].sort((a, b) => (b.minutes ?? 0) - (a.minutes ?? 0) || b.calls - a.calls)
  return { totals, calls, cost }
}

function hostCalled(route: Route, scope: Scope, key: string): string | null {
  const request = requestOf(route.action, callScope(route, scope, key), key)
  return request === null ? null : hostOf(request.url)
}
