// Converts rows of the database to the core's types.

import type { LedgerEntry, LedgerProof } from '../../core/effects/ledger/index.ts'
import type { EventSummary, StoredEvent } from '../../core/events/event/index.ts'
import type { DeadLetter } from '../../core/failures/dead-letter/index.ts'
import type { Escalation } from '../../core/failures/escalation/index.ts'
import type { Failure } from '../../core/failures/failure/index.ts'
import type { Incarnation, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import type { Attempt, WorkRow } from '../../core/queue/work/index.ts'
import type { LaneRow } from '../../ports/store.ts'
import { fromStoredHeaders } from './headers.ts'
import { LEDGER_STATE_OF, WORK_STATE_OF } from './state-codes.ts'
import { fromStored, fromStoredHash, fromStoredOrNull, fromStoredTrace, type Stored } from './text-values.ts'

/** A row as the driver gives it: columns by name. */
export type Row = Readonly<Record<string, unknown>>

const text = (value: unknown) => fromStored(value as Stored)
const textOrNull = (value: unknown) => fromStoredOrNull(value as Stored | null)

export function toEvent(row: Row, tenant: TenantId): StoredEvent {
  return {
    ...toEventSummary(row, tenant),
    headers: fromStoredHeaders(row.headers as Stored),
    data: text(row.data),
    raw: textOrNull(row.raw),
    sensitive: [],
  }
}

export function toEventSummary(row: Row, tenant: TenantId): EventSummary {
  const correlationId = text(row.correlation_id)
  return {
    id: row.id as StoredEvent['id'],
    tenant,
    source: text(row.source),
    subject: text(row.subject),
    objectType: textOrNull(row.object_type),
    objectId: textOrNull(row.object_id),
    occurredAt: row.occurred_at as number | null,
    correlationId,
    causationId: row.causation_id as StoredEvent['causationId'],
    traceId: fromStoredTrace(row.trace_id as Stored, correlationId),
    dedupKey: text(row.dedup_key),
    payloadHash: fromStoredHash(row.payload_hash as Stored),
    matched: row.matched as number,
    receivedAt: row.received_at as number,
    duplicates: (row.duplicates ?? 0) as number,
    lastDuplicateAt: row.last_duplicate_at as number | null,
  }
}

export function toWork(row: Row, tenant: TenantId): WorkRow {
  return {
    id: row.id as WorkId,
    tenant,
    kind: row.kind as WorkRow['kind'],
    consumer: text(row.consumer),
    definition: row.definition as string,
    codeHash: row.code_hash as string | null,
    eventId: row.event_id as WorkRow['eventId'],
    state: WORK_STATE_OF[row.state as number] as WorkRow['state'],
    dueAt: row.due_at as number,
    owner: row.owner as Incarnation | null,
    epoch: row.epoch as number,
    alone: row.alone === 1,
    attempts: row.attempts as number,
    waits: row.waits as number,
    losses: row.losses as number,
    key: textOrNull(row.key),
    class: row.class as WorkRow['class'],
    lastError: textOrNull(row.last_error),
    effectRef: textOrNull(row.effect_ref),
    httpStatus: row.http_status as number | null,
    durationMs: row.duration_ms as number | null,
    createdAt: row.created_at as number,
    expiresAt: row.expires_at as number,
    processedAt: row.processed_at as number | null,
    replayOf: row.replay_of as WorkRow['replayOf'],
    element: row.element as number | null,
    lane: textOrNull(row.lane),
    hasPlace: row.place === 1,
    isFrozen: row.frozen === 1,
    into: row.into_work as WorkId | null,
    generation: (row.generation ?? 1) as number,
    instance: row.instance as WorkRow['instance'],
    step: textOrNull(row.step),
  }
}

export function toAttempt(row: Row): Attempt {
  return {
    number: row.number as number,
    startedAt: row.started_at as number,
    durationMs: row.duration_ms as number,
    outcome: row.outcome as Attempt['outcome'],
    class: row.class as Attempt['class'],
    httpStatus: row.http_status as number | null,
    error: textOrNull(row.error),
    ...(row.response === null ? {} : { response: text(row.response) }),
  }
}

export function toLedgerEntry(row: Row, tenant: TenantId, evidence: readonly Row[]): LedgerEntry {
  return {
    key: text(row.key),
    tenant,
    work: row.work as WorkId,
    epoch: row.epoch as number,
    consumer: text(row.consumer),
    eventId: row.event_id as LedgerEntry['eventId'],
    objectId: textOrNull(row.object_id),
    payloadHash: fromStoredHash(row.payload_hash as Stored),
    correlationId: text(row.correlation_id),
    generation: row.generation as number,
    state: LEDGER_STATE_OF[row.state as number] as LedgerEntry['state'],
    proof: row.proof as LedgerProof | null,
    sendBy: row.send_by as number | null,
    effectRef: textOrNull(row.effect_ref),
    result: textOrNull(row.result),
    evidence: evidence.map((piece) => text(piece.body)),
    createdAt: row.created_at as number,
    settledAt: row.settled_at as number | null,
  }
}

export function toDeadLetter(row: Row, tenant: TenantId): DeadLetter {
  return {
    id: row.id as DeadLetter['id'],
    tenant,
    version: row.version as number,
    state: row.state as DeadLetter['state'],
    class: row.class as DeadLetter['class'],
    reason: row.reason as DeadLetter['reason'],
    consumer: text(row.consumer),
    eventId: row.event_id as DeadLetter['eventId'],
    workId: row.work_id as WorkId,
    attempts: row.attempts as number,
    replays: row.replays as number,
    lastError: text(row.last_error),
    key: textOrNull(row.key),
    correlationId: text(row.correlation_id),
    payloadHash: row.payload_hash as string,
    runbook: textOrNull(row.runbook),
    severity: text(row.severity),
    step: textOrNull(row.step),
    failureId: row.failure_id as DeadLetter['failureId'],
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
  }
}

export function toLane(row: Row): LaneRow {
  return {
    consumer: text(row.consumer),
    key: text(row.key),
    width: row.width as number,
    version: textOrNull(row.version),
    places: row.places as number,
    waiting: row.waiting as number,
    updatedAt: row.updated_at as number,
  }
}

export function toFailure(row: Row, tenant: TenantId): Failure {
  return {
    id: row.id as Failure['id'],
    tenant,
    state: row.state as Failure['state'],
    workId: row.work_id as WorkId,
    consumer: text(row.consumer),
    eventId: row.event_id as Failure['eventId'],
    class: row.class as Failure['class'],
    reason: textOrNull(row.reason),
    key: textOrNull(row.key),
    attempts: row.attempts as number,
    lastError: text(row.last_error),
    willRetryAt: row.will_retry_at as number | null,
    correlationId: text(row.correlation_id),
    severity: text(row.severity),
    cause: textOrNull(row.cause),
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
  }
}

export function toEscalation(row: Row, tenant: TenantId): Escalation {
  return {
    id: row.id as Escalation['id'],
    tenant,
    version: row.version as number,
    state: row.state as Escalation['state'],
    cause: text(row.cause),
    consumer: text(row.consumer),
    class: row.class as Escalation['class'],
    reason: text(row.reason),
    severity: text(row.severity),
    runbook: textOrNull(row.runbook),
    lastError: text(row.last_error),
    workId: row.work_id as WorkId | null,
    count: row.count as number,
    isAnnounced: row.announced === 1,
    acknowledgedBy: textOrNull(row.acknowledged_by),
    note: textOrNull(row.note),
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
  }
}
