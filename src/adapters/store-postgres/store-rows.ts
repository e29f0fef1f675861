// The second round trip of a group: how the rows that it changed go out.

import type { Buffer } from 'node:buffer'
import { markingText } from '../../core/instance/index.ts'
import type { LedgerEntry } from '../../core/ledger/index.ts'
import { joinKey } from '../../core/text/index.ts'
import type { WorkRow } from '../../core/work/index.ts'
import type { Changes, Loaded } from './changes.ts'
import { prepare, type Statement } from './connection.ts'
import {
  CORRELATION_CHANGES,
  DEAD_LETTER_CHANGES,
  DEDUP_CHANGES,
  ESCALATION_CHANGES,
  FAILURE_CHANGES,
  type GroupSql,
  INSTANCE_CHANGES,
  LANE_CHANGES,
  LEDGER_CHANGES,
  ORPHAN_CHANGES,
  pick,
  RECORD_CHANGES,
  RECORD_KEYS,
  ROW_KEYS,
} from './group-sql.ts'
import { hashKey, laneKey } from './keys.ts'
import { OUTBOX_KEYS } from './outbox.ts'
import { shapeRun } from './runs.ts'
import {
  ATTEMPT,
  CORRELATION,
  DEAD_LETTER,
  DEDUP,
  ESCALATION,
  EVENT,
  EVENT_REPEAT,
  FAILURE,
  HISTORY,
  INSTANCE,
  LANE,
  LEDGER,
  LEDGER_PAST,
  makeArrays,
  NEW_WORK,
  ORPHAN,
  OUTBOX,
  RECORD,
  RUN,
  type Table,
  WORK,
  WORK_CHANGES,
  WORK_MOVES,
} from './tables.ts'

/** The changed rows, table by table in one order, the group's id, COMMIT. */
export function storeStatements(
  sql: GroupSql,
  groupId: string,
  loaded: Loaded,
  changes: Changes,
): Statement[] {
  const statements = [prepare(sql.group, [groupId])]
  const add = (text: string, columns: Table['columns'], rows: readonly object[]) => {
    if (rows.length > 0) statements.push(prepare(text, makeArrays(columns, rows)))
  }
  add(
    sql.insertEvents,
    EVENT.columns,
    sorted(changes.events, ({ tenant, id }) => joinKey(tenant, id)),
  )

  add(sql.repeatEvents, EVENT_REPEAT.columns, split(changes.repeats, NONE).inserts)
  add(sql.matchEvents, pick(EVENT, [...ROW_KEYS, 'matched']), [...changes.matches.values()])

  const dedup = split(changes.dedup, loaded.dedup, (row, key) => ({ ...row, hash: hashKey(key) }))
  add(sql.insertDedup, DEDUP.columns, dedup.inserts)
  add(sql.updateDedup, pick(DEDUP, ['hash', ...DEDUP_CHANGES]), dedup.updates)

  const lanes = split(changes.lanes, loaded.lanes, (row, key) => ({ ...row, hash: hashKey(key) }))
  add(sql.insertLanes, LANE.columns, lanes.inserts)
  add(sql.updateLanes, pick(LANE, ['hash', ...LANE_CHANGES]), lanes.updates)

  const newWork = split(changes.newWork, NONE, (row) => ({ ...row, laneHash: laneHash(row) }))
  add(sql.insertWork, NEW_WORK.columns, newWork.inserts)
  add(sql.updateWork, pick(WORK, [...ROW_KEYS, ...Object.keys(WORK_CHANGES)]), [...changes.work.values()])
  add(sql.moveWork, pick(WORK, [...ROW_KEYS, ...Object.keys(WORK_MOVES)]), [...changes.moves.values()])

  add(sql.insertAttempts, ATTEMPT.columns, changes.attempts)

  const shapeEntry = (row: LedgerEntry) => ({
    ...row,
    hash: hashKey(joinKey(row.tenant, row.key)),
    evidence: JSON.stringify(row.evidence),
  })
  add(sql.insertPastLedger, LEDGER_PAST.columns, split(changes.pastLedger, NONE, shapeEntry).inserts)
  const ledger = split(changes.ledger, loaded.ledger, shapeEntry)
  add(sql.insertLedger, LEDGER.columns, ledger.inserts)
  add(sql.updateLedger, pick(LEDGER, ['hash', ...LEDGER_CHANGES]), ledger.updates)

  const letters = split(changes.deadLetters, loaded.deadLetters)
  add(sql.insertDeadLetters, DEAD_LETTER.columns, letters.inserts)
  add(sql.updateDeadLetters, pick(DEAD_LETTER, [...ROW_KEYS, ...DEAD_LETTER_CHANGES]), letters.updates)

  const failures = split(changes.failures, loaded.failures)
  add(sql.insertFailures, FAILURE.columns, failures.inserts)
  add(sql.updateFailures, pick(FAILURE, [...ROW_KEYS, ...FAILURE_CHANGES]), failures.updates)

  const escalations = split(changes.escalations, loaded.escalations)
  add(sql.insertEscalations, ESCALATION.columns, escalations.inserts)
  add(sql.updateEscalations, pick(ESCALATION, [...ROW_KEYS, ...ESCALATION_CHANGES]), escalations.updates)

  const instances = split(changes.instances, loaded.instances, (row) => ({
    ...row,
    marking: markingText(row.marking),
  }))
  add(sql.insertInstances, INSTANCE.columns, instances.inserts)
  add(sql.updateInstances, pick(INSTANCE, [...ROW_KEYS, ...INSTANCE_CHANGES]), instances.updates)
  add(
    sql.insertHistory,
    HISTORY.columns,
    sorted(changes.history, ({ tenant, instance }) => joinKey(tenant, instance)),
  )

  const keys = split(changes.correlations, loaded.correlations, (row, key) => ({
    ...row,
    hash: hashKey(key),
  }))
  add(sql.insertCorrelations, CORRELATION.columns, keys.inserts)
  add(
    sql.updateCorrelations,
    pick(CORRELATION, ['hash', ...CORRELATION_CHANGES]),
    keys.updates.filter(isKept),
  )
  add(sql.deleteCorrelations, pick(CORRELATION, ['hash']), keys.updates.filter(isGone))

  const orphans = split(changes.orphans, loaded.orphans)
  add(sql.insertOrphans, ORPHAN.columns, orphans.inserts)
  add(sql.updateOrphans, pick(ORPHAN, [...ROW_KEYS, ...ORPHAN_CHANGES]), orphans.updates)

  add(sql.putRuns, RUN.columns, split(changes.runs, NONE, shapeRun).inserts)

  const records = split(changes.records, loaded.records)
  add(sql.insertRecords, RECORD.columns, records.inserts)
  add(sql.updateRecords, pick(RECORD, [...RECORD_KEYS, ...RECORD_CHANGES]), records.updates.filter(isKept))
  add(sql.deleteRecords, pick(RECORD, RECORD_KEYS), records.updates.filter(isGone))

  add(sql.insertOutbox, OUTBOX.columns, changes.outbox)
  add(
    sql.deleteOutbox,
    OUTBOX_KEYS,
    [...changes.told].sort((a, b) => a.position - b.position),
  )

  statements.push(prepare('COMMIT'))
  return statements
}

const isGone = (row: object) => (row as { body: string | null }).body === null
const isKept = (row: object) => !isGone(row)

function laneHash({ tenant, consumer, lane }: WorkRow): Buffer | null {
  return lane === null ? null : hashKey(laneKey(tenant, consumer, lane))
}

const NONE: ReadonlyMap<string, unknown> = new Map()

function sorted<Row>(rows: readonly Row[], keyOf: (row: Row) => string): readonly Row[] {
  const keyed = rows.map((row) => [keyOf(row), row] as const)
  return keyed.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

/** Rows that are new and rows that were there, sorted by key, so that every node inserts in the same order. */
function split<Row extends object>(
  changes: ReadonlyMap<string, Row>,
  loaded: ReadonlyMap<string, unknown>,
  shape: (row: Row, key: string) => object = (row) => row,
): { readonly inserts: readonly object[]; readonly updates: readonly object[] } {
  const inserts: object[] = []
  const updates: object[] = []
  for (const [key, row] of sorted([...changes], ([key]) => key)) {
    const rows = loaded.has(key) ? updates : inserts
    rows.push(shape(row, key))
  }
  return { inserts, updates }
}
