// Applies a write to a row, for the stores that hold rows as values. Pure: the row before and the write give the row after.
//
// Rows are built field by field: a caller's object may have more fields than the port names.

import type { NewRun, Run, RunAttempt } from '../../effects/integration-run/index.ts'
import type { LedgerEntry, NewLedgerEntry } from '../../effects/ledger/index.ts'
import type { DeadLetter, NewDeadLetter } from '../../failures/dead-letter/index.ts'
import type { Escalation, NewEscalation } from '../../failures/escalation/index.ts'
import type { Failure, NewFailure } from '../../failures/failure/index.ts'
import { unreachable } from '../../foundation/errors/index.ts'
import type { Incarnation, TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import { type Counters, EMPTY_NOTE, type NewWork, type Note, type WorkRow } from '../../queue/work/index.ts'
import type { HistoryRow, InstanceRow, NewHistory, NewInstance } from '../../workflows/instance/index.ts'
import { normalMarking } from '../../workflows/instance/index.ts'
import type { NewOrphan, Orphan } from '../../workflows/orphan/index.ts'

/** Whose commit it is, and when. */
export interface Moment {
  readonly tenant: TenantId
  readonly now: Instant
  /** The instant after this duration, at the store's precision. */
  after(delayMs: number): Instant
}

type Progress = { readonly counters: Counters; readonly note: Note }
type Settled = Pick<LedgerEntry, 'proof' | 'effectRef' | 'result'> & { readonly to: LedgerEntry['state'] }
type StoredPart = Pick<LedgerEntry, 'generation' | 'evidence' | 'createdAt'>

/** `lease` is the owner that leases it on insert, if it is alive; a job that waits for a lane position is leased to none. */
export function newWorkRow(
  { tenant, now, after }: Moment,
  work: NewWork,
  delayMs: number,
  lease: Incarnation | null,
  place: 'none' | 'has' | 'waits' = 'none',
): WorkRow {
  const owner = place === 'waits' ? null : lease
  return {
    id: work.id,
    tenant,
    kind: work.kind,
    consumer: work.consumer,
    definition: work.definition,
    codeHash: work.codeHash,
    eventId: work.eventId,
    state: place === 'waits' ? 'waiting' : owner === null ? 'ready' : 'leased',
    dueAt: after(delayMs),
    owner,
    epoch: owner === null ? 0 : 1,
    alone: false,
    attempts: 0,
    waits: 0,
    losses: 0,
    ...EMPTY_NOTE,
    createdAt: now,
    expiresAt: after(work.expiresInMs),
    processedAt: null,
    replayOf: work.replayOf,
    element: work.element ?? null,
    lane: work.lane?.key ?? null,
    hasPlace: place === 'has',
    isFrozen: false,
    into: null,
    generation: work.generation ?? 1,
    instance: work.instance ?? null,
    step: work.step ?? null,
  }
}

/** Its position is handled in lane-positions.ts. */
export function settleWork<Row extends Pick<WorkRow, 'into'>, To extends WorkRow['state']>(
  { now }: Moment,
  row: Row,
  write: Progress & { readonly to: To; readonly into?: WorkId },
) {
  const into = write.into ?? row.into
  return { ...row, ...pickProgress(write), state: write.to, owner: null, processedAt: now, into }
}

export function againWork<Row extends Pick<WorkRow, 'expiresAt'>>(
  { after }: Moment,
  row: Row,
  write: Progress & { readonly delayMs: number; readonly expiresInMs?: number },
) {
  return {
    ...row,
    ...pickProgress(write),
    state: 'ready' as const,
    owner: null,
    dueAt: after(write.delayMs),
    alone: false,
    processedAt: null,
    expiresAt: write.expiresInMs === undefined ? row.expiresAt : after(write.expiresInMs),
    into: null,
  }
}

function pickProgress({ counters, note }: Progress): Counters & Note {
  return {
    attempts: counters.attempts,
    waits: counters.waits,
    losses: counters.losses,
    key: note.key,
    class: note.class,
    lastError: note.lastError,
    effectRef: note.effectRef,
    httpStatus: note.httpStatus,
    durationMs: note.durationMs,
  }
}

function reserveEntry(
  moment: Moment,
  before: StoredPart | undefined,
  write: { readonly entry: NewLedgerEntry; readonly sendWithinMs: number },
): LedgerEntry {
  return { ...openEntry(moment, before, write.entry), sendBy: moment.after(write.sendWithinMs) }
}

function doneEntry(
  moment: Moment,
  before: StoredPart | undefined,
  write: Pick<LedgerEntry, 'effectRef' | 'result'> & { readonly entry: NewLedgerEntry },
): LedgerEntry {
  const { effectRef, result } = write
  const opened = openEntry(moment, before, write.entry)
  return settleEntry(moment, opened, { to: 'done', proof: 'acknowledged', effectRef, result })
}

export type LedgerWrite =
  | { readonly w: 'ledger.reserve'; readonly entry: NewLedgerEntry; readonly sendWithinMs: number }
  | ({ readonly w: 'ledger.done'; readonly entry: NewLedgerEntry } & Pick<
      LedgerEntry,
      'effectRef' | 'result'
    >)
  | ({ readonly w: 'ledger.settle'; readonly key: string } & Settled)
  | { readonly w: 'ledger.observe'; readonly key: string; readonly evidence: string }

export function ledgerKeyOf(write: LedgerWrite): string {
  return 'entry' in write ? write.entry.key : write.key
}

/** `past`: the row before, when the new one is another generation; null: nothing happens. */
export function changeEntry(
  moment: Moment,
  before: LedgerEntry | undefined,
  write: LedgerWrite,
): { readonly entry: LedgerEntry; readonly past: LedgerEntry | null } | null {
  const entry = entryAfter(moment, before, write)
  if (entry === undefined) return null
  return { entry, past: before && entry.generation > before.generation ? before : null }
}

function entryAfter(
  moment: Moment,
  before: LedgerEntry | undefined,
  write: LedgerWrite,
): LedgerEntry | undefined {
  switch (write.w) {
    case 'ledger.reserve':
      return reserveEntry(moment, before, write)
    case 'ledger.done':
      return doneEntry(moment, before, write)
    case 'ledger.settle':
      return before && settleEntry(moment, before, write)
    case 'ledger.observe':
      return before && observeEntry(before, write.evidence)
    default:
      return unreachable(write)
  }
}

/** Whether the entry is a new row of a key that has one: a deliberate repetition. The earlier row stays as it is. */
function isNewGeneration(before: Pick<LedgerEntry, 'generation'> | undefined, entry: NewLedgerEntry) {
  return before !== undefined && (entry.generation ?? before.generation) > before.generation
}

/** A new entry, or one that is reserved again: then generation, evidence and creation time stay. */
function openEntry(
  { tenant, now }: Moment,
  latest: StoredPart | undefined,
  entry: NewLedgerEntry,
): LedgerEntry {
  const before = isNewGeneration(latest, entry) ? undefined : latest
  return {
    key: entry.key,
    tenant,
    work: entry.work,
    epoch: entry.epoch,
    consumer: entry.consumer,
    eventId: entry.eventId,
    objectId: entry.objectId,
    payloadHash: entry.payloadHash,
    correlationId: entry.correlationId,
    generation: before?.generation ?? entry.generation ?? 1,
    state: 'reserved',
    proof: null,
    sendBy: null,
    effectRef: null,
    result: null,
    evidence: before?.evidence ?? Object.freeze([]),
    createdAt: before?.createdAt ?? now,
    settledAt: null,
  }
}

function settleEntry({ now }: Moment, entry: LedgerEntry, write: Settled): LedgerEntry {
  const { to, proof, effectRef, result } = write
  return { ...entry, state: to, proof, effectRef, result, settledAt: now }
}

function observeEntry(entry: LedgerEntry, evidence: string): LedgerEntry {
  return { ...entry, evidence: Object.freeze([...entry.evidence, evidence]) }
}

export function putDeadLetterRow(
  { tenant, now }: Moment,
  before: Pick<DeadLetter, 'createdAt'> | undefined,
  row: NewDeadLetter,
): DeadLetter {
  return {
    id: row.id,
    tenant,
    version: row.version,
    state: row.state,
    class: row.class,
    reason: row.reason,
    consumer: row.consumer,
    eventId: row.eventId,
    workId: row.workId,
    attempts: row.attempts,
    replays: row.replays,
    lastError: row.lastError,
    key: row.key,
    correlationId: row.correlationId,
    payloadHash: row.payloadHash,
    runbook: row.runbook,
    severity: row.severity,
    step: row.step,
    failureId: row.failureId,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
  }
}

export function putFailure(
  { tenant, now, after }: Moment,
  before: Pick<Failure, 'createdAt'> | undefined,
  row: NewFailure,
): Failure {
  return {
    id: row.id,
    tenant,
    state: row.state,
    workId: row.workId,
    consumer: row.consumer,
    eventId: row.eventId,
    class: row.class,
    reason: row.reason,
    key: row.key,
    attempts: row.attempts,
    lastError: row.lastError,
    willRetryAt: row.retryInMs === null ? null : after(row.retryInMs),
    correlationId: row.correlationId,
    severity: row.severity,
    cause: row.cause,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
  }
}

/**
 * `before` is the raised escalation of the same cause: it keeps its id and version, and takes over the details of the latest
 * failure.
 */
export function raiseEscalation(
  { tenant, now }: Moment,
  before: Escalation | undefined,
  row: NewEscalation,
): Escalation {
  return {
    id: before?.id ?? row.id,
    tenant,
    version: before?.version ?? 1,
    state: 'raised',
    cause: row.cause,
    consumer: row.consumer,
    class: row.class,
    reason: row.reason,
    severity: row.severity,
    runbook: row.runbook,
    lastError: row.lastError,
    workId: row.workId,
    count: (before?.count ?? 0) + 1,
    isAnnounced: before?.isAnnounced ?? false,
    acknowledgedBy: null,
    note: null,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
  }
}

export function changeEscalation(
  { now }: Moment,
  row: Escalation,
  change: {
    readonly announced?: true
    readonly acknowledged?: { readonly by: string; readonly note: string | null }
  },
): Escalation {
  const { announced, acknowledged } = change
  return {
    ...row,
    version: row.version + 1,
    isAnnounced: announced ?? row.isAnnounced,
    state: acknowledged === undefined ? row.state : 'acknowledged',
    acknowledgedBy: acknowledged === undefined ? row.acknowledgedBy : acknowledged.by,
    note: acknowledged === undefined ? row.note : acknowledged.note,
    updatedAt: now,
  }
}

/** An active instance has not ended, even if it was recorded as ended. */
export function putInstance(
  { tenant, now }: Moment,
  before: Pick<InstanceRow, 'createdAt' | 'endedAt'> | undefined,
  row: NewInstance,
): InstanceRow {
  return {
    id: row.id,
    tenant,
    workflow: row.workflow,
    definition: row.definition,
    version: row.version,
    state: row.state,
    attention: row.attention,
    revision: row.revision,
    marking: normalMarking(row.marking),
    eventId: row.eventId,
    correlationId: row.correlationId,
    parent: row.parent,
    body: row.body,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
    endedAt: row.state === 'active' ? null : (before?.endedAt ?? now),
  }
}

export function appendHistory({ now }: Moment, row: NewHistory): HistoryRow {
  return { instance: row.instance, sequence: row.sequence, type: row.type, body: row.body, at: now }
}

export function putOrphan(
  { tenant, now, after }: Moment,
  before: Pick<Orphan, 'createdAt'> | undefined,
  row: NewOrphan,
): Orphan {
  return {
    id: row.id,
    tenant,
    version: row.version,
    state: row.state,
    reason: row.reason,
    workflow: row.workflow,
    trigger: row.trigger,
    eventId: row.eventId,
    workId: row.workId,
    keys: row.keys,
    instance: row.instance,
    by: row.by,
    note: row.note,
    expiresAt: row.expiresInMs === null ? null : after(row.expiresInMs),
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
  }
}

/** These fields stay as they began: lists find it by them. */
export function putRun(
  { tenant, now }: Moment,
  before: Pick<Run, 'connection' | 'purpose' | 'workId' | 'createdAt'> | undefined,
  row: NewRun,
): Run {
  return {
    id: row.id,
    tenant,
    state: row.state,
    purpose: before?.purpose ?? row.purpose,
    connection: before?.connection ?? row.connection,
    provider: row.provider,
    operation: row.operation,
    workId: before === undefined ? row.workId : before.workId,
    eventId: row.eventId,
    correlationId: row.correlationId,
    traceId: row.traceId,
    key: row.key,
    attemptCount: row.attemptCount,
    attempts: Object.freeze(row.attempts.map(pickAttempt)),
    class: row.class,
    httpStatus: row.httpStatus,
    durationMs: row.durationMs,
    error: row.error,
    externalRef: row.externalRef,
    replayOf: row.replayOf,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
  }
}

function pickAttempt(attempt: RunAttempt): RunAttempt {
  return Object.freeze({
    number: attempt.number,
    startedAt: attempt.startedAt,
    durationMs: attempt.durationMs,
    class: attempt.class,
    httpStatus: attempt.httpStatus,
    error: attempt.error,
    credentialVersion: attempt.credentialVersion,
    request: attempt.request,
    response: attempt.response,
  })
}

/** The attempts of a run as the one text that stores hold. */
export function attemptsText(attempts: readonly RunAttempt[]): string {
  return attempts.length === 0 ? '[]' : JSON.stringify(attempts.map(pickAttempt))
}
