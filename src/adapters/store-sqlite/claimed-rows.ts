// Claimed jobs with their events: the columns that the writing thread reads, and the objects that the caller gets.
//
// The driver returns a row as an array. It crosses between threads like this, and becomes objects once, where they are used. Measured
// per claimed job: 9 µs, and 22 µs as two rows with names that became objects on the writing thread and were flattened again.

import type { StoredEvent } from '../../core/events/event/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { ClaimedWork, ClaimResult } from '../../ports/store.ts'
import { EVENT_REPEATS, term } from './columns.ts'
import { fromStoredHeaders } from './headers.ts'
import { WORK_STATE_OF } from './state-codes.ts'
import { fromStored, fromStoredHash, fromStoredOrNull, fromStoredTrace, type Stored } from './text-values.ts'

/** By position: `toClaimed` reads them in this order. */
export const CLAIMED_COLUMNS =
  'work.tenant, work.id, work.epoch, work.lane, event.payload_hash, event.headers, event.trace_id,' +
  ' event.correlation_id, event.id,' +
  ` work.kind, work.consumer, ${term('definition')}, ${term('code_hash')}, work.state, work.due_at, work.owner,` +
  ' work.alone, work.attempts, work.waits, work.losses, work.key, work.class, work.last_error, work.effect_ref,' +
  ' work.http_status, work.duration_ms, work.created_at, work.expires_at, work.processed_at, work.replay_of,' +
  ' work.element, work.place, work.frozen, work.into_work, work.generation, work.instance, work.step,' +
  ' event.source, event.subject, event.object_type, event.object_id, event.occurred_at, event.causation_id,' +
  ` event.dedup_key, event.data, event.raw, event.matched, event.received_at, ${EVENT_REPEATS}`

/** The positions of what the writing thread reads. */
export const AT = { id: 1, epoch: 2, lane: 3, hash: 4, headers: 5, trace: 6, correlation: 7 } as const

/** The values of `CLAIMED_COLUMNS` for one job, as the driver returns them. */
export type ClaimedRow = readonly unknown[]

export interface ClaimedRows {
  readonly count: number
  /** All rows, one after the other: an array of the driver has the form of one with holes, which crosses slowly. */
  readonly values: readonly unknown[]
  readonly nextDueAt: Instant | null
  readonly now: Instant
}

/**
 * On the writing thread. The tenant gets its name, and what has another form in the database is decoded: this thread has more time
 * than the one that runs the jobs.
 */
export function appendRow(values: unknown[], row: ClaimedRow, tenant: TenantId): void {
  const correlationId = fromStored(row[AT.correlation] as Stored)
  values.push(tenant, row[AT.id], row[AT.epoch], row[AT.lane])
  values.push(fromStoredHash(row[AT.hash] as Stored), fromStoredHeaders(row[AT.headers] as Stored))
  values.push(fromStoredTrace(row[AT.trace] as Stored, correlationId), correlationId)
  for (let at = AT.correlation + 1; at < row.length; at += 1) values.push(row[at])
}

export function toClaimResult({ count, values, nextDueAt, now }: ClaimedRows): ClaimResult {
  const rows = new RowReader(values)
  const items: ClaimedWork[] = []
  while (items.length < count) items.push(toClaimed(rows))
  return { items, nextDueAt, now }
}

function toClaimed(row: RowReader): ClaimedWork {
  const tenant = row.next<WorkRow['tenant']>()
  const id = row.next<WorkRow['id']>()
  const epoch = row.next<number>()
  const lane = row.textOrNull()
  const payloadHash = row.next<string>()
  const headers = row.next<string>()
  const traceId = row.next<string>()
  const correlationId = row.next<string>()
  const eventId = row.next<WorkRow['eventId']>()
  const work: WorkRow = {
    id,
    tenant,
    kind: row.next(),
    consumer: row.text(),
    definition: row.next(),
    codeHash: row.next(),
    eventId,
    state: WORK_STATE_OF[row.next<number>()] as WorkRow['state'],
    dueAt: row.next(),
    owner: row.next(),
    epoch,
    alone: row.next() === 1,
    attempts: row.next(),
    waits: row.next(),
    losses: row.next(),
    key: row.textOrNull(),
    class: row.next(),
    lastError: row.textOrNull(),
    effectRef: row.textOrNull(),
    httpStatus: row.next(),
    durationMs: row.next(),
    createdAt: row.next(),
    expiresAt: row.next(),
    processedAt: row.next(),
    replayOf: row.next(),
    element: row.next(),
    lane,
    hasPlace: row.next() === 1,
    isFrozen: row.next() === 1,
    into: row.next(),
    generation: row.next<number | null>() ?? 1,
    instance: row.next(),
    step: row.textOrNull(),
  }
  const event: StoredEvent = {
    id: eventId,
    tenant,
    source: row.text(),
    subject: row.text(),
    objectType: row.textOrNull(),
    objectId: row.textOrNull(),
    occurredAt: row.next(),
    correlationId,
    causationId: row.next(),
    traceId,
    dedupKey: row.text(),
    payloadHash,
    headers,
    data: row.text(),
    raw: row.textOrNull(),
    // Not a column: an encrypted event carries it inside.
    sensitive: NONE,
    matched: row.next(),
    receivedAt: row.next(),
    duplicates: row.next<number | null>() ?? 0,
    lastDuplicateAt: row.next(),
  }
  return { work, event }
}

const NONE: readonly string[] = []

/** Reads the values of all rows from the first on; callers name the type of each. */
class RowReader {
  private at = 0
  private readonly values: readonly unknown[]
  constructor(values: readonly unknown[]) {
    this.values = values
  }
  next<T>(): T {
    return this.values[this.at++] as T
  }
  text(): string {
    return fromStored(this.next<Stored>())
  }
  textOrNull(): string | null {
    return fromStoredOrNull(this.next<Stored | null>())
  }
}
