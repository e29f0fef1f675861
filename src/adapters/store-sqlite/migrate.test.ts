// Schema steps: applied once, in order, and never onto what this version does not know.

import { DatabaseSync } from '@photostructure/sqlite'
import { expect, test } from 'vitest'
import type { EventId, TenantId } from '../../core/ids/index.ts'
import { DAY } from '../../core/time/index.ts'
import { makeSqliteStoreInline } from './inline.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'
import { ROWS_OF_STEP_3 } from './schema-3.fixture.ts'

const first: Migration = { number: 1, name: 'one', sql: 'CREATE TABLE a (x)' }
const second: Migration = { number: 2, name: 'two', sql: 'CREATE TABLE b (x); INSERT INTO a VALUES (1)' }

const tables = (db: InstanceType<typeof DatabaseSync>) =>
  db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all()
    .map((row) => row.name)

test('the steps of this version are numbered from 1 without a gap', () => {
  expect(MIGRATIONS.map(({ number }) => number)).toEqual(MIGRATIONS.map((_, index) => index + 1))
})

test('each step is applied once', () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', [first])
  migrate(db, 'data.db', [first, second])
  migrate(db, 'data.db', [first, second])
  expect(tables(db)).toEqual(['a', 'b', 'migration'])
  expect(db.prepare('SELECT count(*) AS n FROM a').get()).toMatchObject({ n: 1 })
})

test('a step that fails leaves nothing of itself', () => {
  const db = new DatabaseSync(':memory:')
  const failing = { ...second, sql: 'CREATE TABLE b (x); INSERT INTO nowhere VALUES (1)' }
  expect(() => migrate(db, 'data.db', [first, failing])).toThrow(/nowhere/)
  expect(tables(db)).toEqual(['a', 'migration'])
})

test('a database of a newer version is refused, unchanged', () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', [first, second])
  const before = tables(db)
  expect(() => migrate(db, 'data.db', [first])).toThrow(
    expect.objectContaining({
      code: 'newer_version',
      message: expect.stringMatching(/data\.db was written by a newer version .*nothing was changed/),
    }),
  )
  expect(tables(db)).toEqual(before)
})

test('a step that was changed after it was applied is refused, unchanged', () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', [first])
  const changed = { ...first, sql: 'CREATE TABLE a (x, y)' }
  expect(() => migrate(db, 'data.db', [changed, second])).toThrow(
    expect.objectContaining({
      code: 'corrupt',
      message: expect.stringMatching(/step 1 \(one\) of data\.db/),
    }),
  )
  expect(tables(db)).toEqual(['a', 'migration'])
})

test('the steps that were released are what they were', () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', MIGRATIONS.slice(0, 3))
  const sums = db.prepare('SELECT checksum FROM migration ORDER BY number').all()
  expect(sums.map((row) => String(row.checksum).slice(0, 16))).toEqual([
    '243d788612d109d7',
    '65c1f002fa4871d3',
    '8376a7ce3fd653d8',
  ])
})

test('a database of the release before keeps all it had, and takes what is new', async () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', MIGRATIONS.slice(0, 3))
  db.exec(ROWS_OF_STEP_3)
  const rows = (table: string) => db.prepare(`SELECT * FROM ${table} ORDER BY 1`).all()
  const kept = ['work', 'attempt', 'ledger', 'evidence', 'dead_letter', 'record', 'key_log']
  const before = kept.map(rows)
  let now = 1_750_000_010_000
  const store = makeSqliteStoreInline(db, {
    now: () => now,
    defer: (callback) => void setImmediate(callback),
  })
  expect(kept.map(rows)).toEqual(before)
  const tenant = 'acme' as TenantId
  const reads = store.forTenant(tenant)
  const { items } = await reads.events({ cursor: null, limit: 9 })
  expect(items.map(({ dedupKey, duplicates }) => [dedupKey, duplicates])).toEqual([
    ['delivery-4', 0],
    ['delivery-3', 0],
    ['delivery-2', 0],
    ['delivery-1', 0],
  ])
  const first = items.at(-1)?.id as EventId
  expect(await reads.event(first)).toMatchObject({ raw: null, data: '{"id":4711,"name":"Zoë"}' })
  const dedup = { g: 'dedup', source: 'shop', key: 'delivery-1' } as const
  const repeat = { w: 'event.repeat', event: first, count: 1 } as const
  expect(await store.commit({ tenant, guards: [dedup], writes: [repeat] })).toMatchObject({
    ok: false,
    found: { id: first },
  })
  await store.commit({ tenant, guards: [], writes: [repeat] })
  expect(await reads.event(first)).toMatchObject({ duplicates: 1, lastDuplicateAt: now })
  now += 2 * DAY
  const request = { tenant, keepMs: {}, otherwiseMs: DAY, after: null, scanMax: 100 }
  // What waits and what died without anybody having looked stay.
  expect(await store.prune(request)).toMatchObject({ events: 2, work: 1, dedup: 2 })
  expect((await reads.events({ cursor: null, limit: 9 })).items).toMatchObject([
    { dedupKey: 'delivery-3' },
    { dedupKey: 'delivery-2' },
  ])
  expect(await reads.ledger('crm:4711')).toMatchObject({ state: 'done', evidence: ['{"seen":1}'] })
})
