// One write onto the state, with a way back: a commit that breaks in the middle leaves nothing behind. What becomes of a
// row is in src/core/commit/rows.ts.

import {
  againWork,
  bearWork,
  doneEntry,
  type Moment,
  observeEntry,
  putLetter,
  reserveEntry,
  settleEntry,
  settleWork,
} from '../../core/commit/index.ts'
import { assert, unreachable } from '../../core/errors/index.ts'
import type { StoredEvent } from '../../core/event/index.ts'
import type { EventId, TenantId, WorkId } from '../../core/ids/index.ts'
import type { LedgerEntry } from '../../core/ledger/index.ts'
import type { Instant } from '../../core/time/index.ts'
import type { Attempt, WorkRow } from '../../core/work/index.ts'
import type { Write } from '../../ports/store.ts'
import { findWork, isAlive, joinKey, type MemoryState, putWork } from './state.ts'

export interface Transaction {
  readonly state: MemoryState
  readonly now: Instant
  readonly tenant: TenantId
  /** Ways back, in the order of the writes. */
  readonly undo: (() => void)[]
  /** Items that were born leased. */
  readonly leased: WorkId[]
}

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
      changeWork(tx, write.work, (row) => settleWork(moment, row, write))
      break
    case 'work.again':
      changeWork(tx, write.work, (row) => againWork(moment, row, write))
      break
    case 'attempt.append':
      appendAttempt(tx, write.work, write.attempt)
      break
    case 'ledger.reserve':
      putEntry(tx, write.entry.key, (before) => reserveEntry(moment, before, write))
      break
    case 'ledger.done':
      putEntry(tx, write.entry.key, (before) => doneEntry(moment, before, write))
      break
    case 'ledger.settle':
      putEntry(tx, write.key, (before) => before && settleEntry(moment, before, write))
      break
    case 'ledger.observe':
      putEntry(tx, write.key, (before) => before && observeEntry(before, write.evidence))
      break
    case 'deadLetter.put': {
      const key = joinKey(tenant, write.row.id)
      const letter = putLetter(moment, state.deadLetters.get(key), write.row)
      put(tx, state.deadLetters, key, Object.freeze(letter))
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
    default:
      unreachable(write)
  }
}

function put<Key, Row>(tx: Transaction, table: Map<Key, Row>, key: Key, row: Row): void {
  const before = table.get(key)
  tx.undo.push(before === undefined ? () => table.delete(key) : () => table.set(key, before))
  table.set(key, row)
}

function remove<Key, Row>(tx: Transaction, table: Map<Key, Row>, key: Key): void {
  const before = table.get(key)
  if (before === undefined) return
  tx.undo.push(() => table.set(key, before))
  table.delete(key)
}

function putWorkRow(tx: Transaction, row: WorkRow): void {
  const before = tx.state.work.get(row.id) ?? null
  tx.undo.push(() => putWork(tx.state, row.id, before))
  putWork(tx.state, row.id, row)
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
  const isLeased = lease !== null && isAlive(state, lease, now)
  if (isLeased) tx.leased.push(work.id)
  putWorkRow(tx, bearWork(momentOf(tx), work, write.delayMs, isLeased ? lease : null))
  put(tx, state.workOfEvent, work.eventId, [...(state.workOfEvent.get(work.eventId) ?? []), work.id])
}

function momentOf({ tenant, now }: Transaction): Moment {
  return { tenant, now, after: (delayMs) => now + delayMs }
}

function changeWork(tx: Transaction, id: WorkId, change: (row: WorkRow) => WorkRow): void {
  const row = findWork(tx.state, tx.tenant, id)
  if (row) putWorkRow(tx, change(row))
}

function appendAttempt(tx: Transaction, work: WorkId, attempt: Attempt): void {
  if (!findWork(tx.state, tx.tenant, work)) return
  const before = tx.state.attempts.get(work) ?? []
  const { number, startedAt, durationMs, outcome, httpStatus, error } = attempt
  const row = Object.freeze({
    number,
    startedAt,
    durationMs,
    outcome,
    class: attempt.class,
    httpStatus,
    error,
  })
  put(tx, tx.state.attempts, work, [...before, row])
}

function putEntry(
  tx: Transaction,
  key: string,
  change: (before: LedgerEntry | undefined) => LedgerEntry | undefined,
): void {
  const joined = joinKey(tx.tenant, key)
  const entry = change(tx.state.ledger.get(joined))
  if (entry) put(tx, tx.state.ledger, joined, Object.freeze(entry))
}
