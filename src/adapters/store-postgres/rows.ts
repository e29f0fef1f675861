// The statements of one group: which rows it reads, how they come in, and how the changed ones go out.

import type { Buffer } from 'node:buffer'
import type { QueryResult } from 'pg'
import type { Incarnation } from '../../core/ids/index.ts'
import type { LedgerEntry } from '../../core/ledger/index.ts'
import { joinKey } from '../../core/text/index.ts'
import type { WorkRow } from '../../core/work/index.ts'
import type { Changes, Loaded } from './changes.ts'
import { prepare, type Statement } from './connection.ts'
import { Overtaken } from './errors.ts'
import { hashKey, laneKey, type RowKeys } from './keys.ts'
import { type ColumnType, makeArray } from './parameters.ts'
import {
  ATTEMPT,
  DEAD_LETTER,
  DEDUP,
  deleteSql,
  ESCALATION,
  EVENT,
  EVENT_REPEAT,
  FAILURE,
  insertSql,
  LANE,
  LEDGER,
  LEDGER_PAST,
  lockEscalationsSql,
  lockLanesSql,
  lockSql,
  lockWorkInLanesSql,
  makeArrays,
  NEW_WORK,
  RECORD,
  repeatSql,
  type Table,
  updateSql,
  WORK,
  WORK_CHANGES,
  WORK_MOVES,
} from './tables.ts'

const ROW_KEYS = ['tenant', 'id']
const DEDUP_CHANGES = ['event', 'until']
const allBut = (table: Table, names: readonly string[]) =>
  Object.keys(table.columns).filter((name) => !names.includes(name))
const LANE_CHANGES = allBut(LANE, ['hash', 'tenant', 'consumer', 'key'])
const LEDGER_CHANGES = allBut(LEDGER, ['hash', 'tenant', 'key'])
const DEAD_LETTER_CHANGES = allBut(DEAD_LETTER, ['tenant', 'id', 'createdAt'])
const FAILURE_CHANGES = allBut(FAILURE, ['tenant', 'id', 'createdAt'])
const ESCALATION_CHANGES = allBut(ESCALATION, ['tenant', 'id', 'cause', 'createdAt'])
const RECORD_KEYS = ['tenant', 'kind', 'key']
const RECORD_CHANGES = ['version', 'body']
const WORK_HEAD = [
  ...[
    'tenant',
    'id',
    'consumer',
    'lane',
    'state',
    'owner',
    'epoch',
    'dueAt',
    'alone',
    'createdAt',
    'expiresAt',
  ],
  ...['processedAt', 'hasPlace', 'isFrozen', 'into'],
]

export type GroupSql = ReturnType<typeof makeGroupSql>

export function makeGroupSql(schema: string) {
  const lock = (table: Table, keys: readonly string[], properties: readonly string[]) =>
    lockSql(schema, table, keys, properties)
  return {
    now: `SELECT ${schema}.now_ms() AS now`,
    group: `INSERT INTO ${schema}.commit_group (id, applied) VALUES ($1::uuid, true)`,
    shareOwners: `SELECT ${schema}.share_incarnations($1::int8[])`,
    owners: `SELECT id, until, fenced FROM ${schema}.incarnation WHERE id = ANY ($1::int8[])`,
    lockLanes: lockLanesSql(schema),
    lockWork: lock(WORK, ROW_KEYS, WORK_HEAD),
    lockWorkInLanes: lockWorkInLanesSql(schema, WORK_HEAD),
    lockEvents: lock(EVENT, ROW_KEYS, ROW_KEYS),
    lockDedup: lock(DEDUP, ['hash'], Object.keys(DEDUP.columns)),
    lockLedger: lock(LEDGER, ['hash'], Object.keys(LEDGER.columns)),
    lockDeadLetters: lock(DEAD_LETTER, ROW_KEYS, ['tenant', 'id', 'version', 'createdAt']),
    lockFailures: lock(FAILURE, ROW_KEYS, ['tenant', 'id', 'createdAt']),
    lockEscalations: lockEscalationsSql(schema),
    lockRecords: lock(RECORD, RECORD_KEYS, ['tenant', 'kind', 'key', 'version']),
    insertEvents: insertSql(schema, EVENT),
    repeatEvents: repeatSql(schema),
    matchEvents: updateSql(schema, EVENT, ROW_KEYS, ['matched']),
    insertDedup: insertSql(schema, DEDUP),
    updateDedup: updateSql(schema, DEDUP, ['hash'], DEDUP_CHANGES),
    insertLanes: insertSql(schema, LANE),
    updateLanes: updateSql(schema, LANE, ['hash'], LANE_CHANGES),
    insertWork: insertSql(schema, NEW_WORK),
    updateWork: updateSql(schema, WORK, ROW_KEYS, Object.keys(WORK_CHANGES)),
    moveWork: updateSql(schema, WORK, ROW_KEYS, Object.keys(WORK_MOVES)),
    insertAttempts: insertSql(schema, ATTEMPT),
    insertLedger: insertSql(schema, LEDGER),
    updateLedger: updateSql(schema, LEDGER, ['hash'], LEDGER_CHANGES),
    insertPastLedger: insertSql(schema, LEDGER_PAST),
    insertDeadLetters: insertSql(schema, DEAD_LETTER),
    updateDeadLetters: updateSql(schema, DEAD_LETTER, ROW_KEYS, DEAD_LETTER_CHANGES),
    insertFailures: insertSql(schema, FAILURE),
    updateFailures: updateSql(schema, FAILURE, ROW_KEYS, FAILURE_CHANGES),
    insertEscalations: insertSql(schema, ESCALATION),
    updateEscalations: updateSql(schema, ESCALATION, ROW_KEYS, ESCALATION_CHANGES),
    insertRecords: insertSql(schema, RECORD),
    updateRecords: updateSql(schema, RECORD, RECORD_KEYS, RECORD_CHANGES),
    deleteRecords: deleteSql(schema, RECORD, RECORD_KEYS),
  }
}

/** BEGIN, the locks that there is a need for, and the clock last: waiting for a lock takes time. */
export function loadStatements(sql: GroupSql, keys: RowKeys): Statement[] {
  const statements = [prepare('BEGIN')]
  if (keys.owners.size > 0) {
    const owners = makeArray('int8', [...keys.owners])
    statements.push(prepare(sql.shareOwners, [owners]), prepare(sql.owners, [owners]))
  }
  const named = makeArrays(pick(WORK, ROW_KEYS), [...keys.work.values()])
  if (hasLanes(keys)) {
    const movers = makeArrays(pick(WORK, ROW_KEYS), [...keys.movers.values()])
    const steps = makeArray('uuid', keys.laneSteps.map(hashKey))
    statements.push(
      prepare(sql.lockLanes, [...movers, steps]),
      prepare(sql.lockWorkInLanes, [...named, ...movers, steps]),
    )
  } else if (keys.work.size > 0) statements.push(prepare(sql.lockWork, named))
  if (keys.events.size > 0) {
    statements.push(prepare(sql.lockEvents, makeArrays(pick(EVENT, ROW_KEYS), [...keys.events.values()])))
  }
  if (keys.dedup.size > 0) {
    statements.push(prepare(sql.lockDedup, [makeArray('uuid', [...keys.dedup].map(hashKey))]))
  }
  if (keys.ledger.size > 0) {
    statements.push(prepare(sql.lockLedger, [makeArray('uuid', [...keys.ledger].map(hashKey))]))
  }
  if (keys.deadLetters.size > 0) {
    const rows = [...keys.deadLetters.values()]
    statements.push(prepare(sql.lockDeadLetters, makeArrays(pick(DEAD_LETTER, ROW_KEYS), rows)))
  }
  if (keys.failures.size > 0) {
    const rows = [...keys.failures.values()]
    statements.push(prepare(sql.lockFailures, makeArrays(pick(FAILURE, ROW_KEYS), rows)))
  }
  if (keys.escalations.size + keys.causes.size > 0) {
    const ids = makeArrays(pick(ESCALATION, ROW_KEYS), [...keys.escalations.values()])
    const causes = makeArrays(pick(ESCALATION, ['tenant', 'cause']), [...keys.causes.values()])
    statements.push(prepare(sql.lockEscalations, [...ids, ...causes]))
  }
  if (keys.records.size > 0) {
    statements.push(
      prepare(sql.lockRecords, makeArrays(pick(RECORD, RECORD_KEYS), [...keys.records.values()])),
    )
  }
  statements.push(prepare(sql.now))
  return statements
}

/** Whether something comes into a lane or leaves it, as far as the group can tell before it has seen its rows. */
function hasLanes({ movers, laneSteps }: RowKeys): boolean {
  return movers.size + laneSteps.length > 0
}

/** Reads the answers in the order of `loadStatements`. */
export function readLoaded(keys: RowKeys, answers: readonly QueryResult[]): Loaded {
  let next = 1
  const rowsOf = (size: number) => (size > 0 ? (answers[next++]?.rows ?? []) : [])
  if (keys.owners.size > 0) next += 1
  const owners = rowsOf(keys.owners.size)
  const lanes = rowsOf(hasLanes(keys) ? 1 : 0)
  const work = rowsOf(hasLanes(keys) ? 1 : keys.work.size)
  const events = rowsOf(keys.events.size)
  const dedup = rowsOf(keys.dedup.size)
  const ledger = rowsOf(keys.ledger.size)
  const deadLetters = rowsOf(keys.deadLetters.size)
  const failures = rowsOf(keys.failures.size)
  const escalations = rowsOf(keys.escalations.size + keys.causes.size)
  const records = rowsOf(keys.records.size)
  const lanesByKey = new Map(lanes.map((row) => [laneKey(row.tenant, row.consumer, row.key), row]))
  const workByKey = new Map(work.map((row) => [joinKey(row.tenant, row.id), row]))
  for (const key of keys.movers.keys()) {
    const row = workByKey.get(key)
    const isIn = row !== undefined && (row.hasPlace || row.state === 'waiting')
    if (isIn && !lanesByKey.has(laneKey(row.tenant, row.consumer, row.lane))) {
      throw new Overtaken('an item came into its lane after the lanes were locked')
    }
  }
  const dedupKeys = new Map([...keys.dedup].map((key) => [hashKey(key).toString('hex'), key]))
  return {
    now: answers[next]?.rows[0].now,
    owners: new Map(owners.map((row) => [row.id as Incarnation, row])),
    work: workByKey,
    lanes: lanesByKey,
    events: new Set(events.map((row) => joinKey(row.tenant, row.id))),
    dedup: new Map(dedup.map((row) => [dedupKeys.get(row.hash.replaceAll('-', '')) ?? '', row])),
    ledger: new Map(ledger.map((row) => [joinKey(row.tenant, row.key), readLedgerEntry(row)])),
    deadLetters: new Map(deadLetters.map((row) => [joinKey(row.tenant, row.id), row])),
    failures: new Map(failures.map((row) => [joinKey(row.tenant, row.id), row])),
    escalations: new Map(escalations.map((row) => [joinKey(row.tenant, row.id), row])),
    records: new Map(records.map((row) => [joinKey(row.tenant, row.kind, row.key), row])),
  }
}

export function readLedgerEntry({ hash: _, evidence, ...entry }: Record<string, unknown>): LedgerEntry {
  return { ...entry, evidence: JSON.parse(evidence as string) } as unknown as LedgerEntry
}

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

  const records = split(changes.records, loaded.records)
  const isGone = (row: object) => (row as { body: string | null }).body === null
  add(sql.insertRecords, RECORD.columns, records.inserts)
  add(
    sql.updateRecords,
    pick(RECORD, [...RECORD_KEYS, ...RECORD_CHANGES]),
    records.updates.filter((row) => !isGone(row)),
  )
  add(sql.deleteRecords, pick(RECORD, RECORD_KEYS), records.updates.filter(isGone))

  statements.push(prepare('COMMIT'))
  return statements
}

function laneHash({ tenant, consumer, lane }: WorkRow): Buffer | null {
  return lane === null ? null : hashKey(laneKey(tenant, consumer, lane))
}

const NONE: ReadonlyMap<string, unknown> = new Map()

function pick(table: Table, properties: readonly string[]): Table['columns'] {
  return Object.fromEntries(properties.map((name) => [name, table.columns[name] as ColumnType]))
}

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
