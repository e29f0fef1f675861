// The second round trip of a group: how the rows that it changed are written.

import type { Buffer } from 'node:buffer'
import type { LedgerEntry } from '../../../core/effects/ledger/index.ts'
import { joinKey } from '../../../core/foundation/text/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'
import { type InstanceRow, markingText } from '../../../core/workflows/instance/index.ts'
import { prepare, type Statement } from '../connection.ts'
import { shapeRun } from '../runs.ts'
import {
  ATTEMPT,
  CORRELATION,
  DEAD_LETTER,
  DEDUP,
  ESCALATION,
  EVENT,
  EVENT_REPEAT,
  FACT,
  FAILURE,
  HISTORY,
  INSTANCE,
  LANE,
  LEDGER,
  LEDGER_PAST,
  type Made,
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
} from '../tables.ts'
import type { Changes, Loaded } from './changes.ts'
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
  OUTBOX_KEYS,
  pick,
  RECORD_CHANGES,
  RECORD_KEYS,
  ROW_KEYS,
} from './commit-sql.ts'
import { hashKey, laneKey } from './keys.ts'

/**
 * For the statements that change rows: what names a row, and what is written. Built once, because every group needs all
 * of them.
 */
const COLUMNS = {
  matches: pick(EVENT, [...ROW_KEYS, 'matched']),
  dedup: pick(DEDUP, ['hash', ...DEDUP_CHANGES]),
  lanes: pick(LANE, ['hash', ...LANE_CHANGES]),
  work: pick(WORK, [...ROW_KEYS, ...Object.keys(WORK_CHANGES)]),
  moves: pick(WORK, [...ROW_KEYS, ...Object.keys(WORK_MOVES)]),
  ledger: pick(LEDGER, ['hash', ...LEDGER_CHANGES]),
  letters: pick(DEAD_LETTER, [...ROW_KEYS, ...DEAD_LETTER_CHANGES]),
  failures: pick(FAILURE, [...ROW_KEYS, ...FAILURE_CHANGES]),
  escalations: pick(ESCALATION, [...ROW_KEYS, ...ESCALATION_CHANGES]),
  instances: pick(INSTANCE, [...ROW_KEYS, ...INSTANCE_CHANGES]),
  correlations: pick(CORRELATION, ['hash', ...CORRELATION_CHANGES]),
  correlationKeys: pick(CORRELATION, ['hash']),
  orphans: pick(ORPHAN, [...ROW_KEYS, ...ORPHAN_CHANGES]),
  records: pick(RECORD, [...RECORD_KEYS, ...RECORD_CHANGES]),
  recordKeys: pick(RECORD, RECORD_KEYS),
}

const ENTRY: Made<LedgerEntry> = {
  hash: ({ tenant, key }) => hashKey(joinKey(tenant, key)),
  evidence: ({ evidence }) => JSON.stringify(evidence),
}

const MARKED: Made<InstanceRow> = { marking: ({ marking }) => markingText(marking) }

/** The changed rows, table by table in one order, the group's id, COMMIT. */
export function storeStatements(
  sql: GroupSql,
  groupId: string,
  loaded: Loaded,
  changes: Changes,
): Statement[] {
  const statements = [prepare(sql.group, [groupId])]
  const add = <Row extends object>(
    text: string,
    columns: Table['columns'],
    rows: readonly Row[],
    made?: Made<Row>,
  ) => {
    if (rows.length > 0) statements.push(prepare(text, makeArrays(columns, rows, made)))
  }
  add(
    sql.insertEvents,
    EVENT.columns,
    sorted(changes.events, ({ tenant, id }) => joinKey(tenant, id)),
  )

  add(sql.repeatEvents, EVENT_REPEAT.columns, split(changes.repeats, NONE).inserts)
  add(sql.matchEvents, COLUMNS.matches, [...changes.matches.values()])

  const dedup = split(changes.dedup, loaded.dedup, (row, key) => ({ ...row, hash: hashKey(key) }))
  add(sql.insertDedup, DEDUP.columns, dedup.inserts)
  add(sql.updateDedup, COLUMNS.dedup, dedup.updates)

  const lanes = split(changes.lanes, loaded.lanes, (row, key) => ({ ...row, hash: hashKey(key) }))
  add(sql.insertLanes, LANE.columns, lanes.inserts)
  add(sql.updateLanes, COLUMNS.lanes, lanes.updates)

  add(sql.insertWork, NEW_WORK.columns, split(changes.newWork, NONE).inserts, { laneHash })
  add(sql.updateWork, COLUMNS.work, [...changes.work.values()])
  add(sql.moveWork, COLUMNS.moves, [...changes.moves.values()])

  add(sql.insertAttempts, ATTEMPT.columns, changes.attempts)

  add(sql.insertPastLedger, LEDGER_PAST.columns, split(changes.pastLedger, NONE).inserts, ENTRY)
  const ledger = split(changes.ledger, loaded.ledger)
  add(sql.insertLedger, LEDGER.columns, ledger.inserts, ENTRY)
  add(sql.updateLedger, COLUMNS.ledger, ledger.updates, ENTRY)

  const letters = split(changes.deadLetters, loaded.deadLetters)
  add(sql.insertDeadLetters, DEAD_LETTER.columns, letters.inserts)
  add(sql.updateDeadLetters, COLUMNS.letters, letters.updates)

  const failures = split(changes.failures, loaded.failures)
  add(sql.insertFailures, FAILURE.columns, failures.inserts)
  add(sql.updateFailures, COLUMNS.failures, failures.updates)

  const escalations = split(changes.escalations, loaded.escalations)
  add(sql.insertEscalations, ESCALATION.columns, escalations.inserts)
  add(sql.updateEscalations, COLUMNS.escalations, escalations.updates)

  const instances = split(changes.instances, loaded.instances)
  add(sql.insertInstances, INSTANCE.columns, instances.inserts, MARKED)
  add(sql.updateInstances, COLUMNS.instances, instances.updates, MARKED)
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
  add(sql.updateCorrelations, COLUMNS.correlations, keys.updates.filter(isKept))
  add(sql.deleteCorrelations, COLUMNS.correlationKeys, keys.updates.filter(isGone))

  const orphans = split(changes.orphans, loaded.orphans)
  add(sql.insertOrphans, ORPHAN.columns, orphans.inserts)
  add(sql.updateOrphans, COLUMNS.orphans, orphans.updates)

  add(sql.putRuns, RUN.columns, split(changes.runs, NONE, shapeRun).inserts)

  const records = split(changes.records, loaded.records)
  add(sql.insertRecords, RECORD.columns, records.inserts)
  add(sql.updateRecords, COLUMNS.records, records.updates.filter(isKept))
  add(sql.deleteRecords, COLUMNS.recordKeys, records.updates.filter(isGone))

  add(
    sql.insertFacts,
    FACT.columns,
    sorted(changes.facts, ({ tenant, id }) => joinKey(tenant, id)),
  )

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

interface Split<Row> {
  readonly inserts: readonly Row[]
  readonly updates: readonly Row[]
}

/** New and existing rows, sorted by key, so that every node inserts in the same order. */
function split<Row extends object>(
  changes: ReadonlyMap<string, Row>,
  loaded: ReadonlyMap<string, unknown>,
): Split<Row>
function split<Row extends object, Shaped extends object>(
  changes: ReadonlyMap<string, Row>,
  loaded: ReadonlyMap<string, unknown>,
  shape: (row: Row, key: string) => Shaped,
): Split<Shaped>
function split(
  changes: ReadonlyMap<string, object>,
  loaded: ReadonlyMap<string, unknown>,
  shape: (row: object, key: string) => object = (row) => row,
): Split<object> {
  const inserts: object[] = []
  const updates: object[] = []
  for (const key of [...changes.keys()].sort()) {
    const rows = loaded.has(key) ? updates : inserts
    rows.push(shape(changes.get(key) as object, key))
  }
  return { inserts, updates }
}
