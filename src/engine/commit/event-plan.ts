// An event about to be stored, with the jobs that follow from it: `planEvent` creates it and a unit of work ends it.

import type { NewEvent, StoredEvent } from '../../core/events/event/index.ts'
import type { NewDeadLetter } from '../../core/failures/dead-letter/index.ts'
import type { Incarnation } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { NewWork } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Write } from '../../ports/store.ts'

export interface PlannedJob {
  readonly work: NewWork
  /** null: the job belongs to no definition, such as an instance that waits for its lock. */
  readonly route: Route | null
}

/** The job of a trigger that starts an instance. */
export interface Beginning {
  readonly work: NewWork
  readonly route: Route
}

export interface EventPlan {
  readonly event: NewEvent
  /** Its row, if it was stored before. */
  readonly stored: StoredEvent | null
  readonly payload: JsonValue
  readonly header: JsonValue
  readonly writes: readonly Write[]
  /** How many runnable jobs it adds. */
  readonly adds: number
  /** Jobs requested to be leased on insert; their slots are taken until the unit of work ends. */
  readonly leasedOnInsert: readonly PlannedJob[]
  readonly owner: Incarnation | null
  /** The event could not be processed: its job is dead, and this is the dead letter. */
  readonly deadLetter: NewDeadLetter | null
  /** Jobs of disabled routes. */
  readonly disabled: readonly PlannedJob[]
  /** Jobs of triggers that may start an instance in the same commit: not among the writes yet. Omitted: there are none. */
  readonly begins?: readonly Beginning[]
  /** Plans of the events that announce it, settled together with it; omitted: there are none. */
  readonly beside?: readonly EventPlan[]
}

/** Plans that belong to one change. */
export interface PlanGroup {
  readonly plans: readonly Planned[]
  /** Once the commit is over, before the jobs of `plans` start. */
  ended?(isStored: boolean): void
}

/** What a commit leaves to be started or released. */
export type Planned = EventPlan | PlanGroup

/** An event that is yet to be matched. */
export type Draft = Omit<NewEvent, 'matched'>

/**
 * Field by field: once V8 has seen several shapes of a draft, it defines the properties behind a spread one by one in the runtime,
 * and all that reads such an event misses its caches. This place and three like it cost a sixth of the main thread (2026-11-18).
 */
export function matchedEvent(draft: Draft, matched: number): NewEvent {
  return {
    id: draft.id,
    tenant: draft.tenant,
    source: draft.source,
    subject: draft.subject,
    objectType: draft.objectType,
    objectId: draft.objectId,
    occurredAt: draft.occurredAt,
    correlationId: draft.correlationId,
    causationId: draft.causationId,
    traceId: draft.traceId,
    dedupKey: draft.dedupKey,
    payloadHash: draft.payloadHash,
    headers: draft.headers,
    data: draft.data,
    raw: draft.raw,
    sensitive: draft.sensitive,
    matched,
  }
}

export type PlanEvent = (draft: Draft, payload: JsonValue, header: JsonValue, dedupForMs: number) => EventPlan

/** The row of an event, as the store has written it. Lists every field: it runs for every event, and object spread costs several times more. */
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
