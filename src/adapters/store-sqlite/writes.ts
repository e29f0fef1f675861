// One write onto the database. Writes are unconditional: one that names a row that is not there does nothing, and one
// that no store could apply (an id added twice) throws.

import { unreachable } from '../../core/errors/index.ts'
import type { TenantId, WorkId } from '../../core/ids/index.ts'
import type { LedgerProof, LedgerState, NewLedgerEntry } from '../../core/ledger/index.ts'
import type { Instant } from '../../core/time/index.ts'
import type { Write } from '../../ports/store.ts'
import { LEDGER_CODE, WORK_CODE } from './codes.ts'
import { findLedger, isKnownAbsent, noteDedup, noteLedger } from './keys.ts'
import { isAlive, knowLease, type Session, tenantNumber } from './session.ts'
import { toStored, toStoredOrNull } from './text.ts'

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
      const seq = findWork(session, no, write.work)
      if (seq === null) return
      session.leases.delete(write.work)
      const { counters, note } = write
      session.sql.settleWork.run(
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
      return
    }
    case 'work.again': {
      const seq = findWork(session, no, write.work)
      if (seq === null) return
      session.leases.delete(write.work)
      const { counters, note } = write
      session.sql.againWork.run(
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
      return
    }
    case 'attempt.append': {
      const seq = findWork(session, no, write.work)
      if (seq === null) return
      const { attempt } = write
      session.sql.addAttempt.run(
        seq,
        attempt.number,
        attempt.startedAt,
        attempt.durationMs,
        attempt.outcome,
        attempt.class,
        attempt.httpStatus,
        toStoredOrNull(attempt.error),
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
      const row = findLedger(session, no, write.key)
      if (row === null) return
      session.sql.settleLedger.run(
        LEDGER_CODE[write.to],
        write.proof,
        toStoredOrNull(write.effectRef),
        toStoredOrNull(write.result),
        now,
        row.seq,
      )
      return
    }
    case 'ledger.observe': {
      const row = findLedger(session, no, write.key)
      if (row !== null) session.sql.addEvidence.run(row.seq, toStored(write.evidence))
      return
    }
    case 'deadLetter.put':
      putDeadLetter(session, now, no, write)
      return
    case 'record.put':
      session.sql.putRecord.run(no, write.kind, toStored(write.key), write.version, toStored(write.body))
      return
    case 'record.delete':
      session.sql.deleteRecord.run(no, write.kind, toStored(write.key))
      return
    default:
      unreachable(write)
  }
}

function findWork(session: Session, tenant: number, work: WorkId): number | null {
  const known = session.leases.get(work)
  if (known !== undefined && known.tenant === tenant) return known.seq
  return session.sql.work.get(tenant, work)?.seq ?? null
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
  session.sql.addEvent.run(
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
    toStored(event.traceId),
    event.payloadHash,
    toStored(event.headers),
    toStored(event.data),
    toStoredOrNull(event.raw),
  )
  session.bornEvent = event.id
}

function addWork(
  session: Session,
  now: Instant,
  tenant: number,
  write: Extract<Write, { w: 'work.add' }>,
  leased: WorkId[],
): void {
  const { work } = write
  // Nearly all work comes with its event; other events may have gone in the meantime.
  const isThere = work.eventId === session.bornEvent || session.sql.hasEvent.get(tenant, work.eventId)
  if (!isThere) return
  const owner = write.lease !== null && isAlive(session, write.lease, now) ? write.lease : null
  session.lastWork += 1
  session.sql.addWork.run(
    session.lastWork,
    tenant,
    work.id,
    owner === null ? WORK_CODE.ready : WORK_CODE.leased,
    now + write.delayMs,
    owner,
    owner === null ? 0 : 1,
    now,
    now + work.expiresInMs,
    toStored(work.consumer),
    work.eventId,
    work.kind,
    work.definition,
    work.codeHash,
    work.replayOf,
  )
  if (owner === null) return
  leased.push(work.id)
  knowLease(session, work.id, { seq: session.lastWork, tenant, owner, epoch: 1 })
}

interface Opening {
  readonly state: LedgerState
  readonly proof: LedgerProof | null
  readonly sendBy: Instant | null
  readonly settledAt: Instant | null
  readonly effectRef: string | null
  readonly result: string | null
}

/** A new entry, or one taken up again: then generation, evidence and birth stay. */
function openEntry(
  session: Session,
  now: Instant,
  tenant: number,
  entry: NewLedgerEntry,
  opening: Opening,
): void {
  const before = isKnownAbsent(session, tenant, entry.key) ? null : findLedger(session, tenant, entry.key)
  if (before !== null) {
    reopenEntry(session, before, entry, opening)
    return
  }
  session.lastLedger += 1
  noteLedger(session, session.lastLedger)
  session.sql.addLedger.run(
    session.lastLedger,
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
    entry.payloadHash,
    toStored(entry.correlationId),
    toStoredOrNull(opening.effectRef),
    toStoredOrNull(opening.result),
  )
}

function reopenEntry(
  session: Session,
  before: Readonly<Record<string, unknown>>,
  entry: NewLedgerEntry,
  opening: Opening,
): void {
  session.sql.reopenLedger.run(
    LEDGER_CODE[opening.state],
    opening.proof,
    entry.work,
    entry.epoch,
    opening.sendBy,
    opening.settledAt,
    toStored(entry.consumer),
    entry.eventId,
    toStoredOrNull(entry.objectId),
    entry.payloadHash,
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
    now,
    now,
  )
}
