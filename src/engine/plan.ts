// From an event to the writes that accept it: the event itself and one work item per route that wants it.
//
// Used for what comes in, for what actions emit and for what is matched later, so that all are kept, matched and counted alike.

import type { Envelope, NewEvent, StoredEvent } from '../core/event/index.ts'
import { ExpressionError, type Scope } from '../core/expression/index.ts'
import type { EventId, Ids, Incarnation } from '../core/ids/index.ts'
import type { JsonValue } from '../core/json/index.ts'
import { type Route, routeScope, type Vars } from '../core/route/index.ts'
import type { Instant } from '../core/time/index.ts'
import { EMPTY_NOTE, type NewWork, type WorkRow } from '../core/work/index.ts'
import type { Code } from '../ports/code.ts'
import type { Write } from '../ports/store.ts'
import type { Pool } from './pool.ts'
import type { Registry } from './registry.ts'

export interface Birth {
  readonly work: NewWork
  readonly route: Route
}

export interface EventPlan {
  readonly event: NewEvent
  /** Its row, where it was kept before. */
  readonly stored: StoredEvent | null
  readonly payload: JsonValue
  readonly header: JsonValue
  readonly writes: readonly Write[]
  /** How many items it adds that are to run. */
  readonly adds: number
  /** Items asked to be born in this node's hands; their slots are taken until `settleBirths`. */
  readonly births: readonly Birth[]
  readonly owner: Incarnation | null
}

export const NO_COUNTERS = { attempts: 0, waits: 0, losses: 0 }

export interface PlanDeps {
  readonly registry: Registry
  readonly pool: Pool
  readonly code: Pick<Code, 'has'>
  readonly ids: Ids
  readonly vars: Vars
  owner(): Incarnation | null
}

/** An event that is yet to be matched. */
export type Draft = Omit<NewEvent, 'matched'>

export function planEvent(
  deps: PlanDeps,
  draft: Draft,
  payload: JsonValue,
  header: JsonValue,
  dedupForMs: number,
): EventPlan {
  const routes = findRoutes(deps, draft, payload, header)
  const event: NewEvent = { ...draft, matched: routes.length }
  return planWork(deps, { event, stored: null, payload, header, dedupForMs }, routes, null)
}

/** The routes in force that want it, in the order written. */
export function findRoutes(
  deps: Pick<PlanDeps, 'registry' | 'vars'>,
  event: Envelope,
  payload: JsonValue,
  header: JsonValue,
): readonly Route[] {
  const candidates = deps.registry.candidates(event.tenant, event.subject)
  if (candidates.length === 0) return candidates
  return wanting(candidates, routeScope(event, payload, header, deps.vars))
}

/** Appends the event if it is new. `replayOf`: its routes have had work of it before. */
export function planWork(
  deps: PlanDeps,
  about: Pick<EventPlan, 'event' | 'stored' | 'payload' | 'header'> & { readonly dedupForMs: number },
  routes: readonly Route[],
  replayOf: EventId | null,
): EventPlan {
  const { event, stored, payload, header, dedupForMs } = about
  const writes: Write[] = stored === null ? [{ w: 'event.append', event, dedupForMs }] : []
  const births: Birth[] = []
  const owner = routes.length === 0 ? null : deps.owner()
  let adds = 0
  for (const route of routes) {
    const work = newWork(deps.ids, route, event, replayOf)
    // What this node cannot run is left to one that can.
    const isHere = work.codeHash === null || deps.code.has(work.codeHash)
    const born = owner !== null && isHere && route.status === 'active' && deps.pool.take(work.id)
    writes.push({ w: 'work.add', work, lease: born ? owner : null, delayMs: 0 })
    if (born) births.push({ work, route })
    if (route.status === 'disabled') {
      const note = { ...EMPTY_NOTE, lastError: 'DISABLED' }
      writes.push({ w: 'work.settle', work: work.id, to: 'skipped', counters: NO_COUNTERS, note })
    } else adds += 1
  }
  return { event, stored, payload, header, writes, adds, births, owner }
}

function wanting(candidates: readonly Route[], scope: Scope): readonly Route[] {
  return candidates.filter((route) => {
    try {
      return route.wants(scope)
    } catch (error) {
      // A condition that cannot be decided must not lose the event: the item runs, fails the same way, and is seen.
      if (error instanceof ExpressionError) return true
      throw error
    }
  })
}

export function newWork(
  ids: Ids,
  route: Route,
  event: Pick<NewEvent, 'id'>,
  replayOf: NewWork['replayOf'] = null,
): NewWork {
  return {
    id: ids.work(),
    kind: 'route',
    consumer: route.consumer,
    definition: route.hash,
    codeHash: route.action.type === 'function' ? route.action.codeHash : null,
    eventId: event.id,
    expiresInMs: route.expiresInMs,
    replayOf,
  }
}

// The next two are written out field by field: they are made for every event, and spreading is several times dearer.

/** The row of an item born leased, as the store has written it. */
export function bornRow(plan: EventPlan, work: NewWork, owner: Incarnation, at: Instant): WorkRow {
  return {
    id: work.id,
    tenant: plan.event.tenant,
    kind: work.kind,
    consumer: work.consumer,
    definition: work.definition,
    codeHash: work.codeHash,
    eventId: work.eventId,
    state: 'leased',
    dueAt: at,
    owner,
    epoch: 1,
    alone: false,
    attempts: 0,
    waits: 0,
    losses: 0,
    key: null,
    class: null,
    lastError: null,
    effectRef: null,
    httpStatus: null,
    durationMs: null,
    createdAt: at,
    expiresAt: at + work.expiresInMs,
    processedAt: null,
    replayOf: work.replayOf,
    element: work.element ?? null,
    lane: work.lane?.key ?? null,
    hasPlace: work.lane !== undefined,
    isFrozen: false,
    into: null,
    generation: work.generation ?? 1,
  }
}

export function receivedEvent(event: NewEvent, receivedAt: Instant): StoredEvent {
  return {
    id: event.id,
    tenant: event.tenant,
    source: event.source,
    subject: event.subject,
    objectType: event.objectType,
    objectId: event.objectId,
    occurredAt: event.occurredAt,
    correlationId: event.correlationId,
    causationId: event.causationId,
    traceId: event.traceId,
    dedupKey: event.dedupKey,
    payloadHash: event.payloadHash,
    headers: event.headers,
    data: event.data,
    raw: event.raw,
    sensitive: event.sensitive,
    matched: event.matched,
    receivedAt,
    duplicates: 0,
    lastDuplicateAt: null,
  }
}
