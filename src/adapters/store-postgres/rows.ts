// The statements of one group: which rows it reads, how they come in, and how the changed ones go out.

import type { QueryResult } from 'pg'
import type { Incarnation } from '../../core/ids/index.ts'
import type { LedgerEntry } from '../../core/ledger/index.ts'
import { prepare, type Statement } from './connection.ts'
import type { Changes, Loaded } from './decide.ts'
import { hashKey, joinKey, type RowKeys } from './keys.ts'
import { type ColumnType, makeArray } from './parameters.ts'
import {
  ATTEMPT,
  DEAD_LETTER,
  DEDUP,
  deleteSql,
  EVENT,
  EVENT_REPEAT,
  insertSql,
  LEDGER,
  lockSql,
  makeArrays,
  RECORD,
  repeatSql,
  type Table,
  updateSql,
  WORK,
  WORK_CHANGES,
} from './tables.ts'

const ROW_KEYS = ['tenant', 'id']
const DEDUP_CHANGES = ['event', 'until']
const LEDGER_CHANGES = Object.keys(LEDGER.columns).filter((name) => !['hash', 'tenant', 'key'].includes(name))
const DEAD_LETTER_CHANGES = Object.keys(DEAD_LETTER.columns).filter(
  (name) => !['tenant', 'id', 'createdAt'].includes(name),
)
const RECORD_KEYS = ['tenant', 'kind', 'key']
const RECORD_CHANGES = ['version', 'body']
const WORK_HEAD = ['tenant', 'id', 'state', 'owner', 'epoch', 'dueAt', 'alone', 'processedAt']

export type GroupSql = ReturnType<typeof makeGroupSql>

export function makeGroupSql(schema: string) {
  const lock = (table: Table, keys: readonly string[], properties: readonly string[]) =>
    lockSql(schema, table, keys, properties)
  return {
    now: `SELECT ${schema}.now_ms() AS now`,
    group: `INSERT INTO ${schema}.commit_group (id, applied) VALUES ($1::uuid, true)`,
    shareOwners: `SELECT ${schema}.share_incarnations($1::int8[])`,
    owners: `SELECT id, until, fenced FROM ${schema}.incarnation WHERE id = ANY ($1::int8[])`,
    lockWork: lock(WORK, ROW_KEYS, WORK_HEAD),
    lockEvents: lock(EVENT, ROW_KEYS, ROW_KEYS),
    lockDedup: lock(DEDUP, ['hash'], Object.keys(DEDUP.columns)),
    lockLedger: lock(LEDGER, ['hash'], Object.keys(LEDGER.columns)),
    lockDeadLetters: lock(DEAD_LETTER, ROW_KEYS, ['tenant', 'id', 'version', 'createdAt']),
    lockRecords: lock(RECORD, RECORD_KEYS, ['tenant', 'kind', 'key', 'version']),
    insertEvents: insertSql(schema, EVENT),
    repeatEvents: repeatSql(schema),
    matchEvents: updateSql(schema, EVENT, ROW_KEYS, ['matched']),
    insertDedup: insertSql(schema, DEDUP),
    updateDedup: updateSql(schema, DEDUP, ['hash'], DEDUP_CHANGES),
    insertWork: insertSql(schema, WORK),
    updateWork: updateSql(schema, WORK, ROW_KEYS, Object.keys(WORK_CHANGES)),
    insertAttempts: insertSql(schema, ATTEMPT),
    insertLedger: insertSql(schema, LEDGER),
    updateLedger: updateSql(schema, LEDGER, ['hash'], LEDGER_CHANGES),
    insertDeadLetters: insertSql(schema, DEAD_LETTER),
    updateDeadLetters: updateSql(schema, DEAD_LETTER, ROW_KEYS, DEAD_LETTER_CHANGES),
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
  if (keys.work.size > 0) {
    statements.push(prepare(sql.lockWork, makeArrays(pick(WORK, ROW_KEYS), [...keys.work.values()])))
  }
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
  if (keys.records.size > 0) {
    statements.push(
      prepare(sql.lockRecords, makeArrays(pick(RECORD, RECORD_KEYS), [...keys.records.values()])),
    )
  }
  statements.push(prepare(sql.now))
  return statements
}

/** Reads the answers in the order of `loadStatements`. */
export function readLoaded(keys: RowKeys, answers: readonly QueryResult[]): Loaded {
  let next = 1
  const rowsOf = (size: number) => (size > 0 ? (answers[next++]?.rows ?? []) : [])
  if (keys.owners.size > 0) next += 1
  const owners = rowsOf(keys.owners.size)
  const work = rowsOf(keys.work.size)
  const events = rowsOf(keys.events.size)
  const dedup = rowsOf(keys.dedup.size)
  const ledger = rowsOf(keys.ledger.size)
  const deadLetters = rowsOf(keys.deadLetters.size)
  const records = rowsOf(keys.records.size)
  const dedupKeys = new Map([...keys.dedup].map((key) => [hashKey(key).toString('hex'), key]))
  return {
    now: answers[next]?.rows[0].now,
    owners: new Map(owners.map((row) => [row.id as Incarnation, row])),
    work: new Map(work.map((row) => [joinKey(row.tenant, row.id), row])),
    events: new Set(events.map((row) => joinKey(row.tenant, row.id))),
    dedup: new Map(dedup.map((row) => [dedupKeys.get(row.hash.replaceAll('-', '')) ?? '', row])),
    ledger: new Map(ledger.map((row) => [joinKey(row.tenant, row.key), readLedgerEntry(row)])),
    deadLetters: new Map(deadLetters.map((row) => [joinKey(row.tenant, row.id), row])),
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

  add(sql.insertWork, WORK.columns, split(changes.newWork, NONE).inserts)
  add(sql.updateWork, pick(WORK, [...ROW_KEYS, ...Object.keys(WORK_CHANGES)]), [...changes.work.values()])

  add(sql.insertAttempts, ATTEMPT.columns, changes.attempts)

  const ledger = split(changes.ledger, loaded.ledger, (row, key) => ({
    ...row,
    hash: hashKey(key),
    evidence: JSON.stringify(row.evidence),
  }))
  add(sql.insertLedger, LEDGER.columns, ledger.inserts)
  add(sql.updateLedger, pick(LEDGER, ['hash', ...LEDGER_CHANGES]), ledger.updates)

  const letters = split(changes.deadLetters, loaded.deadLetters)
  add(sql.insertDeadLetters, DEAD_LETTER.columns, letters.inserts)
  add(sql.updateDeadLetters, pick(DEAD_LETTER, [...ROW_KEYS, ...DEAD_LETTER_CHANGES]), letters.updates)

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
