// The texts of a group's statements, made once for a schema: locks on the rows that it names, and the changes of them.

import { nowSql } from './clock.ts'
import { shareOwnersSql } from './fence.ts'
import { deleteOutboxSql, insertOutboxSql } from './outbox.ts'
import type { ColumnType } from './parameters.ts'
import { putRunsSql } from './runs.ts'
import {
  ATTEMPT,
  CORRELATION,
  DEAD_LETTER,
  DEDUP,
  deleteSql,
  ESCALATION,
  EVENT,
  FAILURE,
  HISTORY,
  INSTANCE,
  insertSql,
  LANE,
  LEDGER,
  LEDGER_PAST,
  lockEscalationsSql,
  lockLanesSql,
  lockSql,
  lockWorkInLanesSql,
  NEW_WORK,
  ORPHAN,
  RECORD,
  repeatSql,
  type Table,
  updateSql,
  WORK,
  WORK_CHANGES,
  WORK_MOVES,
} from './tables.ts'

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
    insertOutbox: insertOutboxSql(schema),
    deleteOutbox: deleteOutboxSql(schema),
  }
}

export function pick(table: Table, properties: readonly string[]): Table['columns'] {
  return Object.fromEntries(properties.map((name) => [name, table.columns[name] as ColumnType]))
}
