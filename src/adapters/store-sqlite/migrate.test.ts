// Schema steps: applied once, in order, and never onto a schema that this version does not know.

import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, test } from 'vitest'
import type { EventId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import { openForWriting } from './connection.ts'
import { makeSqliteStoreInline } from './inline.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'
import { ROWS_OF_STEP_3 } from './schema-3.fixture.ts'
import { ROWS_OF_STEP_4 } from './schema-4.fixture.ts'
import { DUMP_OF_STEP_10, ROWS_OF_STEP_10 } from './schema-10.fixture.ts'

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
  const kept = ['ledger', 'evidence', 'dead_letter', 'record']
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

const openInline = (db: InstanceType<typeof DatabaseSync>, now: () => number) =>
  makeSqliteStoreInline(db, { now, defer: (callback) => void setImmediate(callback) })

test('[ST210] a database of step 10 reads the same after its jobs were numbered by event, and its keys still count', async () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', MIGRATIONS.slice(0, 10))
  db.exec(ROWS_OF_STEP_10)
  let now = 1_760_000_020_000
  const store = openInline(db, () => now)
  expect(JSON.parse(JSON.stringify(await store.system('verification').dump()))).toEqual({
    ...(DUMP_OF_STEP_10 as object),
    facts: [],
  })
  const tenant = 'acme' as TenantId
  const reads = store.forTenant(tenant)
  const { work, events } = DUMP_OF_STEP_10 as { work: { id: WorkId }[]; events: { id: EventId }[] }
  const [one, two, , , , , seven] = work.map(({ id }) => id).sort()
  const first = events[0]!.id
  expect((await reads.workOfEvent(first)).map(({ id }) => id)).toEqual([one, two, seven])
  expect((await reads.attempts(two!)).map(({ number }) => number)).toEqual([1, 2])
  expect((await reads.ledgerHistory('crm:1')).map(({ effectRef }) => effectRef)).toEqual([
    'contact-1',
    'contact-2',
  ])
  const dedup = { g: 'dedup', source: 'shop', key: 'delivery-1' } as const
  expect(await store.commit({ tenant, guards: [dedup], writes: [] })).toMatchObject({ found: { id: first } })
  now += 2 * DAY
  const settle = {
    w: 'work.settle',
    work: two!,
    to: 'done',
    counters: { attempts: 2, waits: 0, losses: 0 },
    note: EMPTY_NOTE,
  } as const
  await store.commit({ tenant, guards: [], writes: [settle] })
  const request = { tenant, keepMs: {}, otherwiseMs: DAY, after: null, scanMax: 100 }
  expect(await store.prune(request)).toMatchObject({ events: 1, work: 3, attempts: 2, dedup: 1 })
})

test('[ST210] a migration that is cut off leaves the database of step 10 as it was, and is done at the next start', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-migrate-'))
  const file = join(folder, 'data.db')
  const copy = join(folder, 'copy.db')
  const db = openForWriting(file)
  migrate(db, file, MIGRATIONS.slice(0, 10))
  db.exec(ROWS_OF_STEP_10)
  // A page of cache: everything that the migration writes goes to the log before it is committed.
  db.exec('PRAGMA cache_size = 1')
  db.exec('BEGIN IMMEDIATE')
  db.exec(MIGRATIONS[10]!.sql)
  for (const suffix of ['', '-wal']) copyFileSync(`${file}${suffix}`, `${copy}${suffix}`)
  const logged = statSync(`${copy}-wal`).size
  db.exec('ROLLBACK')
  db.close()
  const killed = openForWriting(copy)
  expect(logged).toBeGreaterThan(100_000)
  expect(killed.prepare('SELECT max(number) AS n FROM migration').get()).toMatchObject({ n: 10 })
  expect(killed.prepare('SELECT count(*) AS n FROM work').get()).toMatchObject({ n: 7 })
  const store = openInline(killed, () => 1_760_000_020_000)
  expect(JSON.parse(JSON.stringify(await store.system('verification').dump()))).toEqual({
    ...(DUMP_OF_STEP_10 as object),
    facts: [],
  })
  killed.close()
  rmSync(folder, { recursive: true })
})

test('a database with a job whose event is missing is not migrated', () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', MIGRATIONS.slice(0, 10))
  db.exec(ROWS_OF_STEP_10)
  db.exec('DELETE FROM event WHERE seq = 1')
  const before = db.prepare('SELECT * FROM work').all()
  expect(() => migrate(db, 'data.db')).toThrow(/datatype mismatch/)
  expect(db.prepare('SELECT * FROM work').all()).toEqual(before)
})

test('[ST211] jobs beyond the numbers of their event are found and removed with it', async () => {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'data.db', MIGRATIONS.slice(0, 10))
  db.exec(ROWS_OF_STEP_10)
  let now = 1_760_000_020_000
  const store = openInline(db, () => now)
  const tenant = 'acme' as TenantId
  const reads = store.forTenant(tenant)
  const first = (DUMP_OF_STEP_10 as { events: { id: EventId }[] }).events[0]!.id
  const before = await reads.workOfEvent(first)
  // Its last number is taken.
  db.exec('UPDATE work SET seq = 65536 + 65535 WHERE seq = (SELECT max(seq) FROM work WHERE seq < 131072)')
  const { instance: _, step: __, lane: ___, element: ____, ...given } = before[0]!
  const added = ['wrk_x', 'wrk_y'] as WorkId[]
  const adds = added.map(
    (id) => ({ w: 'work.add', work: { ...given, id, expiresInMs: DAY }, lease: null, delayMs: 0 }) as const,
  )
  await store.commit({ tenant, guards: [], writes: adds })
  expect(db.prepare('SELECT seq, event FROM work WHERE seq < 0 ORDER BY seq').all()).toEqual([
    { seq: -2, event: 1 },
    { seq: -1, event: 1 },
  ])
  expect((await reads.workOfEvent(first)).map(({ id }) => id)).toEqual([
    ...before.map(({ id }) => id),
    ...added,
  ])
  expect(await reads.work(added[0]!)).toMatchObject({ eventId: first })
  db.exec('UPDATE work SET state = 0, place = NULL')
  now += 2 * DAY
  const request = { tenant, keepMs: {}, otherwiseMs: DAY, after: null, scanMax: 100 }
  await store.prune(request)
  expect(await reads.workOfEvent(first)).toEqual([])
  expect(await reads.work(added[0]!)).toBeNull()
})
