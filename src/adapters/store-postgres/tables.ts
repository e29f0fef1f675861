// The tables as this code sees them: property, column and type of each, and the set-based statements made from them.

import type { Buffer } from 'node:buffer'
import type { StoredEvent } from '../../core/event/index.ts'
import { type ColumnType, makeArray } from './parameters.ts'

type Columns = Readonly<Record<string, ColumnType>>

export interface Table<Name extends string = string> {
  readonly name: string
  readonly columns: Readonly<Record<Name, ColumnType>>
}

const makeTable = <C extends Columns>(
  name: string,
  columns: C,
): Table<keyof C & string> & { columns: C } => ({
  name,
  columns,
})

export const EVENT = makeTable('event', {
  tenant: 'text',
  id: 'text',
  source: 'text',
  subject: 'text',
  objectType: 'text',
  objectId: 'text',
  occurredAt: 'int8',
  correlationId: 'text',
  causationId: 'text',
  traceId: 'text',
  dedupKey: 'text',
  payloadHash: 'text',
  headers: 'text',
  data: 'text',
  matched: 'int8',
  receivedAt: 'int8',
  raw: 'text',
})

/** How often an event's key came again. */
export const EVENT_REPEAT = makeTable('event_repeat', { event: 'text', count: 'int8', lastAt: 'int8' })

/** What every change of a work item writes. */
export const WORK_CHANGES = {
  state: 'text',
  dueAt: 'int8',
  owner: 'int8',
  alone: 'bool',
  attempts: 'int8',
  waits: 'int8',
  losses: 'int8',
  key: 'text',
  class: 'text',
  lastError: 'text',
  effectRef: 'text',
  httpStatus: 'int8',
  durationMs: 'float8',
  processedAt: 'int8',
} as const satisfies Columns

export const WORK = makeTable('work', {
  tenant: 'text',
  id: 'text',
  kind: 'text',
  consumer: 'text',
  definition: 'text',
  codeHash: 'text',
  eventId: 'text',
  epoch: 'int8',
  createdAt: 'int8',
  expiresAt: 'int8',
  replayOf: 'text',
  ...WORK_CHANGES,
})

export const ATTEMPT = makeTable('attempt', {
  tenant: 'text',
  work: 'text',
  number: 'int8',
  startedAt: 'int8',
  durationMs: 'float8',
  outcome: 'text',
  class: 'text',
  httpStatus: 'int8',
  error: 'text',
})

/** `hash` stands for tenant, source and key, `event` for the event that took the window. */
export const DEDUP = makeTable('dedup', { hash: 'uuid', event: 'text', until: 'int8' })

/** `hash` stands for tenant and key; `evidence` is a JSON array of texts. */
export const LEDGER = makeTable('ledger', {
  hash: 'uuid',
  tenant: 'text',
  key: 'text',
  work: 'text',
  epoch: 'int8',
  consumer: 'text',
  eventId: 'text',
  objectId: 'text',
  payloadHash: 'text',
  correlationId: 'text',
  generation: 'int8',
  state: 'text',
  proof: 'text',
  sendBy: 'int8',
  effectRef: 'text',
  result: 'text',
  evidence: 'text',
  createdAt: 'int8',
  settledAt: 'int8',
})

export const DEAD_LETTER = makeTable('dead_letter', {
  tenant: 'text',
  id: 'text',
  version: 'int8',
  state: 'text',
  class: 'text',
  reason: 'text',
  consumer: 'text',
  eventId: 'text',
  workId: 'text',
  attempts: 'int8',
  replays: 'int8',
  lastError: 'text',
  key: 'text',
  correlationId: 'text',
  payloadHash: 'text',
  runbook: 'text',
  severity: 'text',
  createdAt: 'int8',
  updatedAt: 'int8',
})

export const RECORD = makeTable('record', {
  tenant: 'text',
  kind: 'text',
  key: 'text',
  version: 'int8',
  body: 'text',
})

export function toColumn(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** `from."due_at" AS "dueAt", …` */
export function selectList(from: string, properties: readonly string[]): string {
  return properties.map((property) => `${from}."${toColumn(property)}" AS "${property}"`).join(', ')
}

/** What is kept of an event beside its row; `id` is where the event's id stands. */
function repeatList(schema: string, id: string): string {
  const read = (column: string) =>
    `(SELECT r.${column} FROM ${schema}.${EVENT_REPEAT.name} AS r WHERE r.event = ${id})`
  return `coalesce(${read('count')}, 0) AS "duplicates", ${read('last_at')} AS "lastDuplicateAt"`
}

const BODIES: readonly string[] = ['headers', 'data', 'raw']

/** All of an event but the paths that no store keeps; `readEvent` adds them. */
export function eventList(schema: string, from: string): string {
  return `${selectList(from, Object.keys(EVENT.columns))}, ${repeatList(schema, `${from}.id`)}`
}

export function eventSummaryList(schema: string, from: string): string {
  const names = Object.keys(EVENT.columns).filter((name) => !BODIES.includes(name))
  return `${selectList(from, names)}, ${repeatList(schema, `${from}.id`)}`
}

export function readEvent(row: Readonly<Record<string, unknown>>): StoredEvent {
  return { ...row, sensitive: [] } as unknown as StoredEvent
}

/** `unnest($1::text[], …)` */
function unnest(types: readonly ColumnType[]): string {
  return `unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})`
}

export function makeArrays(columns: Columns, rows: readonly object[]): Buffer[] {
  return Object.entries(columns).map(([property, type]) =>
    makeArray(
      type,
      rows.map((row) => (row as Record<string, unknown>)[property]),
    ),
  )
}

/** Adds to what is there. */
export function repeatSql(schema: string): string {
  return (
    `${insertSql(schema, EVENT_REPEAT)} ON CONFLICT (event) DO UPDATE ` +
    'SET count = event_repeat.count + excluded.count, last_at = excluded.last_at'
  )
}

export function insertSql(schema: string, table: Table): string {
  const columns = Object.keys(table.columns).map((property) => `"${toColumn(property)}"`)
  const source = unnest(Object.values(table.columns))
  return `INSERT INTO ${schema}.${table.name} (${columns.join(', ')}) SELECT * FROM ${source}`
}

/** Sets every column of `changes` in the rows that `keys` name; parameters in that order. */
export function updateSql(
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
export function deleteSql(schema: string, table: Table, keys: readonly string[]): string {
  const columns = keys.map((property) => `"${toColumn(property)}"`)
  const types = keys.map((property) => table.columns[property] as ColumnType)
  const match = columns.map((column) => `t.${column} = k.${column}`).join(' AND ')
  return `DELETE FROM ${schema}.${table.name} AS t USING ${unnest(types)} AS k(${columns.join(', ')}) WHERE ${match}`
}

/** Locks the rows that `keys` name, in the order of their keys, and answers `properties` of them. */
export function lockSql(
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
