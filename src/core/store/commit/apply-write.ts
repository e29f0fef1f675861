// What each write of a commit does, for the stores that hold rows as values: memory and PostgreSQL. SQLite does the same in SQL.
//
// This file decides which rows a write reads and changes; row-writes.ts makes the row, lane-rows.ts moves jobs in their lanes, and the store says
// how rows are found and put. The functions of `WriteTables` get the commit as an argument: a store makes one such object for good, so that
// a commit allocates nothing for it.

import type { Run } from '../../effects/integration-run/index.ts'
import type { LedgerEntry } from '../../effects/ledger/index.ts'
import type { Fact } from '../../events/canonical/index.ts'
import type { NewEvent } from '../../events/event/index.ts'
import type { DeadLetter } from '../../failures/dead-letter/index.ts'
import type { Escalation, NewEscalation } from '../../failures/escalation/index.ts'
import type { Failure } from '../../failures/failure/index.ts'
import { assert, unreachable } from '../../foundation/errors/index.ts'
import type { EventId, Incarnation, TenantId, WorkId } from '../../foundation/ids/index.ts'
import { joinKey } from '../../foundation/text/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { Attempt, WorkRow } from '../../queue/work/index.ts'
import type { HistoryRow, InstanceRow } from '../../workflows/instance/index.ts'
import type { Orphan } from '../../workflows/orphan/index.ts'
import type { NewOutboxRow } from '../outbox/index.ts'
import { againItem, comeIn, type LaneItem, type LaneRows, leaveItem, settleItem } from './lane-rows.ts'
import {
  appendHistory,
  changeEntry,
  changeEscalation,
  type LedgerWrite,
  ledgerKeyOf,
  type Moment,
  newWorkRow,
  putDeadLetterRow,
  putFailure,
  putInstance,
  putOrphan,
  putRun,
  raiseEscalation,
} from './row-writes.ts'
import type { RecordKind, Write } from './write.ts'

/** One commit under way. */
export interface Writing<Item extends LaneItem> {
  readonly moment: Moment
  readonly lanes: LaneRows<Item>
  /** The jobs that it inserted with a lease. */
  readonly leased: WorkId[]
}

export interface CorrelationRow {
  readonly tenant: TenantId
  readonly key: string
  readonly version: number
  readonly body: string
}

export interface RecordRow {
  readonly tenant: TenantId
  readonly kind: RecordKind
  readonly key: string
  readonly version: number
  readonly body: string
}

/**
 * The tenant's rows, including the changes of the commit under way. `find` returns as much of a row as the next one is made of.
 * An added row must be new, and a store rejects the commit if it is not; a changed or deleted row may be absent, and then
 * nothing happens.
 *
 * `key` is the `joinKey` of the tenant and of what identifies the row: an id, a key, `source` and dedup key, or kind and key.
 */
export interface WriteTables<Tx> {
  hasEvent(tx: Tx, id: EventId): boolean
  addEvent(tx: Tx, event: NewEvent): void
  repeatEvent(tx: Tx, id: EventId, count: number): void
  matchEvent(tx: Tx, id: EventId, matched: number): void
  putDedup(tx: Tx, key: string, row: { readonly event: EventId; readonly until: Instant }): void
  isAlive(tx: Tx, owner: Incarnation): boolean
  addWork(tx: Tx, row: WorkRow): void
  addAttempt(tx: Tx, work: WorkId, attempt: Attempt): void
  findEntry(tx: Tx, key: string): LedgerEntry | undefined
  putEntry(tx: Tx, key: string, entry: LedgerEntry): void
  /** An entry that a later generation follows. */
  addPastEntry(tx: Tx, key: string, entry: LedgerEntry): void
  findDeadLetter(tx: Tx, key: string): Pick<DeadLetter, 'createdAt'> | undefined
  putDeadLetter(tx: Tx, key: string, row: DeadLetter): void
  findFailure(tx: Tx, key: string): Pick<Failure, 'createdAt'> | undefined
  putFailure(tx: Tx, key: string, row: Failure): void
  findEscalation(tx: Tx, key: string): Escalation | undefined
  findRaised(tx: Tx, cause: string): Escalation | undefined
  putEscalation(tx: Tx, key: string, row: Escalation): void
  findInstance(tx: Tx, key: string): Pick<InstanceRow, 'createdAt' | 'endedAt'> | undefined
  putInstance(tx: Tx, key: string, row: InstanceRow): void
  addHistory(tx: Tx, row: HistoryRow): void
  putCorrelation(tx: Tx, key: string, row: CorrelationRow): void
  deleteCorrelation(tx: Tx, key: string, name: string): void
  findOrphan(tx: Tx, key: string): Pick<Orphan, 'createdAt'> | undefined
  putOrphan(tx: Tx, key: string, row: Orphan): void
  findRun(tx: Tx, key: string): Pick<Run, 'connection' | 'purpose' | 'workId' | 'createdAt'> | undefined
  putRun(tx: Tx, key: string, row: Run): void
  putRecord(tx: Tx, key: string, row: RecordRow): void
  deleteRecord(tx: Tx, key: string, kind: RecordKind, name: string): void
  addFact(tx: Tx, key: string, row: Fact): void
  addOutboxRow(tx: Tx, row: NewOutboxRow): void
  deleteOutboxRow(tx: Tx, position: number): void
}

export function applyWrite<Item extends LaneItem, Tx>(
  tables: WriteTables<Tx>,
  tx: Tx & Writing<Item>,
  write: Write,
): void {
  const { moment, lanes } = tx
  const { tenant } = moment
  switch (write.w) {
    case 'event.append': {
      const { event } = write
      tables.addEvent(tx, event)
      const until = moment.after(write.dedupForMs)
      tables.putDedup(tx, joinKey(tenant, event.source, event.dedupKey), { event: event.id, until })
      break
    }
    case 'event.repeat':
      tables.repeatEvent(tx, write.event, write.count)
      break
    case 'event.match':
      tables.matchEvent(tx, write.event, write.matched)
      break
    case 'work.add':
      addWork(tables, tx, write)
      break
    case 'work.settle':
      settleItem(lanes, moment, write)
      break
    case 'work.again':
      againItem(lanes, moment, write)
      break
    case 'lane.leave':
      leaveItem(lanes, moment, write.work)
      break
    case 'attempt.append':
      if (lanes.findItem(write.work) !== undefined) tables.addAttempt(tx, write.work, write.attempt)
      break
    case 'ledger.reserve':
    case 'ledger.done':
    case 'ledger.settle':
    case 'ledger.observe':
      changeLedger(tables, tx, write)
      break
    case 'deadLetter.put': {
      const key = joinKey(tenant, write.row.id)
      tables.putDeadLetter(tx, key, putDeadLetterRow(moment, tables.findDeadLetter(tx, key), write.row))
      break
    }
    case 'failure.put': {
      const key = joinKey(tenant, write.row.id)
      tables.putFailure(tx, key, putFailure(moment, tables.findFailure(tx, key), write.row))
      break
    }
    case 'escalation.raise':
      raise(tables, tx, write.row)
      break
    case 'escalation.change': {
      const key = joinKey(tenant, write.id)
      const row = tables.findEscalation(tx, key)
      if (row !== undefined) tables.putEscalation(tx, key, changeEscalation(moment, row, write))
      break
    }
    case 'instance.put': {
      const key = joinKey(tenant, write.row.id)
      tables.putInstance(tx, key, putInstance(moment, tables.findInstance(tx, key), write.row))
      break
    }
    case 'history.append':
      for (const row of write.rows) tables.addHistory(tx, appendHistory(moment, row))
      break
    case 'correlation.put': {
      const { key, version, body } = write
      tables.putCorrelation(tx, joinKey(tenant, key), { tenant, key, version, body })
      break
    }
    case 'correlation.delete':
      tables.deleteCorrelation(tx, joinKey(tenant, write.key), write.key)
      break
    case 'orphan.put': {
      const key = joinKey(tenant, write.row.id)
      tables.putOrphan(tx, key, putOrphan(moment, tables.findOrphan(tx, key), write.row))
      break
    }
    case 'run.put': {
      const key = joinKey(tenant, write.row.id)
      tables.putRun(tx, key, putRun(moment, tables.findRun(tx, key), write.row))
      break
    }
    case 'record.put': {
      const { kind, key, version, body } = write
      tables.putRecord(tx, joinKey(tenant, kind, key), { tenant, kind, key, version, body })
      break
    }
    case 'record.delete': {
      const { kind, key } = write
      tables.deleteRecord(tx, joinKey(tenant, kind, key), kind, key)
      break
    }
    case 'fact.add': {
      const { id, body } = write.fact
      tables.addFact(tx, joinKey(tenant, id), { id, tenant, createdAt: moment.now, body })
      break
    }
    case 'outbox.add':
      for (const row of write.rows) tables.addOutboxRow(tx, row)
      break
    case 'outbox.delete':
      for (const position of write.positions) tables.deleteOutboxRow(tx, position)
      break
    default:
      unreachable(write)
  }
}

function addWork<Item extends LaneItem, Tx>(
  tables: WriteTables<Tx>,
  tx: Tx & Writing<Item>,
  write: Extract<Write, { w: 'work.add' }>,
): void {
  const { moment, lanes, leased } = tx
  const { work, lease } = write
  if (!tables.hasEvent(tx, work.eventId)) return
  const { place, finish } = comeIn(lanes, moment, work, write.inPlaceOf)
  const isLeased = place !== 'waits' && lease !== null && tables.isAlive(tx, lease)
  if (isLeased) leased.push(work.id)
  tables.addWork(tx, newWorkRow(moment, work, write.delayMs, isLeased ? lease : null, place))
  finish()
}

function raise<Item extends LaneItem, Tx>(
  tables: WriteTables<Tx>,
  tx: Tx & Writing<Item>,
  row: NewEscalation,
): void {
  const before = tables.findRaised(tx, row.cause)
  const key = joinKey(tx.moment.tenant, before?.id ?? row.id)
  const isNew = before !== undefined || tables.findEscalation(tx, key) === undefined
  assert(isNew, `escalation ${row.id} exists already`)
  tables.putEscalation(tx, key, raiseEscalation(tx.moment, before, row))
}

function changeLedger<Item extends LaneItem, Tx>(
  tables: WriteTables<Tx>,
  tx: Tx & Writing<Item>,
  write: LedgerWrite,
): void {
  const key = joinKey(tx.moment.tenant, ledgerKeyOf(write))
  const change = changeEntry(tx.moment, tables.findEntry(tx, key), write)
  if (change === null) return
  if (change.past !== null) tables.addPastEntry(tx, key, change.past)
  tables.putEntry(tx, key, change.entry)
}
