// One write onto the state, with a way back: a commit that breaks in the middle leaves nothing behind.
//
// Rows are made field by field: what a caller hands over may carry more than the port names.

import { assert, unreachable } from '../../core/errors/index.ts'
import type { TenantId, WorkId } from '../../core/ids/index.ts'
import type { LedgerEntry, NewLedgerEntry } from '../../core/ledger/index.ts'
import type { Instant } from '../../core/time/index.ts'
import type { Attempt, Counters, NewWork, Note, WorkRow } from '../../core/work/index.ts'
import { EMPTY_NOTE } from '../../core/work/index.ts'
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
  const { state, now, tenant } = tx
  switch (write.w) {
    case 'event.append':
      appendEvent(tx, write)
      break
    case 'work.add':
      addWork(tx, write)
      break
    case 'work.settle':
      changeWork(tx, write.work, (row) => ({
        ...row,
        ...pickProgress(write),
        state: write.to,
        owner: null,
        processedAt: now,
      }))
      break
    case 'work.again':
      changeWork(tx, write.work, (row) => ({
        ...row,
        ...pickProgress(write),
        state: 'ready',
        owner: null,
        dueAt: now + write.delayMs,
        alone: false,
        processedAt: null,
      }))
      break
    case 'attempt.append':
      appendAttempt(tx, write.work, write.attempt)
      break
    case 'ledger.reserve':
      openEntry(tx, write.entry, { state: 'reserved', sendBy: now + write.sendWithinMs })
      break
    case 'ledger.done':
      openEntry(tx, write.entry, {
        state: 'done',
        proof: 'acknowledged',
        effectRef: write.effectRef,
        result: write.result,
        settledAt: now,
      })
      break
    case 'ledger.settle':
      changeEntry(tx, write.key, (entry) => ({
        ...entry,
        state: write.to,
        proof: write.proof,
        effectRef: write.effectRef,
        result: write.result,
        settledAt: now,
      }))
      break
    case 'ledger.observe':
      changeEntry(tx, write.key, (entry) => ({
        ...entry,
        evidence: Object.freeze([...entry.evidence, write.evidence]),
      }))
      break
    case 'deadLetter.put':
      putDeadLetter(tx, write)
      break
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
    matched: event.matched,
    receivedAt: now,
  })
  put(tx, state.events, event.id, row)
  const window = Object.freeze({ event: event.id, until: now + write.dedupForMs })
  put(tx, state.dedup, joinKey(tenant, event.source, event.dedupKey), window)
}

function addWork(tx: Transaction, write: Extract<Write, { w: 'work.add' }>): void {
  const { state, now } = tx
  const { work, lease } = write
  assert(!state.work.has(work.id), `work ${work.id} exists already`)
  const isLeased = lease !== null && isAlive(state, lease, now)
  if (isLeased) tx.leased.push(work.id)
  putWorkRow(tx, {
    ...makeWorkRow(tx, work),
    state: isLeased ? 'leased' : 'ready',
    owner: isLeased ? lease : null,
    epoch: isLeased ? 1 : 0,
    dueAt: now + write.delayMs,
  })
  put(tx, state.workOfEvent, work.eventId, [...(state.workOfEvent.get(work.eventId) ?? []), work.id])
}

function makeWorkRow(tx: Transaction, work: NewWork): WorkRow {
  return {
    id: work.id,
    tenant: tx.tenant,
    kind: work.kind,
    consumer: work.consumer,
    definition: work.definition,
    codeHash: work.codeHash,
    eventId: work.eventId,
    state: 'ready',
    dueAt: tx.now,
    owner: null,
    epoch: 0,
    alone: false,
    attempts: 0,
    waits: 0,
    losses: 0,
    ...EMPTY_NOTE,
    createdAt: tx.now,
    expiresAt: tx.now + work.expiresInMs,
    processedAt: null,
    replayOf: work.replayOf,
  }
}

function changeWork(tx: Transaction, id: WorkId, change: (row: WorkRow) => WorkRow): void {
  const row = findWork(tx.state, tx.tenant, id)
  if (row) putWorkRow(tx, change(row))
}

function pickProgress({ counters, note }: { counters: Counters; note: Note }): Counters & Note {
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

/** A new entry, or one that is taken up again: then generation, evidence and birth stay. */
function openEntry(
  tx: Transaction,
  entry: NewLedgerEntry,
  rest: Pick<LedgerEntry, 'state'> & Partial<LedgerEntry>,
): void {
  const key = joinKey(tx.tenant, entry.key)
  const before = tx.state.ledger.get(key)
  const row: LedgerEntry = {
    key: entry.key,
    tenant: tx.tenant,
    work: entry.work,
    epoch: entry.epoch,
    consumer: entry.consumer,
    eventId: entry.eventId,
    objectId: entry.objectId,
    payloadHash: entry.payloadHash,
    correlationId: entry.correlationId,
    generation: before?.generation ?? 1,
    proof: null,
    sendBy: null,
    effectRef: null,
    result: null,
    evidence: before?.evidence ?? Object.freeze([]),
    createdAt: before?.createdAt ?? tx.now,
    settledAt: null,
    ...rest,
  }
  put(tx, tx.state.ledger, key, Object.freeze(row))
}

function changeEntry(tx: Transaction, key: string, change: (entry: LedgerEntry) => LedgerEntry): void {
  const joined = joinKey(tx.tenant, key)
  const entry = tx.state.ledger.get(joined)
  if (entry) put(tx, tx.state.ledger, joined, Object.freeze(change(entry)))
}

function putDeadLetter(tx: Transaction, { row }: Extract<Write, { w: 'deadLetter.put' }>): void {
  const key = joinKey(tx.tenant, row.id)
  const before = tx.state.deadLetters.get(key)
  const letter = Object.freeze({
    id: row.id,
    tenant: tx.tenant,
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
    createdAt: before?.createdAt ?? tx.now,
    updatedAt: tx.now,
  })
  put(tx, tx.state.deadLetters, key, letter)
}
