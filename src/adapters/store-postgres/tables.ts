// The tables as this code sees them: property, column and type of each, how rows are listed, and how they are inserted as sets. The
// properties are those of the core's row types.

import type { Buffer } from 'node:buffer'
import type { StoredEvent } from '../../core/events/event/index.ts'
import { type ColumnKind, ROW_COLUMNS } from '../../core/store/rows/index.ts'
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

/** A JSON value is stored as its text. */
const TYPE_OF = { text: 'text', whole: 'int8', number: 'float8', flag: 'bool', value: 'text' } as const

type TypesOf<C extends Readonly<Record<string, ColumnKind>>> = {
  readonly [Name in keyof C]: (typeof TYPE_OF)[C[Name]]
}

function typesOf<C extends Readonly<Record<string, ColumnKind>>>(columns: C): TypesOf<C> {
  return Object.fromEntries(
    Object.entries(columns).map(([name, kind]) => [name, TYPE_OF[kind]]),
  ) as TypesOf<C>
}

function omitTypes<C extends Readonly<Record<string, ColumnKind>>, Name extends keyof C & string>(
  columns: C,
  names: readonly Name[],
): Omit<TypesOf<C>, Name> {
  const types: Record<string, ColumnType> = { ...typesOf(columns) }
  for (const name of names) delete types[name]
  return types as TypesOf<C>
}

const pickTypes = <C extends Columns, Name extends keyof C & string>(types: C, names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, types[name]])) as Pick<C, Name>

/** What repeats of its key add lies in a table of its own. */
export const EVENT = makeTable('event', omitTypes(ROW_COLUMNS.events, ['duplicates', 'lastDuplicateAt']))

/** How often an event's key was repeated. */
export const EVENT_REPEAT = makeTable('event_repeat', { event: 'text', count: 'int8', lastAt: 'int8' })

const WORK_TYPES = typesOf(ROW_COLUMNS.work)

/** What every change of a job writes. */
export const WORK_CHANGES = pickTypes(WORK_TYPES, [
  'state',
  'dueAt',
  'owner',
  'alone',
  'attempts',
  'waits',
  'losses',
  'key',
  'class',
  'lastError',
  'effectRef',
  'httpStatus',
  'durationMs',
  'processedAt',
  'expiresAt',
  'hasPlace',
  'isFrozen',
  'into',
])

/** What a step of its lane alone changes. */
export const WORK_MOVES = pickTypes(WORK_TYPES, ['state', 'dueAt', 'hasPlace', 'isFrozen'])

export const WORK = makeTable('work', WORK_TYPES)

/** `laneHash` stands for the lane; readers never see it. */
export const NEW_WORK = makeTable('work', { ...WORK.columns, laneHash: 'uuid' })

/** `hash` stands for tenant, consumer and key. */
export const LANE = makeTable('lane', { hash: 'uuid', ...typesOf(ROW_COLUMNS.lanes) })

export const ATTEMPT = makeTable('attempt', typesOf(ROW_COLUMNS.attempts))

/** `hash` stands for tenant, source and key, `event` for the event that took the window. */
export const DEDUP = makeTable('dedup', { hash: 'uuid', event: 'text', until: 'int8' })

/** `hash` stands for tenant and key; `evidence` is a JSON array of texts. */
export const LEDGER = makeTable('ledger', { hash: 'uuid', ...typesOf(ROW_COLUMNS.ledger) })

/** The generations before the present one, and all of them. */
export const LEDGER_PAST = makeTable('ledger_past', LEDGER.columns)
export const LEDGER_ALL = makeTable('ledger_all', LEDGER.columns)

export const DEAD_LETTER = makeTable('dead_letter', typesOf(ROW_COLUMNS.deadLetters))

export const FAILURE = makeTable('failure', typesOf(ROW_COLUMNS.failures))

export const ESCALATION = makeTable('escalation', typesOf(ROW_COLUMNS.escalations))

/** `marking` is its canonical text. */
export const INSTANCE = makeTable('instance', typesOf(ROW_COLUMNS.instances))

export const HISTORY = makeTable('history', typesOf(ROW_COLUMNS.history))

/** `hash` stands for tenant and key. */
export const CORRELATION = makeTable('correlation', { hash: 'uuid', ...typesOf(ROW_COLUMNS.correlations) })

export const ORPHAN = makeTable('orphan', typesOf(ROW_COLUMNS.orphans))

/** `attempts` is a JSON array. */
export const RUN = makeTable('run', typesOf(ROW_COLUMNS.runs))

export const RECORD = makeTable('record', typesOf(ROW_COLUMNS.records))

export const FACT = makeTable('fact', typesOf(ROW_COLUMNS.facts))

/** Its turn is internal to the store, and assigned by the statement that adds the row: see outbox.ts. */
export const OUTBOX = makeTable('outbox', omitTypes(ROW_COLUMNS.outbox, ['position']))

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
