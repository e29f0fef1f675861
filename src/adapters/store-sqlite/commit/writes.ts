// Applies one write to the database. Writes are unconditional: one that names a missing row does nothing, and one that
// no store could apply (an id added twice) throws.

import type { LedgerProof, LedgerState, NewLedgerEntry } from '../../../core/effects/ledger/index.ts'
import { unreachable } from '../../../core/foundation/errors/index.ts'
import type { Incarnation, TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Write } from '../../../ports/store.ts'
import { WORK_PER_EVENT } from '../columns.ts'
import { toStoredHeaders } from '../headers.ts'
import { addOutboxRow } from '../outbox.ts'
import { putRun } from '../runs.ts'
import { isAlive, knowLease, nextLedger, type Session, tenantNumber, termNumber } from '../session.ts'
import { LEDGER_CODE, WORK_CODE } from '../state-codes.ts'
import { toStored, toStoredHash, toStoredOrNull, toStoredTrace } from '../text-values.ts'
import { changeEscalation, putFailure, raiseEscalation } from './failures.ts'
import { addHistory, deleteCorrelation, putCorrelation, putInstance, putOrphan } from './instance-writes.ts'
import { findLedger, findLedgerNumber, isKnownAbsent, locateLedger, noteDedup, noteLedger } from './keys.ts'
import { comeBack, comeIn, findLaned, goOut, noteVersion } from './lanes.ts'
import { isOdd } from './plain-jobs.ts'

export function applyWrite(
  session: Session,
  now: Instant,
  tenant: TenantId,
  write: Write,
  leased: WorkId[],
): void {
  const no = tenantNumber(session, tenant)
  switch (write.w) {
    case 'event.append':
      appendEvent(session, now, no, write)
      return
    case 'event.repeat':
      session.sql.repeatEvent.run(no, write.event, write.count, now)
      return
    case 'event.match':
      session.sql.matchEvent.run(no, write.event, write.matched)
      return
    case 'work.add':
      addWork(session, now, no, write, leased)
      return
    case 'work.settle': {
      const found = findWork(session, no, write.work)
      if (found === null) return
      const { seq } = found
      const at = { session, now, tenant: no }
      const laned = found.isLaned ? findLaned(at, write.work) : null
      session.leases.delete(write.work)
      session.changedWork = { id: write.work, seq }
      const { counters, note } = write
      session.sql.settleWork.get(
        WORK_CODE[write.to],
        now,
        counters.attempts,
        counters.waits,
        counters.losses,
        toStoredOrNull(note.key),
        note.class,
        toStoredOrNull(note.lastError),
        toStoredOrNull(note.effectRef),
        note.httpStatus,
        note.durationMs,
        seq,
      )
      if (write.into !== undefined) session.sql.mergeWork.run(write.into, seq)
      if (laned === null) return
      goOut(at, laned, write.place)
      if (write.laneVersion !== undefined) noteVersion(at, laned, write.laneVersion)
      return
    }
    case 'lane.leave': {
      const at = { session, now, tenant: no }
      const laned = findLaned(at, write.work)
      if (laned?.place === 1) goOut(at, laned, undefined)
      return
    }
    case 'work.again': {
      const found = findWork(session, no, write.work)
      if (found === null) return
      const { seq } = found
      const at = { session, now, tenant: no }
      const laned = found.isLaned ? findLaned(at, write.work) : null
      session.leases.delete(write.work)
      session.changedWork = { id: write.work, seq }
      const { counters, note } = write
      session.sql.againWork.get(
        now + write.delayMs,
        counters.attempts,
        counters.waits,
        counters.losses,
        toStoredOrNull(note.key),
        note.class,
        toStoredOrNull(note.lastError),
        toStoredOrNull(note.effectRef),
        note.httpStatus,
        note.durationMs,
        seq,
      )
      if (found.isMerged) session.sql.mergeWork.run(null, seq)
      if (write.expiresInMs !== undefined) session.sql.expireWork.run(now + write.expiresInMs, seq)
      if (laned !== null) comeBack(at, laned)
      return
    }
    case 'attempt.append': {
      const { attempt } = write
      const { changedWork } = session
      const found = changedWork?.id === write.work ? changedWork : findWork(session, no, write.work)
      if (found === null) return
      session.sql.addAttempt.get(
        found.seq,
        attempt.number,
        attempt.startedAt,
        attempt.durationMs,
        attempt.outcome,
        attempt.class,
        attempt.httpStatus,
        toStoredOrNull(attempt.error),
        toStoredOrNull(attempt.response ?? null),
      )
      return
    }
    case 'ledger.reserve':
      openEntry(session, now, no, write.entry, {
        state: 'reserved',
        proof: null,
        sendBy: now + write.sendWithinMs,
        settledAt: null,
        effectRef: null,
        result: null,
      })
      return
    case 'ledger.done':
      openEntry(session, now, no, write.entry, {
        state: 'done',
        proof: 'acknowledged',
        sendBy: null,
        settledAt: now,
        effectRef: write.effectRef,
        result: write.result,
      })
      return
    case 'ledger.settle': {
      const seq = findLedgerNumber(session, no, write.key)
      if (seq === null) return
      session.sql.settleLedger.get(
        LEDGER_CODE[write.to],
        write.proof,
        toStoredOrNull(write.effectRef),
        toStoredOrNull(write.result),
        now,
        seq,
      )
      return
    }
    case 'ledger.observe': {
      const seq = findLedgerNumber(session, no, write.key)
      if (seq !== null) session.sql.addEvidence.get(seq, toStored(write.evidence))
      return
    }
    case 'deadLetter.put':
      putDeadLetter(session, now, no, write)
      return
    case 'failure.put':
      putFailure(session, now, no, write.row)
      return
    case 'escalation.raise':
      raiseEscalation(session, now, no, write.row)
      return
    case 'escalation.change':
      changeEscalation(session, now, no, write)
      return
    case 'instance.put':
      putInstance(session, now, no, write.row)
      return
    case 'history.append':
      for (const row of write.rows) addHistory(session, now, no, row)
      return
    case 'correlation.put':
      putCorrelation(session, no, write.key, write.version, write.body)
      return
    case 'correlation.delete':
      deleteCorrelation(session, no, write.key)
      return
    case 'orphan.put':
      putOrphan(session, now, no, write.row)
      return
    case 'run.put':
      putRun(session, now, no, write.row)
      return
    case 'record.put':
      session.sql.putRecord.run(no, write.kind, toStored(write.key), write.version, toStored(write.body))
      return
    case 'record.delete':
      session.sql.deleteRecord.run(no, write.kind, toStored(write.key))
      return
    case 'fact.add':
      session.sql.addFact.run(no, write.fact.id, now, toStored(write.fact.body))
      return
    case 'outbox.add':
      for (const row of write.rows) addOutboxRow(session, now, no, row)
      return
    case 'outbox.delete':
      for (const position of write.positions) session.sql.deleteOutboxRow.run(position, no)
      return
    default:
      unreachable(write)
  }
}

interface FoundWork {
  readonly seq: number
  readonly isLaned: boolean
  readonly isMerged: boolean
}

function findWork(session: Session, tenant: number, work: WorkId): FoundWork | null {
  const known = session.leases.get(work)
  // A merged job is taken out of its batch before it is leased.
  if (known !== undefined && known.tenant === tenant) {
    return { seq: known.seq, isLaned: known.isLaned, isMerged: false }
  }
  const row = session.sql.work.get(tenant, work)
  if (row === undefined) return null
  return { seq: row.seq, isLaned: row.lane !== null, isMerged: row.into_work !== null }
}

function appendEvent(
  session: Session,
  now: Instant,
  tenant: number,
  write: Extract<Write, { w: 'event.append' }>,
): void {
  const { event } = write
  session.lastEvent += 1
  noteDedup(session, tenant, event.source, event.dedupKey, session.lastEvent)
  session.sql.addEvent.get(
    session.lastEvent,
    tenant,
    event.id,
    toStored(event.source),
    toStored(event.subject),
    event.matched,
    now,
    now + write.dedupForMs,
    toStored(event.dedupKey),
    toStoredOrNull(event.objectType),
    toStoredOrNull(event.objectId),
    event.occurredAt,
    toStored(event.correlationId),
    event.causationId,
    toStoredTrace(event.traceId, event.correlationId),
    toStoredHash(event.payloadHash),
    toStoredHeaders(event.headers),
    toStored(event.data),
    toStoredOrNull(event.raw),
  )
  session.addedEvent = { id: event.id, seq: session.lastEvent, jobs: 0 }
}

interface WorkPlace {
  readonly seq: number
  /** Only of a job whose number does not say it. */
  readonly event: number | null
}

/**
 * The number of a new job: after its event's, so that the jobs of an event lie together and need no index. Null: the
 * event is gone.
 */
function placeWork(session: Session, tenant: number, id: string): WorkPlace | null {
  const { addedEvent, sql } = session
  // Nearly every job is added with its event.
  if (addedEvent?.id === id && addedEvent.jobs < WORK_PER_EVENT) {
    const seq = addedEvent.seq * WORK_PER_EVENT + addedEvent.jobs
    addedEvent.jobs += 1
    return { seq, event: null }
  }
  const event: number | undefined = sql.eventSeq.get(tenant, id)?.seq
  // It was removed in the meantime.
  if (event === undefined) return null
  const first = event * WORK_PER_EVENT
  const seq = (sql.lastOfEvent.get(event).seq ?? first - 1) + 1
  if (seq < first + WORK_PER_EVENT) return { seq, event: null }
  return { seq: Math.min(0, sql.lastSpilled.get().seq) - 1, event }
}

function addWork(
  session: Session,
  now: Instant,
  tenant: number,
  write: Extract<Write, { w: 'work.add' }>,
  leased: WorkId[],
): void {
  const { work } = write
  const place = placeWork(session, tenant, work.eventId)
  if (place === null) return
  const owner = write.lease !== null && isAlive(session, write.lease, now) ? write.lease : null
  if (isOdd(write)) {
    addOddWork(session, now, tenant, write, place, owner, leased)
    return
  }
  session.sql.addWork.get(
    place.seq,
    tenant,
    work.id,
    owner === null ? WORK_CODE.ready : WORK_CODE.leased,
    now + write.delayMs,
    owner,
    owner === null ? 0 : 1,
    now,
    now + work.expiresInMs,
    toStored(work.consumer),
    place.event,
    work.kind,
    termNumber(session, work.definition),
    work.codeHash === null ? null : termNumber(session, work.codeHash),
    work.replayOf,
  )
  if (owner === null) return
  leased.push(work.id)
  knowLease(session, work.id, { seq: place.seq, tenant, owner, epoch: 1, isLaned: false })
}

/** One with a lane, an element, a later generation, or an instance. */
function addOddWork(
  session: Session,
  now: Instant,
  tenant: number,
  write: Extract<Write, { w: 'work.add' }>,
  place: WorkPlace,
  wanted: Incarnation | null,
  leased: WorkId[],
): void {
  const { work } = write
  const { lane } = work
  const entry = lane && comeIn({ session, now, tenant }, work.consumer, lane, write.inPlaceOf)
  const isWaiting = entry?.hasPlace === false
  const owner = isWaiting ? null : wanted
  session.sql.addOddWork.get(
    place.seq,
    tenant,
    work.id,
    isWaiting ? WORK_CODE.waiting : owner === null ? WORK_CODE.ready : WORK_CODE.leased,
    now + write.delayMs,
    owner,
    owner === null ? 0 : 1,
    now,
    now + work.expiresInMs,
    toStored(work.consumer),
    place.event,
    work.kind,
    termNumber(session, work.definition),
    work.codeHash === null ? null : termNumber(session, work.codeHash),
    work.replayOf,
    lane === undefined ? null : toStored(lane.key),
    entry?.hasPlace === true ? 1 : null,
    work.element ?? null,
    work.generation ?? null,
    work.instance ?? null,
    toStoredOrNull(work.step ?? null),
  )
  if (owner !== null) {
    leased.push(work.id)
    const isLaned = lane !== undefined
    knowLease(session, work.id, { seq: place.seq, tenant, owner, epoch: 1, isLaned })
  }
  entry?.finish()
}

interface Opening {
  readonly state: LedgerState
  readonly proof: LedgerProof | null
  readonly sendBy: Instant | null
  readonly settledAt: Instant | null
  readonly effectRef: string | null
  readonly result: string | null
}

/** A new entry, a reopened one (generation, evidence and creation time stay), or the key's next generation. */
function openEntry(
  session: Session,
  now: Instant,
  tenant: number,
  entry: NewLedgerEntry,
  opening: Opening,
): void {
  // A new generation is another row than the one that a guard has seen.
  session.seenLedger = null
  const before = isKnownAbsent(session, tenant, entry.key) ? null : findLedger(session, tenant, entry.key)
  const generation = entry.generation ?? 1
  if (before !== null) {
    if (generation > (before.generation as number)) addGeneration(session, now, tenant, entry, opening)
    else reopenEntry(session, before, entry, opening)
    return
  }
  if (generation > 1) {
    addGeneration(session, now, tenant, entry, opening)
    return
  }
  const seq = nextLedger(session, tenant)
  noteLedger(session, seq)
  session.sql.addLedger.get(seq, ...ledgerColumns(now, tenant, entry, opening))
}

/** In the order of `addLedger` and `addGeneration`, after the row's number. */
function ledgerColumns(now: Instant, tenant: number, entry: NewLedgerEntry, opening: Opening) {
  return [
    tenant,
    toStored(entry.key),
    LEDGER_CODE[opening.state],
    opening.proof,
    entry.work,
    entry.epoch,
    opening.sendBy,
    now,
    opening.settledAt,
    toStored(entry.consumer),
    entry.eventId,
    toStoredOrNull(entry.objectId),
    toStoredHash(entry.payloadHash),
    toStored(entry.correlationId),
    toStoredOrNull(opening.effectRef),
    toStoredOrNull(opening.result),
  ] as const
}

/** The key points to the new row from now on, and that row to the previous one. */
function addGeneration(
  session: Session,
  now: Instant,
  tenant: number,
  entry: NewLedgerEntry,
  opening: Opening,
): void {
  const { row, hash } = locateLedger(session, tenant, entry.key)
  const seq = nextLedger(session, tenant)
  session.keys.note(hash, seq)
  session.ledgerSlot = null
  session.sql.addGeneration.get(
    seq,
    ...ledgerColumns(now, tenant, entry, opening),
    entry.generation,
    row?.seq ?? null,
  )
}

function reopenEntry(
  session: Session,
  before: Readonly<Record<string, unknown>>,
  entry: NewLedgerEntry,
  opening: Opening,
): void {
  session.sql.reopenLedger.get(
    LEDGER_CODE[opening.state],
    opening.proof,
    entry.work,
    entry.epoch,
    opening.sendBy,
    opening.settledAt,
    toStored(entry.consumer),
    entry.eventId,
    toStoredOrNull(entry.objectId),
    toStoredHash(entry.payloadHash),
    toStored(entry.correlationId),
    toStoredOrNull(opening.effectRef),
    toStoredOrNull(opening.result),
    before.seq,
  )
}

function putDeadLetter(
  session: Session,
  now: Instant,
  tenant: number,
  { row }: Extract<Write, { w: 'deadLetter.put' }>,
): void {
  session.sql.putDeadLetter.run(
    tenant,
    row.id,
    row.version,
    row.state,
    row.class,
    row.reason,
    toStored(row.consumer),
    row.eventId,
    row.workId,
    row.attempts,
    row.replays,
    toStored(row.lastError),
    toStoredOrNull(row.key),
    toStored(row.correlationId),
    row.payloadHash,
    toStoredOrNull(row.runbook),
    toStored(row.severity),
    toStoredOrNull(row.step),
    row.failureId,
    now,
    now,
  )
}
