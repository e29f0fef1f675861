// Notes what this system did: as an event where a deployed definition selects it, otherwise as a fact, in the same commit.
//
// Invariants: FA1 a change is noted once, as one of the two. FA4 what a definition selects is an event, whatever the setting says.

import {
  CANONICAL_SOURCE,
  correlationOf,
  type Fact,
  factId,
  HOPS_HEADER,
  isFactWanted,
  packFact,
  type SystemEvents,
  unpackFact,
} from '../../core/events/canonical/index.ts'
import type { NewEvent, StoredEvent } from '../../core/events/event/index.ts'
import type { EventId, Ids, TenantId } from '../../core/foundation/ids/index.ts'
import { HOUR, type Instant } from '../../core/foundation/time/index.ts'
import type { Store, TenantReads, Write } from '../../ports/store.ts'
import type { EventPlan, PlanEvent } from '../commit/index.ts'
import { type CanonicalDraft, canonicalEvent, hopsAfter } from './canonical-events.ts'

export interface NoteDeps {
  readonly ids: Ids
  readonly plan: PlanEvent
  readonly systemEvents: SystemEvents
  /** The store's time. */
  now(): Instant
}

/** Belongs to the unit of work that commits the change. */
export interface Noted {
  readonly writes: readonly Write[]
  readonly plans: readonly EventPlan[]
}

export const NOTHING_NOTED: Noted = { writes: [], plans: [] }

/** `isWanted`: a deployed definition selects the subject. */
export function noteEvent(deps: NoteDeps, draft: CanonicalDraft, isWanted: boolean): Noted {
  if (!isWanted) return noteFact(deps, draft)
  const plan = canonicalEvent(deps, draft)
  return { writes: plan.writes, plans: [plan] }
}

/** Without a look at definitions: none selects it. */
export function noteFact(deps: Pick<NoteDeps, 'systemEvents' | 'now'>, draft: CanonicalDraft): Noted {
  const { tenant, subject, data, key, parent, object } = draft
  if (!isFactWanted(deps.systemEvents, subject)) return NOTHING_NOTED
  const id = factId(deps.now(), tenant, subject, key)
  const correlationId = parent?.correlationId ?? draft.correlationId ?? correlationOf(id)
  const body = packFact({
    subject,
    data,
    key,
    objectType: object?.type ?? parent?.objectType ?? null,
    objectId: object?.id ?? parent?.objectId ?? null,
    correlationId,
    causationId: parent?.id ?? null,
    traceId: parent?.traceId ?? correlationId.replaceAll('-', ''),
    // Headers are parsed only where the field can be present.
    hops: parent?.headers.includes(HOPS_HEADER) ? hopsAfter(parent) : 1,
  })
  return { writes: [{ w: 'fact.add', fact: { id, body } }], plans: [] }
}

/** The event of a fact; null: there is no such fact. Throws NewerFactError. */
export async function readFact(reads: Pick<TenantReads, 'facts'>, id: EventId): Promise<StoredEvent | null> {
  const fact = await findFact(reads, id)
  return fact === null ? null : unpackFact(fact)
}

export async function findFact(reads: Pick<TenantReads, 'facts'>, id: EventId): Promise<Fact | null> {
  // No other id lies between the id without its last character and the id with one more.
  const after = id.slice(0, -1) as EventId
  const [fact] = await reads.facts({ after, below: `${id} ` as EventId, limit: 1, order: 'newest' })
  return fact?.id === id ? fact : null
}

/** Two replays that promote the same fact at once meet in it. */
const PROMOTE_DEDUP_MS = 1 * HOUR

/**
 * Stores the event of a fact under its own id, so that jobs can be added for it. Null: there is neither an event nor a fact. The
 * fact stays, and says when the event was received.
 */
export async function findOrPromote(
  store: Pick<Store, 'commit' | 'forTenant'>,
  tenant: TenantId,
  id: EventId,
): Promise<StoredEvent | null> {
  const reads = store.forTenant(tenant)
  const stored = await reads.event(id)
  if (stored !== null) return stored
  const event = await readFact(reads, id)
  if (event === null) return null
  await store.commit({
    tenant,
    guards: [{ g: 'dedup', source: CANONICAL_SOURCE, key: event.dedupKey }],
    writes: [{ w: 'event.append', event: newEvent(event), dedupForMs: PROMOTE_DEDUP_MS, isPromoted: true }],
  })
  return reads.event(id)
}

function newEvent(event: StoredEvent): NewEvent {
  const { receivedAt: _at, duplicates: _count, lastDuplicateAt: _last, ...row } = event
  return row
}
