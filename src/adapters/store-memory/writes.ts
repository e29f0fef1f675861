// One write onto the state, with a way back: a commit that breaks in the middle leaves nothing behind. What becomes of a
// row is in src/core/commit/rows.ts.

import {
  againItem,
  appendHistory,
  bearWork,
  changeEntry,
  changeEscalation,
  comeIn,
  type LedgerWrite,
  leaveItem,
  ledgerKeyOf,
  type Moment,
  putFailure,
  putInstance,
  putLetter,
  putOrphan,
  putRun,
  raiseEscalation,
  settleItem,
} from '../../core/commit/index.ts'
import { assert, unreachable } from '../../core/errors/index.ts'
import type { NewEscalation } from '../../core/escalation/index.ts'
import type { StoredEvent } from '../../core/event/index.ts'
import type { EventId, WorkId } from '../../core/ids/index.ts'
import type { NewHistory } from '../../core/instance/index.ts'
import { joinKey } from '../../core/text/index.ts'
import type { Attempt } from '../../core/work/index.ts'
import type { Write } from '../../ports/store.ts'
import { laneRows } from './lanes.ts'
import { addOutboxRow, deleteOutboxRow } from './outbox.ts'
import { ownRows } from './pages.ts'
import { findWork, isAlive } from './state.ts'
import { put, putWorkRow, remove, type Transaction } from './transaction.ts'

export function applyWrite(tx: Transaction, write: Write): void {
  const { state, tenant } = tx
  const moment = momentOf(tx)
  switch (write.w) {
    case 'event.append':
      appendEvent(tx, write)
      break
    case 'event.repeat':
      changeEvent(tx, write.event, (row) => ({
        ...row,
        duplicates: row.duplicates + write.count,
        lastDuplicateAt: tx.now,
      }))
      break
    case 'event.match':
      changeEvent(tx, write.event, (row) => ({ ...row, matched: write.matched }))
      break
    case 'work.add':
      addWork(tx, write)
      break
    case 'work.settle':
      settleItem(laneRows(tx), moment, write)
      break
    case 'work.again':
      againItem(laneRows(tx), moment, write)
      break
    case 'lane.leave':
      leaveItem(laneRows(tx), moment, write.work)
      break
    case 'attempt.append':
      appendAttempt(tx, write.work, write.attempt)
      break
    case 'ledger.reserve':
    case 'ledger.done':
    case 'ledger.settle':
    case 'ledger.observe':
      putEntry(tx, write)
      break
    case 'deadLetter.put': {
      const key = joinKey(tenant, write.row.id)
      const letter = putLetter(moment, state.deadLetters.get(key), write.row)
      put(tx, state.deadLetters, key, Object.freeze(letter))
      break
    }
    case 'failure.put': {
      const key = joinKey(tenant, write.row.id)
      put(tx, state.failures, key, Object.freeze(putFailure(moment, state.failures.get(key), write.row)))
      break
    }
    case 'escalation.raise':
      raise(tx, write.row)
      break
    case 'escalation.change': {
      const key = joinKey(tenant, write.id)
      const row = state.escalations.get(key)
      if (row) put(tx, state.escalations, key, Object.freeze(changeEscalation(moment, row, write)))
      break
    }
    case 'instance.put': {
      const key = joinKey(tenant, write.row.id)
      put(tx, state.instances, key, Object.freeze(putInstance(moment, state.instances.get(key), write.row)))
      break
    }
    case 'history.append':
      for (const row of write.rows) addHistory(tx, row)
      break
    case 'correlation.put': {
      const { key, version, body } = write
      put(tx, state.correlations, joinKey(tenant, key), Object.freeze({ tenant, key, version, body }))
      break
    }
    case 'correlation.delete':
      remove(tx, state.correlations, joinKey(tenant, write.key))
      break
    case 'orphan.put': {
      const key = joinKey(tenant, write.row.id)
      put(tx, state.orphans, key, Object.freeze(putOrphan(moment, state.orphans.get(key), write.row)))
      break
    }
    case 'run.put': {
      const key = joinKey(tenant, write.row.id)
      put(tx, state.runs, key, Object.freeze(putRun(moment, state.runs.get(key), write.row)))
      break
    }
    case 'record.put': {
      const { kind, key, version, body } = write
      const row = Object.freeze({ tenant, kind, key, version, body })
      put(tx, state.records, joinKey(tenant, kind, key), row)
      break
    }
    case 'record.delete':
      remove(tx, state.records, joinKey(tenant, write.kind, write.key))
      break
    case 'outbox.add':
      for (const row of write.rows) addOutboxRow(tx, row)
      break
    case 'outbox.delete':
      for (const position of write.positions) deleteOutboxRow(tx, position)
      break
    default:
      unreachable(write)
  }
}

const NONE: readonly string[] = Object.freeze([])

function changeEvent(tx: Transaction, id: EventId, change: (row: StoredEvent) => StoredEvent): void {
  const row = tx.state.events.get(id)
  if (row?.tenant === tx.tenant) put(tx, tx.state.events, id, Object.freeze(change(row)))
}

function appendEvent(tx: Transaction, write: Extract<Write, { w: 'event.append' }>): void {
  const { state, now, tenant } = tx
  const { event } = write
  assert(!state.events.has(event.id), `event ${event.id} exists already`)
  const row = Object.freeze({
    id: event.id,
    tenant,
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
    sensitive: NONE,
    matched: event.matched,
    receivedAt: now,
    duplicates: 0,
    lastDuplicateAt: null,
  })
  put(tx, state.events, event.id, row)
  const window = Object.freeze({ event: event.id, until: now + write.dedupForMs })
  put(tx, state.dedup, joinKey(tenant, event.source, event.dedupKey), window)
}

function addWork(tx: Transaction, write: Extract<Write, { w: 'work.add' }>): void {
  const { state, now } = tx
  const { work, lease } = write
  if (state.events.get(work.eventId)?.tenant !== tx.tenant) return
  assert(!state.work.has(work.id), `work ${work.id} exists already`)
  const moment = momentOf(tx)
  const { place, finish } = comeIn(laneRows(tx), moment, work, write.inPlaceOf)
  const isLeased = place !== 'waits' && lease !== null && isAlive(state, lease, now)
  if (isLeased) tx.leased.push(work.id)
  putWorkRow(tx, bearWork(moment, work, write.delayMs, isLeased ? lease : null, place))
  finish()
  put(tx, state.workOfEvent, work.eventId, [...(state.workOfEvent.get(work.eventId) ?? []), work.id])
}

function momentOf({ tenant, now }: Transaction): Moment {
  return { tenant, now, after: (delayMs) => now + delayMs }
}

function raise(tx: Transaction, row: NewEscalation): void {
  const { escalations } = tx.state
  const before = ownRows(escalations, tx.tenant).find(
    ({ state, cause }) => state === 'raised' && cause === row.cause,
  )
  const key = joinKey(tx.tenant, before?.id ?? row.id)
  assert(before !== undefined || !escalations.has(key), `escalation ${row.id} exists already`)
  put(tx, escalations, key, Object.freeze(raiseEscalation(momentOf(tx), before, row)))
}

function addHistory(tx: Transaction, row: NewHistory): void {
  const { history } = tx.state
  const key = joinKey(tx.tenant, row.instance)
  const before = history.get(key) ?? []
  const isThere = before.some(({ sequence }) => sequence === row.sequence)
  assert(!isThere, `history ${row.sequence} of ${row.instance} exists already`)
  put(tx, history, key, [
    ...before,
    Object.freeze({ ...appendHistory(momentOf(tx), row), tenant: tx.tenant }),
  ])
}

function appendAttempt(tx: Transaction, work: WorkId, attempt: Attempt): void {
  if (!findWork(tx.state, tx.tenant, work)) return
  const before = tx.state.attempts.get(work) ?? []
  const { number, startedAt, durationMs, outcome, httpStatus, error, response } = attempt
  const row = Object.freeze({
    number,
    startedAt,
    durationMs,
    outcome,
    class: attempt.class,
    httpStatus,
    error,
    ...(response === undefined ? {} : { response }),
  })
  put(tx, tx.state.attempts, work, [...before, row])
}

function putEntry(tx: Transaction, write: LedgerWrite): void {
  const { ledger, ledgerBefore } = tx.state
  const joined = joinKey(tx.tenant, ledgerKeyOf(write))
  const change = changeEntry(momentOf(tx), ledger.get(joined), write)
  if (change === null) return
  if (change.past !== null) {
    put(tx, ledgerBefore, joined, [...(ledgerBefore.get(joined) ?? []), change.past])
  }
  put(tx, ledger, joined, Object.freeze(change.entry))
}
