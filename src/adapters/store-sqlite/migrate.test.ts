// Schema steps: applied once, in order, and never onto a schema that this version does not know.

import { DatabaseSync } from '@photostructure/sqlite'
import { expect, test } from 'vitest'
import type { EventId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { makeSqliteStoreInline } from './inline.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'
import { ROWS_OF_STEP_3 } from './schema-3.fixture.ts'
import { ROWS_OF_STEP_4 } from './schema-4.fixture.ts'

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

test('a step that fails leaves nothing behind', () => {
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

test('released steps are unchanged', () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', MIGRATIONS.slice(0, 4))
  const sums = db.prepare('SELECT checksum FROM migration ORDER BY number').all()
  expect(sums.map((row) => String(row.checksum).slice(0, 16))).toEqual([
    '243d788612d109d7',
    '65c1f002fa4871d3',
    '8376a7ce3fd653d8',
    '61468cfce720cce4',
  ])
})

test('a database of an earlier release keeps all its data, and accepts new data', async () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', MIGRATIONS.slice(0, 3))
  db.exec(ROWS_OF_STEP_3)
  const rows = (table: string) => db.prepare(`SELECT * FROM ${table} ORDER BY 1`).all()
  const kept = ['work', 'attempt', 'ledger', 'evidence', 'dead_letter', 'record', 'key_log']
  const before = kept.map(rows)
  // Unchanged: new columns come last in a row, and are empty.
  const after = () =>
    kept.map((table, index) =>
      rows(table).map((row, at) =>
        Object.fromEntries(Object.keys(before[index]![at] as object).map((name) => [name, row[name]])),
      ),
    )
  let now = 1_750_000_010_000
  const store = makeSqliteStoreInline(db, {
    now: () => now,
    defer: (callback) => void setImmediate(callback),
  })
  expect(after()).toEqual(before)
  const tenant = 'acme' as TenantId
  const reads = store.forTenant(tenant)
  const { items } = await reads.events({ cursor: null, limit: 9 })
  expect(items.map(({ dedupKey, duplicates }) => [dedupKey, duplicates])).toEqual([
    ['delivery-4', 0],
    ['delivery-3', 0],
    ['delivery-2', 0],
    ['delivery-1', 0],
  ])
  const tries = (await store.system('verification').dump()).attempts
  expect(tries.length).toBeGreaterThan(0)
  for (const one of tries) expect(one).not.toHaveProperty('response')
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
  // Waiting jobs and dead ones that no operator has reviewed stay.
  expect(await store.prune(request)).toMatchObject({ events: 2, work: 1, dedup: 2 })
  expect((await reads.events({ cursor: null, limit: 9 })).items).toMatchObject([
    { dedupKey: 'delivery-3' },
    { dedupKey: 'delivery-2' },
  ])
  expect(await reads.ledger('crm:4711')).toMatchObject({ state: 'done', evidence: ['{"seen":1}'] })
})

test('jobs, dead letters and entries of step 4 are unchanged, and lanes and generations start with them', async () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', MIGRATIONS.slice(0, 4))
  db.exec(ROWS_OF_STEP_4)
  let now = 1_750_000_010_000
  const store = makeSqliteStoreInline(db, {
    now: () => now,
    defer: (callback) => void setImmediate(callback),
  })
  const tenant = 'acme' as TenantId
  const reads = store.forTenant(tenant)
  const { work, deadLetters, ledger } = await store.system('verification').dump()
  const empty = { element: null, lane: null, hasPlace: false, isFrozen: false, into: null, generation: 1 }
  const none = { instance: null, step: null }
  expect(work.map(({ state }) => state)).toEqual(['done', 'dead', 'ready', 'merged'])
  for (const row of work) expect(row).toMatchObject({ ...empty, ...none })
  expect(deadLetters).toMatchObject([{ state: 'resolved', step: null, failureId: null }])
  expect(ledger).toMatchObject([
    { key: 'crm:1', generation: 1 },
    { key: 'crm:4', generation: 1 },
  ])
  const [first, , ready] = work
  const entry = { ...ledger[0]!, generation: 2 }
  const lane = { key: 'a', width: 1 }
  const { instance: _instance, step: _step, ...item } = ready!
  const added = (id: string) => ({ ...item, id: id as WorkId, expiresInMs: DAY, lane })
  await store.commit({
    tenant,
    guards: [],
    writes: [
      { w: 'ledger.done', entry, effectRef: 'again', result: null },
      { w: 'work.add', work: { ...added('wrk_1'), element: 0 }, lease: null, delayMs: 0 },
      { w: 'work.add', work: { ...added('wrk_2'), element: 1 }, lease: null, delayMs: 0 },
    ],
  })
  expect((await reads.ledgerHistory('crm:1')).map(({ effectRef }) => effectRef)).toEqual([
    'contact-1',
    'again',
  ])
  expect(await reads.lane('route:crm', 'a')).toMatchObject({ places: 1, waiting: 1 })
  now += 2 * DAY
  const request = { tenant, keepMs: {}, otherwiseMs: DAY, after: null, scanMax: 100 }
  expect(await store.prune({ ...request, ledger: { keepMs: {}, otherwiseMs: DAY } })).toMatchObject({
    events: 2,
    ledger: 2,
  })
  expect(await reads.event(first!.eventId)).toBeNull()
  expect(await reads.ledger('crm:4')).toMatchObject({ state: 'reserved' })
})
