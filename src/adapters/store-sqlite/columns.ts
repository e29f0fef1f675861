// The columns of rows as they are read. Names are those of the core's row types; what is stored in another way is said here.

import { ROW_COLUMNS } from '../../core/store/rows/index.ts'

/** `own`: how to read a column that has another name or form; null: it is read in another way. */
function listColumns(
  properties: readonly string[],
  { table, own = {} }: { readonly table?: string; readonly own?: Readonly<Record<string, string | null>> },
): string {
  const from = table === undefined ? '' : `${table}.`
  return properties
    .flatMap((property) => {
      const column = own[property]
      return column === null ? [] : [column ?? `${from}${toColumn(property)}`]
    })
    .join(', ')
}

export function toColumn(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

export const EVENT_REPEATS =
  '(SELECT r.count FROM event_repeat AS r WHERE r.seq = event.seq) AS duplicates,' +
  ' (SELECT r.last_at FROM event_repeat AS r WHERE r.seq = event.seq) AS last_duplicate_at'

const BODIES = ['headers', 'data', 'raw']

/** What repeats of an event's key add lies in a table of its own. */
const BESIDE_EVENT = { tenant: null, duplicates: null, lastDuplicateAt: null }

export const EVENT_SUMMARY_COLUMNS = `${listColumns(Object.keys(ROW_COLUMNS.events), {
  table: 'event',
  own: { ...BESIDE_EVENT, ...Object.fromEntries(BODIES.map((name) => [name, null])) },
})}, ${EVENT_REPEATS}`

export const EVENT_COLUMNS = `${EVENT_SUMMARY_COLUMNS}, ${listColumns(BODIES, { table: 'event' })}`

/** The text behind a number, and the event that a job belongs to: a job's row has neither. */
export const term = (column: string) => `(SELECT text FROM term WHERE no = work.${column}) AS ${column}`
export const EVENT_OF_WORK =
  '(SELECT e.id FROM event AS e WHERE e.seq = coalesce(work.event, work.seq >> 16)) AS event_id'

export const WORK_COLUMNS = listColumns(Object.keys(ROW_COLUMNS.work), {
  table: 'work',
  own: {
    tenant: null,
    definition: term('definition'),
    codeHash: term('code_hash'),
    eventId: EVENT_OF_WORK,
    hasPlace: 'work.place',
    isFrozen: 'work.frozen',
    into: 'work.into_work',
  },
})

/** How many jobs of an event are numbered after it; those beyond have numbers below 0. */
export const WORK_PER_EVENT = 65_536

/** The jobs of the event with the number ?1. */
export const OF_EVENT =
  '(work.seq BETWEEN ?1 * 65536 AND ?1 * 65536 + 65535 OR (work.seq < 0 AND work.event = ?1))'

/** Its evidence lies in a table of its own; `previous` is the row of the generation before. */
export const LEDGER_COLUMNS = `seq, previous, ${listColumns(Object.keys(ROW_COLUMNS.ledger), {
  own: { tenant: null, evidence: null },
})}`

/** Entries are numbered in the order they came; a tenant's are found by the blocks of numbers in which it has some. */
export const LEDGER_BLOCK = 64
export const LEDGER_OF_TENANT =
  'ledger_block CROSS JOIN ledger ON ledger.seq BETWEEN ledger_block.block * 64 AND ledger_block.block * 64 + 63' +
  ' AND ledger.tenant = ledger_block.tenant'

export const INSTANCE_COLUMNS =
  'id, workflow, definition, version, event_id, correlation_id, parent, created_at, state, attention, revision,' +
  ' updated_at, ended_at, marking, body'

/** Different keys with one hash are distinguished by the key itself. */
export const CORRELATION_BY_HASH =
  'SELECT version, body FROM correlation WHERE hash = ? AND tenant = ? AND key = ?'
