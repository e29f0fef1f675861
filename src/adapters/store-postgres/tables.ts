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
  expiresAt: 'int8',
  hasPlace: 'bool',
  isFrozen: 'bool',
  into: 'text',
} as const satisfies Columns

/** What a step of its lane alone changes. */
export const WORK_MOVES = { state: 'text', dueAt: 'int8', hasPlace: 'bool', isFrozen: 'bool' } as const

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
  replayOf: 'text',
  element: 'int8',
  lane: 'text',
  generation: 'int8',
  instance: 'text',
  step: 'text',
  ...WORK_CHANGES,
})

/** `laneHash` stands for the lane; no reader is shown it. */
export const NEW_WORK = makeTable('work', { ...WORK.columns, laneHash: 'uuid' })

/** `hash` stands for tenant, consumer and key. */
export const LANE = makeTable('lane', {
  hash: 'uuid',
  tenant: 'text',
  consumer: 'text',
  key: 'text',
  width: 'int8',
  version: 'text',
  places: 'int8',
  waiting: 'int8',
  updatedAt: 'int8',
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
  response: 'text',
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

/** The generations before the present one, and all of them. */
export const LEDGER_PAST = makeTable('ledger_past', LEDGER.columns)
export const LEDGER_ALL = makeTable('ledger_all', LEDGER.columns)

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
  step: 'text',
  failureId: 'text',
  createdAt: 'int8',
  updatedAt: 'int8',
})

export const FAILURE = makeTable('failure', {
  tenant: 'text',
  id: 'text',
  state: 'text',
  workId: 'text',
  consumer: 'text',
  eventId: 'text',
  class: 'text',
  reason: 'text',
  key: 'text',
  attempts: 'int8',
  lastError: 'text',
  willRetryAt: 'int8',
  correlationId: 'text',
  severity: 'text',
  cause: 'text',
  createdAt: 'int8',
  updatedAt: 'int8',
})

export const ESCALATION = makeTable('escalation', {
  tenant: 'text',
  id: 'text',
  cause: 'text',
  consumer: 'text',
  class: 'text',
  reason: 'text',
  severity: 'text',
  runbook: 'text',
  lastError: 'text',
  workId: 'text',
  version: 'int8',
  state: 'text',
  count: 'int8',
  isAnnounced: 'bool',
  acknowledgedBy: 'text',
  note: 'text',
  createdAt: 'int8',
  updatedAt: 'int8',
})

/** `marking` is its canonical text. */
export const INSTANCE = makeTable('instance', {
  tenant: 'text',
  id: 'text',
  workflow: 'text',
  definition: 'text',
  version: 'text',
  state: 'text',
  attention: 'text',
  revision: 'int8',
  marking: 'text',
  eventId: 'text',
  correlationId: 'text',
  parent: 'text',
  body: 'text',
  createdAt: 'int8',
  updatedAt: 'int8',
  endedAt: 'int8',
})

export const HISTORY = makeTable('history', {
  tenant: 'text',
  instance: 'text',
  sequence: 'int8',
  type: 'text',
  body: 'text',
  at: 'int8',
})

/** `hash` stands for tenant and key. */
export const CORRELATION = makeTable('correlation', {
  hash: 'uuid',
  tenant: 'text',
  key: 'text',
  version: 'int8',
  body: 'text',
})

export const ORPHAN = makeTable('orphan', {
  tenant: 'text',
  id: 'text',
  version: 'int8',
  state: 'text',
  reason: 'text',
  workflow: 'text',
  trigger: 'text',
  eventId: 'text',
  workId: 'text',
  keys: 'text',
  expiresAt: 'int8',
  instance: 'text',
  by: 'text',
  note: 'text',
  createdAt: 'int8',
  updatedAt: 'int8',
})

/** `attempts` is a JSON array. */
export const RUN = makeTable('run', {
  tenant: 'text',
  id: 'text',
  state: 'text',
  purpose: 'text',
  connection: 'text',
  provider: 'text',
  operation: 'text',
  workId: 'text',
  eventId: 'text',
  correlationId: 'text',
  traceId: 'text',
  key: 'text',
  attemptCount: 'int8',
  attempts: 'text',
  class: 'text',
  httpStatus: 'int8',
  durationMs: 'float8',
  error: 'text',
  externalRef: 'text',
  replayOf: 'text',
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

/** Its turn is the store's own, and given by the statement that adds it: see outbox.ts. */
export const OUTBOX = makeTable('outbox', {
  tenant: 'text',
  id: 'text',
  subject: 'text',
  about: 'text',
  event: 'text',
  body: 'text',
  createdAt: 'int8',
})

/** Always so. Whoever lists rows by state says it, and may use indexes that are not for looking up a row: see the sixth migration. */
export const LISTED = "id <> ''"

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

/** How a column is made of a row that does not have it as it is kept; left out: the property of its name. */
export type Made<Row> = Readonly<Record<string, (row: Row) => unknown>>

const AS_THEY_ARE: Made<object> = {}

export function makeArrays<Row extends object>(
  columns: Columns,
  rows: readonly Row[],
  made: Made<Row> = AS_THEY_ARE,
): Buffer[] {
  return Object.entries(columns).map(([property, type]) => {
    const make = made[property]
    const values =
      make === undefined ? rows.map((row) => (row as Record<string, unknown>)[property]) : rows.map(make)
    return makeArray(type, values)
  })
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

/** The lanes of the given items (tenants, ids) and those that new items come into (hashes). */
export function lockLanesSql(schema: string): string {
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
 * The named items (tenants, ids), and of each lane that items (tenants, ids) or new ones (hashes) come into or leave, the eldest
 * that wait: as many as may get a place, which is one a step. The lanes are locked by then, so it is known who waits.
 */
export function lockWorkInLanesSql(schema: string, properties: readonly string[]): string {
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
 * The named escalations (tenants, ids) and the raised ones of causes (tenants, causes), in one order. Whoever waited for one may
 * find that it is not raised any more; its state says so.
 */
export function lockEscalationsSql(schema: string): string {
  const raised =
    'SELECT e.tenant, e.id FROM unnest($3::text[], $4::text[]) AS c(tenant, cause) ' +
    `JOIN ${schema}.escalation AS e ON e.tenant = c.tenant AND e.cause = c.cause AND e.state = 'raised'`
  return (
    `SELECT ${selectList('t', Object.keys(ESCALATION.columns))} FROM ` +
    `(SELECT k.tenant, k.id FROM unnest($1::text[], $2::text[]) AS k(tenant, id) UNION ${raised}) AS k ` +
    `JOIN ${schema}.escalation AS t ON t.tenant = k.tenant AND t.id = k.id ORDER BY t.tenant, t.id FOR UPDATE OF t`
  )
}
