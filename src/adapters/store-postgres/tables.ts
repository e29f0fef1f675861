// The tables as this code sees them: property, column and type of each, how rows are listed, and how they are inserted as sets.

import type { Buffer } from 'node:buffer'
import type { StoredEvent } from '../../core/events/event/index.ts'
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

/** How often an event's key was repeated. */
export const EVENT_REPEAT = makeTable('event_repeat', { event: 'text', count: 'int8', lastAt: 'int8' })

/** What every change of a job writes. */
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

/** `laneHash` stands for the lane; readers never see it. */
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

export const FACT = makeTable('fact', { tenant: 'text', id: 'text', body: 'text', createdAt: 'int8' })

/** Its turn is internal to the store, and assigned by the statement that adds the row: see outbox.ts. */
export const OUTBOX = makeTable('outbox', {
  tenant: 'text',
  id: 'text',
  subject: 'text',
  about: 'text',
  event: 'text',
  body: 'text',
  createdAt: 'int8',
})

/**
 * Always true. Queries that list rows by state say it, and may then use indexes that are not for looking up a row: see
 * the sixth migration.
 */
export const LISTED = "id <> ''"

export function toColumn(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** `from."due_at" AS "dueAt", …` */
export function selectList(from: string, properties: readonly string[]): string {
  return properties.map((property) => `${from}."${toColumn(property)}" AS "${property}"`).join(', ')
}

/** What is stored about an event beside its row; `id` is where the event's id stands. */
function repeatList(schema: string, id: string): string {
  const read = (column: string) =>
    `(SELECT r.${column} FROM ${schema}.${EVENT_REPEAT.name} AS r WHERE r.event = ${id})`
  return `coalesce(${read('count')}, 0) AS "duplicates", ${read('last_at')} AS "lastDuplicateAt"`
}

const BODIES: readonly string[] = ['headers', 'data', 'raw']

/** All of an event except the paths that no store has; `readEvent` adds them. */
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
export function unnest(types: readonly ColumnType[]): string {
  return `unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})`
}

/** How to compute a column that the row does not have in stored form; omitted: the property of its name. */
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

export function insertSql(schema: string, table: Table): string {
  const columns = Object.keys(table.columns).map((property) => `"${toColumn(property)}"`)
  const source = unnest(Object.values(table.columns))
  return `INSERT INTO ${schema}.${table.name} (${columns.join(', ')}) SELECT * FROM ${source}`
}
