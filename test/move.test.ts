import { existsSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import pg, { type PoolClient } from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { makeCountingEncryption } from '../src/adapters/encryption-local/encryption.fixture.ts'
import { makeMemoryLog } from '../src/adapters/log-memory/index.ts'
import { makeSystemRandom } from '../src/adapters/random-system/index.ts'
import { layMark } from '../src/adapters/store-postgres/archive/move-mark.ts'
import { openPostgresArchive, openPostgresStore } from '../src/adapters/store-postgres/index.ts'
import { lockSchema } from '../src/adapters/store-postgres/migrate.ts'
import { openForWriting } from '../src/adapters/store-sqlite/connection.ts'
import { openSqliteArchive, openSqliteStore } from '../src/adapters/store-sqlite/index.ts'
import { moveStore } from '../src/app/move-store.ts'
import type { EventId, NodeId, TenantId } from '../src/core/foundation/ids/index.ts'
import { ARCHIVE_TABLES, type ArchiveTable } from '../src/core/store/archive/index.ts'
import { makeEncryptedStore } from '../src/engine/commit/encrypted-store.ts'
import { makeHmacKeys } from '../src/engine/secrets/hmac-keys.ts'
import type { ArchiveTarget } from '../src/ports/archive.ts'
import type { Store, Write } from '../src/ports/store.ts'
import { openKit, START } from '../src/ports/store-conformance/kit.conformance.ts'
import { makeSqliteFile, move, type SqliteFile } from './support/moved-store.ts'
import { type PostgresServer, startPostgres } from './support/postgres.ts'
import { runStream } from './support/store-stream.ts'

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres?.close())

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const dumpOf = (store: Store) => store.system('verification').dump()

async function dumpAt(url: string) {
  await using store = await openPostgresStore({ connection: url })
  return await dumpOf(store)
}

/** Fills a file by the recorded stream. */
async function fill(file: SqliteFile, seed: number, length: number) {
  await runStream(file.harness, seed, length)
  const { store } = file.harness
  const facts = ['evt_1', 'evt_2'].map(
    (id): Write => ({ w: 'fact.add', fact: { id: id as EventId, body: '["x"]' } }),
  )
  await store.commit({ tenant: 'default' as TenantId, guards: [], writes: facts })
  const dump = await store.system('verification').dump()
  await file.harness.close()
  return dump
}

const rowsOf = async (url: string) =>
  Number((await postgres.query(url, 'SELECT count(*) AS n FROM millrace.event'))[0]?.n)

describe('a store that was moved', () => {
  test('[MV1] [MV2] [MV4] [MV8] has everything that the stream left, and the file is unchanged', async () => {
    const file = await makeSqliteFile({ foldAt: 64 })
    const dump = await fill(file, 20_260_114, 2_200)
    const before = file.bytes()
    const database = await postgres.makeDatabase()
    const steps = new Set<string>()
    const report = await move(file.file, database.url, { onProgress: ({ step }) => steps.add(step) })
    expect(report.tables.filter(({ isEqual }) => !isEqual)).toEqual([])
    expect(report.isMoved).toBe(true)
    expect(report.tables.map(({ table }) => table)).toEqual(ARCHIVE_TABLES)
    expect(steps).toEqual(new Set(['copy', 'compare']))
    // Published rows leave the outbox: the next test but one has some in it.
    const isFew = (table: ArchiveTable, rows: number) => rows < 2 && table !== 'outbox'
    expect(report.tables.filter(({ table, rows }) => isFew(table, rows))).toEqual([])
    expect(await dumpAt(database.url)).toEqual(dump)
    expect(file.bytes()).toBe(before)
    expect(JSON.parse(readFileSync(`${file.file}.moved`, 'utf8'))).toEqual({
      to: expect.stringMatching(/^postgres:\/\/postgres@127\.0\.0\.1:\d+\/test_\d+$/),
      at: expect.any(String),
    })
    await database.drop()
    await file.remove()
  })

  test.each([1, 2, 3, 4])('[MV1] is the same after any operations (%i)', async (seed) => {
    const file = await makeSqliteFile({ foldAt: seed * 7 })
    const dump = await fill(file, seed, 200)
    const database = await postgres.makeDatabase({ empty: seed % 2 === 0 })
    expect(await move(file.file, database.url)).toMatchObject({ isMoved: true })
    expect(await dumpAt(database.url)).toEqual(dump)
    await database.drop()
    await file.remove()
  })

  test('[MV1] [MV3] keeps awkward values: U+0000, the last code point, large bodies, fractions, long keys', async () => {
    const file = await makeSqliteFile()
    const kit = await openKit(async () => file.harness)
    const owner = await kit.join('node \0 é' as NodeId)
    const awkward = 'a\0b\u{10ffff}c\u{10ffff}0😀\u202e"\\\n'
    const long = 'k'.repeat(20_000)
    const large = JSON.stringify('x'.repeat(3_000_000))
    const writes: Write[] = []
    for (const [index, key] of [awkward, long, '', 'plain', `${awkward}${long}`].entries()) {
      const event = kit.event({
        dedupKey: key,
        source: index === 0 ? awkward : 'github',
        data:
          index < 4 ? large : JSON.stringify({ big: 1 }).replace('1', '123456789012345678901234567890.5e400'),
        raw: index % 2 === 0 ? awkward : null,
        occurredAt: index === 0 ? -62_135_596_800_000 : START,
      })
      const work = kit.work(event.id)
      writes.push(
        { w: 'event.append', event, dedupForMs: 60_000 },
        { w: 'work.add', work, lease: index === 0 ? owner : null, delayMs: 0.4 },
        { w: 'ledger.done', entry: kit.entry(work, { key: `l${key}` }), effectRef: awkward, result: awkward },
        {
          w: 'attempt.append',
          work: work.id,
          attempt: kit.attempt(1, { error: awkward, durationMs: 0.1 + 0.2 }),
        },
        {
          w: 'attempt.append',
          work: work.id,
          attempt: kit.attempt(1, { error: 'second', durationMs: 1e-7 }),
        },
        { w: 'record.put', kind: 'secret', key, version: 1, body: awkward },
        { w: 'correlation.put', key, version: 1, body: awkward },
        {
          w: 'outbox.add',
          rows: [{ id: key, subject: awkward, about: 'token', event: null, body: awkward }],
        },
      )
    }
    for (let at = 0; at < writes.length; at += 8) await kit.apply(writes.slice(at, at + 8))
    const dump = await dumpOf(file.harness.store)
    await file.harness.close()
    const database = await postgres.makeDatabase()
    const report = await move(file.file, database.url)
    expect(report.tables.filter(({ isEqual }) => !isEqual)).toEqual([])
    const there = await dumpAt(database.url)
    expect(there.events).toEqual(dump.events)
    expect(there.attempts).toEqual(dump.attempts)
    const byId = (rows: readonly { id: string }[]) => rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    expect(byId(there.outbox)).toEqual(byId(dump.outbox))
    expect(there.outbox).toHaveLength(5)
    const byKey = (rows: readonly { key: string }[]) => rows.toSorted((a, b) => (a.key < b.key ? -1 : 1))
    for (const table of ['ledger', 'records', 'correlations'] as const) {
      expect(byKey(there[table])).toEqual(byKey(dump[table]))
    }
    await database.drop()
    await file.remove()
  })

  test('[HK8] has the key of `hmac`, as it was encrypted: digests stay the same', async () => {
    const file = await makeSqliteFile()
    const encryption = { encryption: makeCountingEncryption(), log: makeMemoryLog() }
    const tenant = 'default' as TenantId
    const keys = makeHmacKeys({
      store: makeEncryptedStore(file.harness.store, encryption),
      random: makeSystemRandom(),
    })
    const before = await keys.ensure(tenant)
    await file.harness.close()
    const database = await postgres.makeDatabase()
    expect((await move(file.file, database.url)).isMoved).toBe(true)
    await using store = await openPostgresStore({ connection: database.url })
    const after = await makeHmacKeys({ store: makeEncryptedStore(store, encryption) }).load(tenant)
    expect(after?.('["ada"]')).toBe(before('["ada"]'))
  })

  test('[MV3] is read page after page, whatever the garbage collector frees meanwhile', async () => {
    const file = await makeSqliteFile()
    const kit = await openKit(async () => file.harness)
    const rows = 2_500
    const record = (index: number): Write => ({
      w: 'record.put',
      kind: 'setting',
      key: `${index}`,
      version: 1,
      body: '{}',
    })
    await kit.apply(Array.from({ length: rows }, (_, index) => record(index)))
    await file.harness.close()
    await using source = await openSqliteArchive(file.file)
    let seen = 0
    for await (const page of source.pages('records')) {
      seen += page.length
      // Unreferenced objects are freed between two turns of the event loop.
      for (let turn = 0; turn < 3; turn += 1) {
        collectGarbage()
        await nextTurn()
      }
    }
    expect(seen).toBe(rows)
    await file.remove()
  })

  test('[MV10] releases leased jobs, to a node with a new number', async () => {
    const file = await makeSqliteFile()
    const kit = await openKit(async () => file.harness)
    await kit.join('node-b' as NodeId)
    const owner = await kit.join('node-a' as NodeId)
    const { work } = await kit.add({ lease: owner })
    await file.harness.close()
    const database = await postgres.makeDatabase()
    await move(file.file, database.url)
    await using store = await openPostgresStore({ connection: database.url })
    const next = await store.join('node-a' as NodeId, 30_000)
    expect(next.owner).toBe(owner + 1)
    expect(await store.renew(owner, 30_000)).toBe('fenced')
    expect(await store.reclaim(10)).toEqual([work.id])
    await file.remove()
  })
})

describe('a refused move', () => {
  test('[MV2] of a file that a node uses, of none, and of one that another version wrote', async () => {
    const file = await makeSqliteFile()
    await file.harness.close()
    const held = await openSqliteArchive(file.file)
    await expect(openSqliteArchive(file.file)).rejects.toThrow(/in use by another process: stop that process/)
    await held[Symbol.asyncDispose]()
    await expect(openSqliteArchive(`${file.file}.not`)).rejects.toThrow(
      /there is no data file .*name the one/,
    )
    expect(existsSync(`${file.file}.not.lock`)).toBe(false)
    const db = openForWriting(file.file)
    db.exec('DELETE FROM migration WHERE number = (SELECT max(number) FROM migration)')
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    await expect(openSqliteArchive(file.file)).rejects.toThrow(
      /earlier version.*start this version on it once/,
    )
    db.exec("INSERT INTO migration VALUES (4711, 'later', '')")
    await expect(openSqliteArchive(file.file)).rejects.toThrow(/written by a newer version/)
    db.close()
    await file.remove()
  })

  test('[MV5] into a database that is in use: its data stays', async () => {
    const file = await makeSqliteFile()
    await fill(file, 7, 40)
    const database = await postgres.makeDatabase()
    const other = await makeSqliteFile()
    const otherDump = await fill(other, 8, 120)
    await move(other.file, database.url)
    for (const isAgain of [false, true]) {
      await expect(move(file.file, database.url, { isAgain })).rejects.toThrow(
        /was moved into this database already/,
      )
    }
    // Like one that a node has filled.
    await postgres.query(database.url, 'DROP TABLE millrace.move')
    for (const isAgain of [false, true]) {
      await expect(move(file.file, database.url, { isAgain })).rejects.toThrow(/rows that no move brought/)
    }
    expect(await dumpAt(database.url)).toEqual(otherDump)
    expect(existsSync(`${file.file}.moved`)).toBe(false)
    await database.drop()
    await Promise.all([file.remove(), other.remove()])
  })

  test('[MV6] [MV12] a broken one closes the database until it is started again; a dry run changes nothing', async () => {
    const file = await makeSqliteFile()
    const dump = await fill(file, 9, 150)
    const database = await postgres.makeDatabase({ empty: true })
    expect(await move(file.file, database.url, { isDryRun: true })).toMatchObject({
      isMoved: false,
      isDryRun: true,
    })
    expect(await postgres.query(database.url, "SELECT to_regnamespace('millrace') AS there")).toEqual([
      { there: null },
    ])
    expect(existsSync(`${file.file}.moved`)).toBe(false)

    const stop = new AbortController()
    const broken = move(file.file, database.url, {
      signal: stop.signal,
      onProgress: ({ table }) => table === 'work' && stop.abort(),
    })
    await expect(broken).rejects.toThrow()
    expect(await rowsOf(database.url)).toBeGreaterThan(0)
    await expect(openPostgresStore({ connection: database.url })).rejects.toThrow(
      /a move of .*millrace\.db has brought so far.*millrace move --again/,
    )
    await expect(move(file.file, database.url)).rejects.toThrow(/a move that did not end/)
    // A dry run says the same, and leaves it.
    await expect(move(file.file, database.url, { isDryRun: true })).rejects.toThrow(/a move that did not end/)
    expect(await move(file.file, database.url, { isAgain: true })).toMatchObject({ isMoved: true })
    expect(await dumpAt(database.url)).toEqual(dump)
    await database.drop()
    await file.remove()
  })

  test('[MV6] a broken one is neither started again nor finished once a node has joined', async () => {
    const file = await makeSqliteFile()
    await fill(file, 10, 60)
    const database = await postgres.makeDatabase()
    await using target = await openPostgresArchive({ connection: database.url })
    await target.begin(file.file)
    // Like a version that knows nothing of moves.
    await postgres.query(database.url, "SELECT * FROM millrace.join_node('stranger', 30000)")
    await expect(target.finish()).rejects.toThrow(
      /the node stranger has been started.*schema is not released/,
    )
    await expect(openPostgresStore({ connection: database.url })).rejects.toThrow(/did not end/)
    await expect(move(file.file, database.url, { isAgain: true })).rejects.toThrow(
      /the node stranger has been started.*nothing is deleted/,
    )
    await file.remove()
  })

  test('[MV6] a node that checked before the move started neither opens nor joins', async () => {
    const database = await postgres.makeDatabase()
    await using early = await openPostgresStore({ connection: database.url })
    const beginner = new pg.Client({ connectionString: database.url })
    await beginner.connect()
    await beginner.query('BEGIN')
    await lockSchema(beginner as unknown as PoolClient, 'millrace')
    await layMark(beginner, 'millrace', 'a file')
    const opening = openPostgresStore({ connection: database.url })
    opening.catch(() => undefined)
    const waiting =
      "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'advisory'"
    await vi.waitFor(async () => expect(await postgres.query(database.url, waiting)).toHaveLength(1), 120_000)
    await beginner.query('COMMIT')
    await beginner.end()
    await expect(opening).rejects.toThrow(/a move of a file has brought so far/)
    await expect(early.join('early' as NodeId, 30_000)).rejects.toThrow(
      /a move of a file has brought so far.*--again/,
    )
    await using target = await openPostgresArchive({ connection: database.url })
    await target.begin('a file')
    await target.finish()
    expect(await early.join('early' as NodeId, 30_000)).toMatchObject({ owner: 1 })
  })

  test('[MV6] a node that joins while a move starts comes before it or after it', async () => {
    const database = await postgres.makeDatabase()
    await using store = await openPostgresStore({ connection: database.url })
    await using target = await openPostgresArchive({ connection: database.url })
    const joiner = new pg.Client({ connectionString: database.url })
    await joiner.connect()
    await joiner.query('BEGIN')
    await joiner.query("SELECT * FROM millrace.join_node('first', 30000)")
    const beginning = target.begin('a file')
    beginning.catch(() => undefined)
    const waiting =
      "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'advisory'"
    await vi.waitFor(async () => expect(await postgres.query(database.url, waiting)).toHaveLength(1), 120_000)
    await joiner.query('COMMIT')
    await joiner.end()
    await expect(beginning).rejects.toThrow(/somebody else has filled schema millrace meanwhile/)
    expect(await store.join('second' as NodeId, 30_000)).toMatchObject({ owner: 2 })
  })

  test('[MV6] a move is not finished after another one was started', async () => {
    const database = await postgres.makeDatabase()
    await using first = await openPostgresArchive({ connection: database.url })
    await using second = await openPostgresArchive({ connection: database.url })
    await first.begin('one file')
    await second.begin('another')
    await expect(first.finish()).rejects.toThrow(/another move into schema millrace has begun since/)
    await expect(openPostgresStore({ connection: database.url })).rejects.toThrow(/a move of another/)
    await second.finish()
    await using store = await openPostgresStore({ connection: database.url })
    expect(await store.join('node' as NodeId, 30_000)).toMatchObject({ owner: 1 })
  })

  test('[MV7] [MV13] any difference is reported, and lets no node start on either side', async () => {
    const file = await makeSqliteFile()
    const kit = await openKit(async () => file.harness)
    const event = kit.event()
    const work = kit.work(event.id, { lane: { key: 'customer 7', width: 1 } })
    await kit.apply([
      { w: 'event.append', event, dedupForMs: 60_000 },
      { w: 'work.add', work, lease: null, delayMs: 0 },
      { w: 'attempt.append', work: work.id, attempt: kit.attempt(1) },
      { w: 'ledger.done', entry: kit.entry(work), effectRef: null, result: null },
      { w: 'correlation.put', key: 'order 4711', version: 1, body: '{}' },
      { w: 'record.put', kind: 'setting', key: 'one', version: 1, body: '{}' },
    ])
    await file.harness.close()
    const database = await postgres.makeDatabase()
    await using source = await openSqliteArchive(file.file)
    await using target = await openPostgresArchive({ connection: database.url })
    /** After everything is copied, and before anything is compared. */
    const damaging = async (sql: string) => {
      const damaged: ArchiveTarget = {
        ...target,
        async count(table) {
          if (table === ARCHIVE_TABLES[0]) await postgres.query(database.url, sql)
          return target.count(table)
        },
      }
      const signal = new AbortController().signal
      return await moveStore({
        source,
        target: damaged,
        isAgain: true,
        isDryRun: false,
        signal,
        onProgress: () => {},
      })
    }
    for (const [table, sql] of [
      [
        'records',
        'UPDATE millrace.record SET version = version + 1 WHERE ctid = (SELECT min(ctid) FROM millrace.record)',
      ],
      [
        'attempts',
        'DELETE FROM millrace.attempt WHERE sequence = (SELECT min(sequence) FROM millrace.attempt)',
      ],
      ['dedup', 'DELETE FROM millrace.dedup WHERE hash = (SELECT hash FROM millrace.dedup LIMIT 1)'],
      ['records', "INSERT INTO millrace.record VALUES ('acme', 'setting', 'stray', 1, '')"],
      ['counters', "SELECT setval('millrace.incarnation_id_seq', 999999)"],
    ] as const) {
      const report = await damaging(sql)
      expect(report.isMoved).toBe(false)
      const different = report.tables.filter(({ isEqual }) => isEqual === false)
      expect(different.map((one) => one.table)).toEqual([table])
    }
    for (const [table, sql] of [
      ['lane', 'UPDATE millrace.lane SET hash = gen_random_uuid()'],
      ['work', 'UPDATE millrace.work SET lane_hash = NULL WHERE lane IS NOT NULL'],
      ['ledger', 'UPDATE millrace.ledger SET hash = gen_random_uuid()'],
      ['correlation', 'UPDATE millrace.correlation SET hash = gen_random_uuid()'],
    ] as const) {
      await expect(damaging(sql)).rejects.toThrow(`a row of ${table} lies under the hash of another key`)
    }
    expect(existsSync(`${file.file}.moved`)).toBe(false)
    await expect(openPostgresStore({ connection: database.url })).rejects.toThrow(/did not end/)
    await file.remove()
  })
})

describe('a file that was moved', () => {
  test('[MV8] [MV9] starts no node until its mark is deleted, and is moved once more only then', async () => {
    const file = await makeSqliteFile()
    await fill(file, 13, 60)
    const [first, second] = [await postgres.makeDatabase(), await postgres.makeDatabase()]
    await move(file.file, first.url)
    await expect(openSqliteStore({ file: file.file })).rejects.toThrow(
      /was moved to postgres:\/\/postgres@.*start the node on that store.*delete .*millrace\.db\.moved/,
    )
    expect(readFileSync(`${file.file}.moved`, 'utf8')).not.toContain('loopback-only')
    await expect(move(file.file, second.url)).rejects.toThrow(/the file was moved already/)
    await rm(`${file.file}.moved`)
    expect(await move(file.file, second.url)).toMatchObject({ isMoved: true })
    await Promise.all([first.drop(), second.drop()])
    await file.remove()
  })

  test('[MV9] whose schema was not released yet is moved again', async () => {
    const file = await makeSqliteFile()
    await fill(file, 14, 60)
    const database = await postgres.makeDatabase()
    await move(file.file, database.url)
    await postgres.query(database.url, 'UPDATE millrace.move SET finished_at = NULL')
    await expect(openPostgresStore({ connection: database.url })).rejects.toThrow(/did not end/)
    expect(await move(file.file, database.url, { isAgain: true })).toMatchObject({ isMoved: true })
    await database.drop()
    await file.remove()
  })
})
