// All statements of a commit, built once for a schema: locks on the rows that a group names, and their changes.

import { nowSql } from '../clock.ts'
import { shareOwnersSql } from '../fence.ts'
import type { ColumnType } from '../parameters.ts'
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
  insertSql,
  LANE,
  LEDGER,
  LEDGER_PAST,
  NEW_WORK,
  ORPHAN,
  OUTBOX,
  RECORD,
  RUN,
  selectList,
  type Table,
  toColumn,
  unnest,
  WORK,
  WORK_CHANGES,
  WORK_MOVES,
} from '../tables.ts'

export const ROW_KEYS = ['tenant', 'id']
export const DEDUP_CHANGES = ['event', 'until']
const allBut = (table: Table, names: readonly string[]) =>
  Object.keys(table.columns).filter((name) => !names.includes(name))
export const LANE_CHANGES = allBut(LANE, ['hash', 'tenant', 'consumer', 'key'])
export const LEDGER_CHANGES = allBut(LEDGER, ['hash', 'tenant', 'key'])
export const DEAD_LETTER_CHANGES = allBut(DEAD_LETTER, ['tenant', 'id', 'createdAt'])
export const FAILURE_CHANGES = allBut(FAILURE, ['tenant', 'id', 'createdAt'])
export const ESCALATION_CHANGES = allBut(ESCALATION, ['tenant', 'id', 'cause', 'createdAt'])
export const INSTANCE_CHANGES = allBut(INSTANCE, ['tenant', 'id', 'createdAt'])
export const CORRELATION_CHANGES = ['version', 'body']
export const ORPHAN_CHANGES = allBut(ORPHAN, ['tenant', 'id', 'createdAt'])
export const OUTBOX_KEYS: Readonly<Record<string, ColumnType>> = { tenant: 'text', position: 'int8' }
export const RECORD_KEYS = ['tenant', 'kind', 'key']
export const RECORD_CHANGES = ['version', 'body']
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
    now: nowSql(schema),
    group: `INSERT INTO ${schema}.commit_group (id, applied) VALUES ($1::uuid, true)`,
    shareOwners: shareOwnersSql(schema),
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
    lockInstances: lock(INSTANCE, ROW_KEYS, ['tenant', 'id', 'revision', 'createdAt', 'endedAt']),
    lockCorrelations: lock(CORRELATION, ['hash'], ['tenant', 'key', 'version']),
    lockOrphans: lock(ORPHAN, ROW_KEYS, ['tenant', 'id', 'version', 'createdAt']),
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
    insertInstances: insertSql(schema, INSTANCE),
    updateInstances: updateSql(schema, INSTANCE, ROW_KEYS, INSTANCE_CHANGES),
    insertHistory: insertSql(schema, HISTORY),
    insertCorrelations: insertSql(schema, CORRELATION),
    updateCorrelations: updateSql(schema, CORRELATION, ['hash'], CORRELATION_CHANGES),
    deleteCorrelations: deleteSql(schema, CORRELATION, ['hash']),
    insertOrphans: insertSql(schema, ORPHAN),
    updateOrphans: updateSql(schema, ORPHAN, ROW_KEYS, ORPHAN_CHANGES),
    putRuns: putRunsSql(schema),
    insertRecords: insertSql(schema, RECORD),
    updateRecords: updateSql(schema, RECORD, RECORD_KEYS, RECORD_CHANGES),
    deleteRecords: deleteSql(schema, RECORD, RECORD_KEYS),
    insertFacts: `${insertSql(schema, FACT)} ON CONFLICT DO NOTHING`,
    insertOutbox: insertSql(schema, OUTBOX),
    deleteOutbox: deleteOutboxSql(schema),
  }
}

export function pick(table: Table, properties: readonly string[]): Table['columns'] {
  return Object.fromEntries(properties.map((name) => [name, table.columns[name] as ColumnType]))
}

/** Sets every column of `changes` in the rows that `keys` name; parameters in that order. */
function updateSql(
  schema: string,
  table: Table,
  keys: readonly string[],
  changes: readonly string[],
): string {
  const given = [...keys, ...changes].map((property) => `"${toColumn(property)}"`).join(', ')
  const types = [...keys, ...changes].map((property) => table.columns[property] as ColumnType)
  const set = changes.map((property) => `"${toColumn(property)}" = k."${toColumn(property)}"`).join(', ')
  const match = keys.map((property) => `t."${toColumn(property)}" = k."${toColumn(property)}"`).join(' AND ')
  return `UPDATE ${schema}.${table.name} AS t SET ${set} FROM ${unnest(types)} AS k(${given}) WHERE ${match}`
}

/** Deletes the rows that `keys` name. */
function deleteSql(schema: string, table: Table, keys: readonly string[]): string {
  const columns = keys.map((property) => `"${toColumn(property)}"`)
  const types = keys.map((property) => table.columns[property] as ColumnType)
  const match = columns.map((column) => `t.${column} = k.${column}`).join(' AND ')
  return `DELETE FROM ${schema}.${table.name} AS t USING ${unnest(types)} AS k(${columns.join(', ')}) WHERE ${match}`
}

/** Locks the rows that `keys` name, in the order of their keys, and returns their `properties`. */
function lockSql(
  schema: string,
  table: Table,
  keys: readonly string[],
  properties: readonly string[],
): string {
  const columns = keys.map((property) => `"${toColumn(property)}"`)
  const types = keys.map((property) => table.columns[property] as ColumnType)
  return (
    `SELECT ${selectList('t', properties)} FROM ${unnest(types)} AS k(${columns.join(', ')}) ` +
    `JOIN ${schema}.${table.name} AS t ON ${columns.map((column) => `t.${column} = k.${column}`).join(' AND ')} ` +
    `ORDER BY ${columns.map((column) => `t.${column}`).join(', ')} FOR UPDATE OF t`
  )
}

/** The lanes of the given jobs (tenants, ids) and those that new jobs enter (hashes). */
function lockLanesSql(schema: string): string {
  return (
    `SELECT ${selectList('t', Object.keys(LANE.columns))} FROM (${lanesOfMovers(schema, 1)} ` +
    `UNION SELECT s.hash FROM unnest($3::uuid[]) AS s(hash)) AS k JOIN ${schema}.lane AS t ON t.hash = k.hash ` +
    'ORDER BY t.hash FOR UPDATE OF t'
  )
}

const lanesOfMovers = (schema: string, first: number) =>
  `SELECT w.lane_hash AS hash FROM unnest($${first}::text[], $${first + 1}::text[]) AS m(tenant, id) ` +
  `JOIN ${schema}.work AS w ON w.tenant = m.tenant AND w.id = m.id WHERE w.lane_hash IS NOT NULL`

/**
 * The named jobs (tenants, ids), and of each lane that jobs (tenants, ids) or new ones (hashes) enter or leave, the
 * oldest waiting ones: as many as may get a position, which is one per step. The lanes are locked by then, so the
 * waiting jobs are known.
 */
function lockWorkInLanesSql(schema: string, properties: readonly string[]): string {
  return (
    'WITH steps AS MATERIALIZED (SELECT s.hash, count(*) AS count FROM (' +
    `${lanesOfMovers(schema, 3)} UNION ALL SELECT n.hash FROM unnest($5::uuid[]) AS n(hash)) AS s GROUP BY s.hash), ` +
    'wanted AS MATERIALIZED (SELECT k.tenant, k.id FROM unnest($1::text[], $2::text[]) AS k(tenant, id) ' +
    'UNION SELECT e.tenant, e.id FROM steps AS s CROSS JOIN LATERAL (' +
    `SELECT w.tenant, w.id FROM ${schema}.work AS w WHERE w.lane_hash = s.hash AND w.state = 'waiting' ` +
    'ORDER BY w.created_at, w.id LIMIT s.count) AS e) ' +
    `SELECT ${selectList('t', properties)} FROM wanted AS k JOIN ${schema}.work AS t ` +
    'ON t.tenant = k.tenant AND t.id = k.id ORDER BY t.tenant, t.id FOR UPDATE OF t'
  )
}

/**
 * The named escalations (tenants, ids) and the raised ones of causes (tenants, causes), in one order. After waiting for
 * a lock the row may not be raised any more; its state says so.
 */
function lockEscalationsSql(schema: string): string {
  const raised =
    'SELECT e.tenant, e.id FROM unnest($3::text[], $4::text[]) AS c(tenant, cause) ' +
    `JOIN ${schema}.escalation AS e ON e.tenant = c.tenant AND e.cause = c.cause AND e.state = 'raised'`
  return (
    `SELECT ${selectList('t', Object.keys(ESCALATION.columns))} FROM ` +
    `(SELECT k.tenant, k.id FROM unnest($1::text[], $2::text[]) AS k(tenant, id) UNION ${raised}) AS k ` +
    `JOIN ${schema}.escalation AS t ON t.tenant = k.tenant AND t.id = k.id ORDER BY t.tenant, t.id FOR UPDATE OF t`
  )
}

/** Adds to the stored count. */
function repeatSql(schema: string): string {
  return (
    `${insertSql(schema, EVENT_REPEAT)} ON CONFLICT (event) DO UPDATE ` +
    'SET count = event_repeat.count + excluded.count, last_at = excluded.last_at'
  )
}

/** The properties of a run that never change. */
const RUN_KEPT: readonly string[] = ['tenant', 'id', 'connection', 'purpose', 'workId', 'createdAt']

/**
 * No commit reads a run, so none is locked before it is written: one statement adds new ones and changes the others.
 */
function putRunsSql(schema: string): string {
  const set = Object.keys(RUN.columns)
    .filter((name) => !RUN_KEPT.includes(name))
    .map((name) => `"${toColumn(name)}" = excluded."${toColumn(name)}"`)
  return `${insertSql(schema, RUN)} ON CONFLICT (tenant, id) DO UPDATE SET ${set.join(', ')}`
}

function deleteOutboxSql(schema: string): string {
  return (
    `DELETE FROM ${schema}.outbox AS t USING unnest($1::text[], $2::int8[]) AS k(tenant, position) ` +
    'WHERE t.position = k.position AND t.tenant = k.tenant'
  )
}
