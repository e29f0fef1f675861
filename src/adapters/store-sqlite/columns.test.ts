// Every column of the core's row types is in the database, is listed, and is read.

import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, describe, expect, test } from 'vitest'
import { ROW_COLUMNS, type StoredRows } from '../../core/store/rows/index.ts'
import { CLAIMED_COLUMNS, toClaimResult } from './claimed-rows.ts'
import {
  EVENT_COLUMNS,
  EVENT_SUMMARY_COLUMNS,
  INSTANCE_COLUMNS,
  LEDGER_COLUMNS,
  toColumn,
  WORK_COLUMNS,
} from './columns.ts'
import { migrate } from './migrate.ts'

const db = new DatabaseSync(':memory:')
migrate(db, ':memory:')
afterAll(() => db.close())

const columnsOf = (sql: string) =>
  db
    .prepare(sql)
    .columns()
    .map(({ name }) => name)

type Type = keyof StoredRows

/** How each row type is read, and the columns that have another name than their property. */
const LISTS: { readonly [T in Type]: { sql: string; names?: Readonly<Record<string, string>> } } = {
  records: { sql: 'SELECT * FROM record' },
  events: { sql: `SELECT event.tenant, ${EVENT_COLUMNS} FROM event` },
  lanes: { sql: 'SELECT * FROM lane' },
  work: {
    sql: `SELECT work.tenant, ${WORK_COLUMNS} FROM work`,
    names: { hasPlace: 'place', isFrozen: 'frozen', into: 'into_work' },
  },
  attempts: { sql: 'SELECT attempt.*, work.tenant FROM attempt JOIN work' },
  // Pieces of evidence are rows of their own.
  ledger: { sql: `SELECT tenant, ${LEDGER_COLUMNS}, NULL AS evidence FROM ledger` },
  deadLetters: { sql: 'SELECT * FROM dead_letter' },
  failures: { sql: 'SELECT * FROM failure' },
  escalations: { sql: 'SELECT * FROM escalation', names: { isAnnounced: 'announced' } },
  instances: { sql: `SELECT tenant, ${INSTANCE_COLUMNS} FROM instance` },
  history: { sql: 'SELECT * FROM history' },
  correlations: { sql: 'SELECT * FROM correlation' },
  orphans: { sql: 'SELECT * FROM orphan', names: { trigger: 'trigger_id', by: 'closed_by' } },
  runs: { sql: 'SELECT * FROM run' },
  facts: { sql: 'SELECT * FROM fact' },
  outbox: { sql: 'SELECT * FROM outbox', names: { event: 'event_id' } },
}

describe('the columns of each row type', () => {
  test.each(Object.keys(ROW_COLUMNS) as Type[])('%s: are all listed', (type) => {
    const { sql, names = {} } = LISTS[type]
    const wanted = Object.keys(ROW_COLUMNS[type]).map((name) => names[name] ?? toColumn(name))
    expect(columnsOf(sql)).toEqual(expect.arrayContaining(wanted))
  })

  test('a summary of an event has all but its bodies', () => {
    const all = columnsOf(LISTS.events.sql)
    const summary = columnsOf(`SELECT event.tenant, ${EVENT_SUMMARY_COLUMNS} FROM event`)
    expect(all.filter((name) => !summary.includes(name))).toEqual(['headers', 'data', 'raw'])
  })

  test('a claimed job and its event are read in the order in which they are listed', () => {
    const names = columnsOf(
      `SELECT ${CLAIMED_COLUMNS} FROM work JOIN event ON event.seq = coalesce(work.event, work.seq >> 16)`,
    )
    // Each value is the name of its column, except the state, which is a number.
    const values = names.map((name) => (name === 'state' ? 1 : name))
    const { items } = toClaimResult({ count: 1, values, nextDueAt: null, now: 0 })
    const [claimed] = items
    const read = (row: object) =>
      Object.fromEntries(Object.entries(row).map(([property, value]) => [property, String(value)]))
    const expected = (type: 'events' | 'work', own: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.keys(ROW_COLUMNS[type]).map((name) => [name, own[name] ?? toColumn(name)]))
    expect(read(claimed?.work ?? {})).toEqual(
      // Flags are true for 1 alone.
      expected('work', {
        ...{ eventId: 'id', state: 'leased', alone: 'false', hasPlace: 'false', isFrozen: 'false' },
        into: 'into_work',
      }),
    )
    expect(read(claimed?.event ?? {})).toEqual({ ...expected('events', {}), sensitive: '' })
  })
})
