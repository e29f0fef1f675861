// Plans the writes that accept an event: the event itself and the jobs of every route and workflow trigger that selects
// it, one each or one per element, in their lanes.
//
// Invariant: FO10 only routes whose pattern matches are evaluated, and a route costs nothing for features it does not
// use.
// Used for received events, for events that actions emit and for events that are matched later, so that all are stored,
// matched and counted alike.

import { isCanonicalSource } from '../../core/events/canonical/index.ts'
import type { Envelope, NewEvent } from '../../core/events/event/index.ts'
import { ExpressionError, type Scope } from '../../core/expression/index.ts'
import type { NewDeadLetter } from '../../core/failures/dead-letter/index.ts'
import type { EventId, Ids, Incarnation, TenantId } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { deadLetterOf, EMPTY_NOTE, type NewWork } from '../../core/queue/work/index.ts'
import { chooseRoutes, itemScope, type Route, routeScope, type Vars } from '../../core/routing/index.ts'
import { isTestEvent } from '../../core/webhooks/subscription/index.ts'
import type { Code } from '../../ports/code.ts'
import type { Write } from '../../ports/store.ts'
import {
  type Beginning,
  type Draft,
  type EventPlan,
  matchedEvent,
  type PlanEvent,
  type PlannedJob,
} from '../commit/index.ts'
import type { Registry } from '../definitions/index.ts'
import { type JobSlots, sizeOf } from '../leases/index.ts'
import { hidingScope, isHiding } from '../secrets/index.ts'
import { failOnIngest } from '../settlement/index.ts'
import { newIntake, type Refusal, receiverOf, refuse, refusedWork } from './intake-job.ts'

const NO_COUNTERS = { attempts: 0, waits: 0, losses: 0 }

export interface PlanDeps {
  readonly registry: Registry
  readonly jobSlots: JobSlots
  /** Whether a job of the route may run at once: no failure or refusal has paused the route or the host it calls. */
  mayLeaseOnInsert(tenant: TenantId, route: Route): boolean
  /** A job of the route is about to be leased on insert. */
  noteLeased(tenant: TenantId, route: Route): void
  readonly code: Pick<Code, 'has'>
  /** Whether this node runs jobs of the consumer at all. */
  runs(consumer: string): boolean
  readonly ids: Ids
  readonly vars: Vars
  owner(): Incarnation | null
}

/** Whether the job of a trigger is left to the caller, which may start its instance in the same commit. */
export type MayBegin = (tenant: TenantId, route: Route) => boolean

export function planEvent(
  deps: PlanDeps,
  draft: Draft,
  payload: JsonValue,
  header: JsonValue,
  dedupForMs: number,
  begins?: MayBegin,
): EventPlan {
  if (deps.registry.needsNewerVersion(draft.tenant) && !isTestEvent(draft))
    return planLater(deps.ids, draft, payload, header, dedupForMs)
  const found = findRoutes(deps, draft, payload, header)
  if (!found.ok) return planRefused(deps, { draft, stored: null, payload, header, dedupForMs }, found)
  const event = matchedEvent(draft, found.routes.length || unwanted(draft))
  return planWork(deps, { event, stored: null, payload, header, dedupForMs }, found.routes, null, begins)
}

/** An event whose routes only a newer version knows: a node of that version matches it. */
function planLater(
  ids: Ids,
  draft: Draft,
  payload: JsonValue,
  header: JsonValue,
  dedupForMs: number,
): EventPlan {
  const event: NewEvent = { ...draft, matched: 1 }
  const writes: readonly Write[] = [
    { w: 'event.append', event, dedupForMs },
    { w: 'work.add', work: newIntake(ids, event, ''), lease: null, delayMs: 0 },
  ]
  const none = { leasedOnInsert: [], owner: null, deadLetter: null, disabled: [] }
  return { event, stored: null, payload, header, writes, adds: 1, ...none }
}

/** Events that Millrace itself emits need no route: without one they are not shown as unmatched. */
function unwanted({ source }: Draft): number {
  return isCanonicalSource(source) ? 1 : 0
}

/** What is matched: what routes see of an event, and which parts of it are sensitive. */
export type Matchable = Envelope & Pick<NewEvent, 'sensitive'>

/** The deployed routes that select the event and may run, in the order written; or why none of them may. */
export function findRoutes(
  deps: Pick<PlanDeps, 'registry' | 'vars'>,
  event: Matchable,
  payload: JsonValue,
  header: JsonValue,
): { readonly ok: true; readonly routes: readonly Route[] } | Refusal {
  // A test event was for its endpoint only, and stays so when it is matched again.
  if (isTestEvent(event)) return { ok: true, routes: [] }
  const candidates = deps.registry.candidates(event.tenant, event.subject)
  if (candidates.length === 0) return { ok: true, routes: candidates }
  const others = isCanonicalSource(event.source) ? withoutOwn(candidates, payload) : candidates
  const scope = routeScope(event, payload, header, deps.vars)
  const isHiding = event.sensitive.length > 0 && others.some(({ of }) => of?.kind === 'delivery')
  const seen = isHiding ? deliverySight(deps.registry, event, scope) : null
  const chosen = chooseRoutes(wanting(others, scope, seen))
  if (chosen.ok) return chosen
  const error = `a route that says \`fanOut: one\` is not the only one that wants it: ${chosen.names.join(', ')}`
  return refuse('config', 'ambiguous_routes', error)
}

/** An event that cannot be processed, with the dead letter that says why. */
export function planRefused(
  deps: PlanDeps,
  about: Pick<EventPlan, 'stored' | 'payload' | 'header'> & {
    readonly draft: Draft
    readonly dedupForMs: number
  },
  refusal: Refusal,
): EventPlan {
  const { draft, stored, payload, header, dedupForMs } = about
  const event: NewEvent = { ...draft, matched: 1 }
  const name = receiverOf(event)
  const source = name === null ? null : deps.registry.source(event.tenant, name)
  const refused = failedOnIngest(deps, event, source?.hash ?? '', refusal)
  const append: readonly Write[] = stored === null ? [{ w: 'event.append', event, dedupForMs }] : []
  const { deadLetter, beside } = refused
  const writes = [...append, ...refused.writes]
  return {
    event,
    stored,
    payload,
    header,
    writes,
    adds: 0,
    leasedOnInsert: [],
    owner: null,
    deadLetter,
    disabled: [],
    beside,
  }
}

/**
 * The job of the event is dead at once: with its dead letter, its failure, and the event that announces it.
 * `beside`: plans to settle.
 */
export function failedOnIngest(
  deps: PlanDeps,
  event: NewEvent,
  definition: string,
  refusal: Refusal,
): {
  readonly writes: readonly Write[]
  readonly deadLetter: NewDeadLetter
  readonly beside: readonly EventPlan[]
} {
  const { work, deadLetter, writes } = refusedWork(deps.ids, event, definition, refusal)
  const plan: PlanEvent = (...args) => planEvent(deps, ...args)
  const failed = failOnIngest({ ids: deps.ids, plan }, event.tenant, work, event, deadLetter)
  return { writes: [...writes, ...failed.writes], deadLetter, beside: failed.plans }
}

/** Appends the event if it is new. `replayOf`: its routes have had jobs for it before. */
export function planWork(
  deps: PlanDeps,
  about: Pick<EventPlan, 'event' | 'stored' | 'payload' | 'header'> & { readonly dedupForMs: number },
  routes: readonly Route[],
  replayOf: EventId | null,
  mayBegin?: MayBegin,
): EventPlan {
  const { event, stored, payload, header, dedupForMs } = about
  const writes: Write[] = stored === null ? [{ w: 'event.append', event, dedupForMs }] : []
  const leasedOnInsert: PlannedJob[] = []
  const disabled: PlannedJob[] = []
  const owner = routes.length === 0 ? null : deps.owner()
  let begins: Beginning[] | null = null
  let adds = 0
  for (const route of routes) {
    if (route.status === 'disabled') {
      const work = newWork(deps.ids, route, event, replayOf)
      const note = { ...EMPTY_NOTE, lastError: 'DISABLED' }
      writes.push({ w: 'work.add', work, lease: null, delayMs: 0 })
      writes.push({ w: 'work.settle', work: work.id, to: 'skipped', counters: NO_COUNTERS, note })
      disabled.push({ work, route })
      continue
    }
    const isPlain = route.each === null && route.lane === null
    if (isPlain && route.of?.kind === 'trigger' && mayBegin?.(event.tenant, route) === true) {
      // Two instances of one workflow may claim the same key: the job of the second trigger starts it.
      begins ??= []
      if (!begins.some((one) => one.route.consumer === route.consumer)) {
        begins.push({ work: newWork(deps.ids, route, event, replayOf), route })
        continue
      }
    }
    const made = isPlain
      ? [newWork(deps.ids, route, event, replayOf)]
      : newItems(deps.ids, route, event, routeScope(event, payload, header, deps.vars), replayOf)
    for (const work of made) {
      const isLeased = isLeasedOnInsert(deps, event, route, work, owner, leasedOnInsert.length)
      writes.push({ w: 'work.add', work, lease: isLeased ? owner : null, delayMs: delayOf(route, work) })
      if (isLeased) leasedOnInsert.push({ work, route })
      adds += 1
    }
  }
  const plan = {
    event,
    stored,
    payload,
    header,
    writes,
    adds,
    leasedOnInsert,
    owner,
    deadLetter: null,
    disabled,
  }
  return begins === null ? plan : { ...plan, begins }
}

/** Ahead of all waiting jobs: due before them if it cannot run at once. */
const AHEAD_MS = 30 * DAY

/**
 * An event for one route only, whatever else would match it. It runs at once if possible, in no lane, and
 * ahead of waiting jobs.
 */
export function planAlone(
  deps: PlanDeps,
  route: Route,
  event: NewEvent,
  payload: JsonValue,
  header: JsonValue,
  dedupForMs: number,
): EventPlan {
  const only: Route = { ...route, isImmediate: true, lane: null, each: null }
  const plan = planWork(deps, { event, stored: null, payload, header, dedupForMs }, [only], null)
  const writes = plan.writes.map(
    (write): Write =>
      write.w === 'work.add' && write.lease === null ? { ...write, delayMs: -AHEAD_MS } : write,
  )
  return { ...plan, writes }
}

/** Whether the job is leased on insert: this node can run it as soon as it is stored. */
function isLeasedOnInsert(
  deps: PlanDeps,
  event: NewEvent,
  route: Route,
  { id, codeHash }: NewWork,
  owner: Incarnation | null,
  beside: number,
): boolean {
  const { tenant } = event
  // A job that this node cannot run is left to one that can.
  const isHere = codeHash === null || deps.code.has(codeHash)
  const isOurs = isHere && deps.runs(route.consumer)
  const canRun = owner !== null && isOurs && route.status === 'active' && route.isImmediate
  const isLeasedOnInsert =
    canRun && deps.mayLeaseOnInsert(tenant, route) && deps.jobSlots.take(id, tenant, sizeOf(event), beside)
  if (isLeasedOnInsert && route.of !== undefined) deps.noteLeased(tenant, route)
  return isLeasedOnInsert
}

/** Triggers that start no instance in the commit become jobs like all others. */
export function planItems(deps: PlanDeps, plan: EventPlan, items: readonly Beginning[]): EventPlan {
  const { begins: _begins, ...left } = plan
  const writes = [...plan.writes]
  const leasedOnInsert = [...plan.leasedOnInsert]
  for (const { work, route } of items) {
    const isLeased = isLeasedOnInsert(deps, plan.event, route, work, plan.owner, leasedOnInsert.length)
    writes.push({ w: 'work.add', work, lease: isLeased ? plan.owner : null, delayMs: 0 })
    if (isLeased) leasedOnInsert.push({ work, route })
  }
  return { ...left, writes, leasedOnInsert, adds: plan.adds + items.length }
}

/** Whether the one route selects the event, as at ingest. The caller has checked that its patterns match. */
export function isWanted(
  deps: Pick<PlanDeps, 'registry' | 'vars'>,
  route: Route,
  event: Matchable,
  payload: JsonValue,
  header: JsonValue,
): boolean {
  const left = isCanonicalSource(event.source) ? withoutOwn([route], payload) : [route]
  const scope = routeScope(event, payload, header, deps.vars)
  const seen = event.sensitive.length > 0 ? deliverySight(deps.registry, event, scope) : null
  return wanting(left, scope, seen).length > 0
}

/**
 * Events about a subscription are not sent to that subscription: one that listens to everything would get
 * events about its own deliveries forever.
 */
function withoutOwn(candidates: readonly Route[], payload: JsonValue): readonly Route[] {
  const about = (payload as { readonly consumer?: JsonValue } | null)?.consumer
  const isOwn = ({ of, consumer }: Route) => of?.kind === 'delivery' && consumer === about
  return candidates.some(isOwn) ? candidates.filter((route) => !isOwn(route)) : candidates
}

/** What each subscription sees of an event with sensitive parts. */
function deliverySight(registry: Registry, event: Matchable, scope: Scope): (route: Route) => Scope {
  const scopes = new Map<string | undefined, Scope>()
  return ({ of }) => {
    if (of?.kind !== 'delivery') return scope
    const document = registry.subscription(event.tenant, of.subscription)?.document ?? null
    const said = document?.sensitive
    const there = scopes.get(said)
    if (there !== undefined) return there
    const seen = isHiding(event, document) ? hidingScope(event, document, scope) : scope
    scopes.set(said, seen)
    return seen
  }
}

function wanting(
  candidates: readonly Route[],
  scope: Scope,
  seen: ((route: Route) => Scope) | null,
): readonly Route[] {
  return candidates.filter((route) => {
    try {
      return route.wants(seen === null ? scope : seen(route))
    } catch (error) {
      // A condition that cannot be evaluated must not lose the event: the job runs, fails the same way, and the failure
      // is visible. Deliveries do the same (DY30).
      if (error instanceof ExpressionError) return true
      throw error
    }
  })
}

/**
 * One job, or one per element. If the list cannot be expanded, one job stands for it: it runs, fails, and the
 * failure is visible. The same holds for a lane without a key.
 */
export function newItems(
  ids: Ids,
  route: Route,
  event: Pick<NewEvent, 'id'>,
  scope: Scope,
  replayOf: NewWork['replayOf'],
): readonly NewWork[] {
  const count = route.each === null ? null : countOf(route.each, scope)
  if (count === null) return [inLane(route, scope, newWork(ids, route, event, replayOf))]
  return Array.from({ length: count }, (_, element) =>
    inLane(route, scope, { ...newWork(ids, route, event, replayOf), element }),
  )
}

/** How many jobs a list creates; null: one stands for all of it. */
function countOf(each: NonNullable<Route['each']>, scope: Scope): number | null {
  try {
    const count = each.count(scope)
    return count === 0 || count > each.max ? null : count
  } catch (error) {
    if (error instanceof ExpressionError) return null
    throw error
  }
}

/** `scope`: of its event. */
export function inLane(route: Route, scope: Scope, work: NewWork): NewWork {
  if (route.lane === null) return work
  const { element = null } = work
  // A job that stands for a whole list has no element to compute a lane from.
  if (route.each !== null && element === null) return work
  try {
    return { ...work, lane: route.lane.of(itemScope(route, scope, element)) }
  } catch (error) {
    if (error instanceof ExpressionError) return work
    throw error
  }
}

/**
 * A debounced job waits for others first, unless an operator requested it as the replay of a dead letter; a job of a route with
 * `delay` waits, unless it is a replay.
 */
export function delayOf({ lane, document }: Route, work: NewWork): number {
  const isGathered = work.lane !== undefined && deadLetterOf(work) === null
  if (isGathered && lane?.debounce != null) return lane.debounce.windowMs
  return work.replayOf === null ? (document.delayMs ?? 0) : 0
}

export function newWork(
  ids: Ids,
  route: Route,
  event: Pick<NewEvent, 'id'>,
  replayOf: NewWork['replayOf'] = null,
): NewWork {
  const work: NewWork = {
    id: ids.work(),
    kind: 'route',
    consumer: route.consumer,
    definition: route.hash,
    codeHash: route.action.type === 'function' ? route.action.codeHash : null,
    eventId: event.id,
    expiresInMs: route.expiresInMs,
    replayOf,
  }
  const { of } = route
  if (of === undefined) return work
  return of.kind === 'delivery' ? { ...work, kind: 'delivery' } : { ...work, kind: of.kind, step: of.part }
}
