// The rows that src/core/store/commit/apply-write.ts reads and changes, with an undo for each change: a commit that fails half-way leaves nothing
// behind.

import type { StoredEvent } from '../../core/events/event/index.ts'
import { assert } from '../../core/foundation/errors/index.ts'
import type { EventId } from '../../core/foundation/ids/index.ts'
import { joinKey } from '../../core/foundation/text/index.ts'
import type { WriteTables } from '../../core/store/commit/index.ts'
import { addOutboxRow, deleteOutboxRow } from './outbox.ts'
import { ownRows } from './pages.ts'
import { isAlive } from './state.ts'
import { put, putWorkRow, remove, type Transaction } from './transaction.ts'

const NONE: readonly string[] = Object.freeze([])

function changeEvent(tx: Transaction, id: EventId, change: (row: StoredEvent) => StoredEvent): void {
  const row = tx.state.events.get(id)
  if (row?.tenant === tx.tenant) put(tx, tx.state.events, id, Object.freeze(change(row)))
}

export const WRITE_TABLES: WriteTables<Transaction> = {
  hasEvent: (tx, id) => tx.state.events.get(id)?.tenant === tx.tenant,
  addEvent(tx, event) {
    const { state, now, tenant } = tx
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
  },
  repeatEvent: (tx, id, count) =>
    changeEvent(tx, id, (row) => ({
      ...row,
      duplicates: row.duplicates + count,
      lastDuplicateAt: tx.now,
    })),
  matchEvent: (tx, id, matched) => changeEvent(tx, id, (row) => ({ ...row, matched })),
  putDedup: (tx, key, row) => put(tx, tx.state.dedup, key, Object.freeze(row)),
  isAlive: (tx, owner) => isAlive(tx.state, owner, tx.now),
  addWork(tx, row) {
    const { work, workOfEvent } = tx.state
    assert(!work.has(row.id), `work ${row.id} exists already`)
    putWorkRow(tx, row)
    put(tx, workOfEvent, row.eventId, [...(workOfEvent.get(row.eventId) ?? []), row.id])
  },
  addAttempt(tx, work, attempt) {
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
  },
  findEntry: (tx, key) => tx.state.ledger.get(key),
  putEntry: (tx, key, entry) => put(tx, tx.state.ledger, key, Object.freeze(entry)),
  addPastEntry(tx, key, entry) {
    const { ledgerBefore } = tx.state
    put(tx, ledgerBefore, key, [...(ledgerBefore.get(key) ?? []), entry])
  },
  findDeadLetter: (tx, key) => tx.state.deadLetters.get(key),
  putDeadLetter: (tx, key, row) => put(tx, tx.state.deadLetters, key, Object.freeze(row)),
  findFailure: (tx, key) => tx.state.failures.get(key),
  putFailure: (tx, key, row) => put(tx, tx.state.failures, key, Object.freeze(row)),
  findEscalation: (tx, key) => tx.state.escalations.get(key),
  findRaised: (tx, cause) =>
    ownRows(tx.state.escalations, tx.tenant).find((row) => row.state === 'raised' && row.cause === cause),
  putEscalation: (tx, key, row) => put(tx, tx.state.escalations, key, Object.freeze(row)),
  findInstance: (tx, key) => tx.state.instances.get(key),
  putInstance: (tx, key, row) => put(tx, tx.state.instances, key, Object.freeze(row)),
  addHistory(tx, row) {
    const { history } = tx.state
    const key = joinKey(tx.tenant, row.instance)
    const before = history.get(key) ?? []
    const isThere = before.some(({ sequence }) => sequence === row.sequence)
    assert(!isThere, `history ${row.sequence} of ${row.instance} exists already`)
    put(tx, history, key, [...before, Object.freeze({ ...row, tenant: tx.tenant })])
  },
  putCorrelation: (tx, key, row) => put(tx, tx.state.correlations, key, Object.freeze(row)),
  deleteCorrelation: (tx, key) => remove(tx, tx.state.correlations, key),
  findOrphan: (tx, key) => tx.state.orphans.get(key),
  putOrphan: (tx, key, row) => put(tx, tx.state.orphans, key, Object.freeze(row)),
  findRun: (tx, key) => tx.state.runs.get(key),
  putRun: (tx, key, row) => put(tx, tx.state.runs, key, Object.freeze(row)),
  putRecord: (tx, key, row) => put(tx, tx.state.records, key, Object.freeze(row)),
  deleteRecord: (tx, key) => remove(tx, tx.state.records, key),
  addFact(tx, key, row) {
    if (!tx.state.facts.has(key)) put(tx, tx.state.facts, key, Object.freeze(row))
  },
  addOutboxRow,
  deleteOutboxRow,
}
