// Situations that only PostgreSQL has: connections that break, several nodes on one database, migrations.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type PostgresServer, startPostgres, type TestDatabase } from '../../../test/support/postgres.ts'
import type {
  DeadLetterId,
  EventId,
  Incarnation,
  NodeId,
  TenantId,
  WorkId,
} from '../../core/foundation/ids/index.ts'
import { makeIds } from '../../core/foundation/ids/index.ts'
import { joinKey } from '../../core/foundation/text/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { Commit, CommitResult, Guard, Store, Write } from '../../ports/store.ts'
import { StoreError } from '../../ports/store.ts'
import { claimSql, makeClaim } from './claim.ts'
import { makeGroupRunner } from './commit/commit.ts'
import { makeGroupSql } from './commit/commit-sql.ts'
import { hashKey } from './commit/keys.ts'
import { makeLaneless } from './commit/laneless.ts'
import { optimisticSql } from './commit/optimistic-sql.ts'
import { makePool, WRITE_SETTINGS } from './connection.ts'
import { openPostgresStore, type PostgresStoreOptions } from './index.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations/index.ts'
import { type BreakingProxy, type Cut, startProxy } from './proxy.fixture.ts'

const TENANT = 'acme' as TenantId
const ROUTE = 'route:crm'
const NODE = 'node-a' as NodeId

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())

type Limits = Omit<PostgresStoreOptions, 'connection'>

const WITH_LOCKS: Limits = { canExpect: false }
const OPTIMISTIC = optimisticSql('millrace')

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function makeDatabase(options?: { empty: boolean }): Promise<TestDatabase> {
  const database = await server.makeDatabase(options)
  cleanUps.push(() => database.drop())
  return database
}

async function open(url: string, options: Limits = {}): Promise<Store> {
  const store = await openPostgresStore({ connection: url, ...options })
  cleanUps.push(async () => store[Symbol.asyncDispose]())
  return store
}

async function openBehindProxy(
  options: Limits = {},
): Promise<{ store: Store; proxy: BreakingProxy; database: TestDatabase }> {
  const database = await makeDatabase()
  const proxy = await startProxy(server.port)
  cleanUps.push(() => proxy.close())
  const store = await open(database.url.replace(`:${server.port}/`, `:${proxy.port}/`), options)
  return { store, proxy, database }
}

const random = makeRandom(20_260_114)
const ids = makeIds({
  now: () => 1_750_000_000_000,
  bytes: (length) => Uint8Array.from({ length }, () => random(256)),
})

function makeRandom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const commitOf = (guards: readonly Guard[], writes: readonly Write[]): Commit => ({
  tenant: TENANT,
  guards,
  writes,
})

const newWork = {
  kind: 'route' as const,
  consumer: ROUTE,
  definition: 'd',
  codeHash: null,
  expiresInMs: DAY,
  replayOf: null,
}

function makeAccept(dedupKey: string, lease: Incarnation | null = null): Commit {
  const event = {
    id: ids.event(),
    tenant: TENANT,
    source: 'shop',
    subject: 'order.created',
    objectType: null,
    objectId: null,
    occurredAt: null,
    correlationId: ids.uuid(),
    causationId: null,
    traceId: ids.uuid(),
    dedupKey,
    payloadHash: 'a'.repeat(64),
    headers: '{}',
    data: '{}',
    raw: null,
    sensitive: [],
    matched: 1,
  }
  const work = { ...newWork, id: ids.work(), eventId: event.id }
  return commitOf(
    [{ g: 'dedup', source: 'shop', key: dedupKey }],
    [
      { w: 'event.append', event, dedupForMs: DAY },
      { w: 'work.add', work, lease, delayMs: 0 },
    ],
  )
}

const workOf = (commit: Commit): WorkId => {
  const add = commit.writes.find((write) => write.w === 'work.add')
  if (add?.w !== 'work.add') throw new Error('the commit adds no work')
  return add.work.id
}

const dumpOf = (store: Store) => store.system('verification').dump()
const commitAll = (store: Store, commits: readonly Commit[]) =>
  Promise.all(commits.map((commit) => store.commit(commit)))
const slots = [{ tenant: TENANT, consumer: ROUTE, max: 1_000 }]
const claimAll = (store: Store, owner: Incarnation, max = 1_000) =>
  store.claim({ owner, slots, max, maxIsolated: 1_000, codeHashes: [] })

async function rejection(promise: Promise<unknown>): Promise<StoreError> {
  const error = await promise.then(
    () => null,
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(StoreError)
  return error
}

describe('a connection that breaks', () => {
  const cuts: readonly (readonly [Cut, string, string, Limits])[] = [
    ['before', 'COMMIT', 'COMMIT', WITH_LOCKS],
    ['after', 'COMMIT', 'COMMIT', WITH_LOCKS],
    ['before', 'BEGIN', 'BEGIN', WITH_LOCKS],
    ['after', 'BEGIN', 'BEGIN', WITH_LOCKS],
    ['before', 'an optimistic group', OPTIMISTIC, {}],
    ['after', 'an optimistic group', OPTIMISTIC, {}],
  ]
  test.each(cuts)('%s the server got %s: each commit is applied once', async (cut, _, sql, options) => {
    const { store, proxy } = await openBehindProxy(options)
    await store.commit(makeAccept('warm'))
    const isCut = proxy.cutAt(sql, cut)
    const commits = Array.from({ length: 10 }, (_, index) => makeAccept(`order-${index}`))
    const results = await commitAll(store, commits)
    await isCut
    expect(results.map(({ ok }) => ok)).toEqual(commits.map(() => true))
    const dump = await dumpOf(store)
    expect(dump.events).toHaveLength(11)
    expect(dump.work).toHaveLength(11)
    // Their instant is known although the response was lost.
    const received = new Map(dump.events.map(({ dedupKey, receivedAt }) => [dedupKey, receivedAt]))
    expect(results.map(({ at }) => at)).toEqual(commits.map((_, index) => received.get(`order-${index}`)))
  })

  test('a COMMIT still on its way is waited for', async () => {
    const { store, proxy, database } = await openBehindProxy(WITH_LOCKS)
    await store.commit(makeAccept('warm'))
    const isCut = proxy.cutAt('COMMIT', 'held')
    const answer = store.commit(makeAccept('order'))
    const { release } = await isCut
    await waitForLock(database.url)
    release()
    expect(await answer).toMatchObject({ ok: true })
    expect((await dumpOf(store)).events).toHaveLength(2)
    const groups = 'SELECT count(*)::int AS n FROM millrace.commit_group WHERE NOT applied'
    expect(await server.query(database.url, groups)).toEqual([{ n: 0 }])
  })

  const held: readonly (readonly [string, string, Limits])[] = [
    ['a transaction', 'INSERT INTO millrace.commit_group (id, applied) VALUES ($1::uuid, true)', WITH_LOCKS],
    ['an optimistic group', OPTIMISTIC, {}],
  ]
  test.each(held)('%s that arrives after its id was taken cannot commit', async (_, sql, options) => {
    const { store, proxy, database } = await openBehindProxy(options)
    await store.commit(makeAccept('warm'))
    const isCut = proxy.cutAt(sql, 'held')
    const answer = store.commit(makeAccept('order'))
    const { release } = await isCut
    expect(await answer).toMatchObject({ ok: true })
    release()
    await waitForBackends(database.url)
    const dump = await dumpOf(store)
    expect(dump.events).toHaveLength(2)
    expect(dump.work).toHaveLength(2)
  })

  test('an unreachable server: nothing was applied', async () => {
    // Once it is known that the connection is gone: what was sent on it before may have been executed.
    let onIdleError: (error: Error) => void = () => {}
    const isNoticed = new Promise<Error>((resolve) => {
      onIdleError = resolve
    })
    const { store, proxy, database } = await openBehindProxy({ onIdleError })
    proxy.refuse()
    await isNoticed
    expect(await rejection(store.commit(makeAccept('order')))).toMatchObject({
      code: 'unavailable',
      applied: 'no',
    })
    expect(await rejection(store.join(NODE, 1_000))).toMatchObject({ code: 'unavailable' })
    expect(await rejection(store.system('health').workCounts())).toMatchObject({ code: 'unavailable' })
    expect(await rejection(open(`${database.url}_missing`))).toMatchObject({ code: 'unavailable' })
  })

  const lost: readonly (readonly [string, string, Limits])[] = [
    ['a COMMIT', 'COMMIT', WITH_LOCKS],
    ['an optimistic group', OPTIMISTIC, {}],
  ]
  test.each(lost)('%s that cannot be settled is indeterminate', async (_, sql, options) => {
    const { store, proxy } = await openBehindProxy({ ...options, settleWithinMs: 200 })
    await store.commit(makeAccept('warm'))
    const isCut = proxy.cutAt(sql, 'after')
    const answer = rejection(store.commit(makeAccept('order')))
    await isCut
    proxy.refuse()
    expect(await answer).toMatchObject({ code: 'unavailable', applied: 'indeterminate' })
  })

  test.each(['before', 'after'] as const)('%s the server got a claim: no job is forgotten', async (cut) => {
    const { store, proxy } = await openBehindProxy()
    const { owner } = await store.join(NODE, 60_000)
    await claimAll(store, owner)
    await commitAll(store, [makeAccept('a'), makeAccept('b'), makeAccept('c')])
    const isCut = proxy.cutAt(claimSql('millrace'), cut)
    const { items, now } = await claimAll(store, owner)
    await isCut
    expect(items.map(({ event }) => event.dedupKey)).toEqual(['a', 'b', 'c'])
    expect(items.map(({ work }) => work)).toEqual((await dumpOf(store)).work)
    expect(items.every(({ work }) => work.owner === owner && work.epoch === 1)).toBe(true)
    expect(now).toBeGreaterThan(0)
  })

  test('[PG13] connections to a read-only server are dropped, and the next ones write', async () => {
    const database = await makeDatabase()
    const store = await open(database.url, { settleWithinMs: 200 })
    await store.commit(makeAccept('before'))
    const name = new URL(database.url).pathname.slice(1)
    const admin = database.url.replace(`/${name}`, '/postgres')
    const setReadOnly = (value: string) =>
      server.query(admin, `ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`)
    await setReadOnly('on')
    await server.query(
      database.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'millrace'
         AND datname = current_database()`,
    )
    expect(await rejection(store.commit(makeAccept('during')))).toMatchObject({ code: 'unavailable' })
    expect(await rejection(store.join(NODE, 60_000))).toMatchObject({ code: 'unavailable' })
    await setReadOnly('off')
    expect(await store.commit(makeAccept('after'))).toMatchObject({ ok: true })
    expect((await store.join(NODE, 60_000)).owner).toBeGreaterThan(0)
    const { events } = await dumpOf(store)
    expect(events.map(({ dedupKey }) => dedupKey)).toEqual(['before', 'after'])
  })

  test('idle connections that the server ended are replaced', async () => {
    const broken: Error[] = []
    const database = await makeDatabase()
    const store = await open(database.url, { onIdleError: (error) => broken.push(error) })
    const { owner } = await store.join(NODE, 60_000)
    await commitAll(store, [makeAccept('a'), makeAccept('b')])
    await dumpOf(store)
    await server.query(
      database.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'millrace'
         AND datname = current_database()`,
    )
    expect(await store.commit(makeAccept('c'))).toMatchObject({ ok: true })
    expect((await claimAll(store, owner)).items).toHaveLength(3)
    expect((await dumpOf(store)).events).toHaveLength(3)
    expect(broken.length).toBeGreaterThan(0)
  })
})

describe('a connection with a transaction that an earlier user left open', () => {
  async function openPool() {
    const database = await makeDatabase()
    const limits = { connectTimeoutMs: 10_000, statementTimeoutMs: 30_000, lockTimeoutMs: 10_000 }
    const pool = makePool(
      { connectionString: database.url },
      { ...limits, connections: 1, settings: WRITE_SETTINGS },
      () => {},
    )
    cleanUps.push(() => pool.end())
    const laneless = makeLaneless()
    const deps = { pool, schema: 'millrace', settleWithinMs: 10_000, makeGroupId: ids.uuid, laneless }
    const leaveOpen = async () => {
      const client = await pool.connect()
      await client.query('BEGIN')
      client.release()
    }
    return { store: await open(database.url), deps: { ...deps, canExpect: true }, leaveOpen }
  }

  test('[PG21] an optimistic group on it counts as lost, and is executed with locks', async () => {
    const { store, deps, leaveOpen } = await openPool()
    await leaveOpen()
    expect(await makeGroupRunner(deps)([makeAccept('order')])).toMatchObject([{ ok: true }])
    expect((await dumpOf(store)).events.map(({ dedupKey }) => dedupKey)).toEqual(['order'])
  })

  test('a claim on it counts as lost, and is made again', async () => {
    const { store, deps, leaveOpen } = await openPool()
    await store.commit(makeAccept('order'))
    const { owner } = await store.join(NODE, 60_000)
    await leaveOpen()
    const { items } = await makeClaim(deps)({ owner, slots, max: 1, maxIsolated: 1, codeHashes: [] })
    expect(items.map(({ event }) => event.dedupKey)).toEqual(['order'])
    expect((await dumpOf(store)).work).toMatchObject([{ state: 'leased', epoch: 1 }])
  })
})

describe('round trips', () => {
  const groups: readonly (readonly [number, string, Limits, number])[] = [
    [1, 'as expected needs one', {}, 1],
    [24, 'as expected needs one', {}, 1],
    [1, 'with locks needs two', WITH_LOCKS, 2],
    [24, 'with locks needs two', WITH_LOCKS, 2],
  ]
  test.each(groups)('[PG21] a group of %i %s', async (size, _, options, roundTrips) => {
    const { store, proxy } = await openBehindProxy(options)
    const { owner } = await store.join(NODE, 60_000)
    await store.commit(makeAccept('warm', owner))
    const counter = proxy.countRoundTrips()
    const commits = Array.from({ length: size }, (_, index) => makeAccept(`order-${index}`, owner))
    const results = await commitAll(store, commits)
    expect(results.map((result) => result.ok && result.leased)).toEqual(commits.map((one) => [workOf(one)]))
    expect(counter.roundTrips()).toBe(roundTrips)
  })

  test('one that settles in lanes needs two', async () => {
    const { store, proxy } = await openBehindProxy()
    const accepts = Array.from({ length: 20 }, (_, index) => {
      const lane = index % 2 === 0 ? { lane: { key: `lane-${index % 4}`, width: 1 } } : {}
      const accept = makeAccept(`order-${index}`)
      const writes = accept.writes.map((write) =>
        write.w === 'work.add' ? { ...write, work: { ...write.work, ...lane } } : write,
      )
      return { ...accept, writes }
    })
    await commitAll(store, accepts)
    const counters = { attempts: 1, waits: 0, losses: 0 }
    const settle = (work: WorkId): Write => ({
      ...{ w: 'work.settle', work, to: 'done', counters, note: EMPTY_NOTE },
    })
    const [first, ...rest] = accepts.map((accept) => commitOf([], [settle(workOf(accept))]))
    await store.commit(first as Commit)
    const counter = proxy.countRoundTrips()
    await commitAll(store, rest)
    expect(counter.roundTrips()).toBe(2)
    expect((await dumpOf(store)).lanes).toMatchObject([
      { key: 'lane-0', places: 0, waiting: 0 },
      { key: 'lane-2', places: 0, waiting: 0 },
    ])
  })
})

describe('several nodes on one database', () => {
  async function openNodes(count: number): Promise<{ stores: Store[]; database: TestDatabase }> {
    const database = await makeDatabase()
    const stores: Store[] = []
    for (let index = 0; index < count; index += 1) stores.push(await open(database.url))
    return { stores, database }
  }

  test('claims are disjoint and leave nothing', async () => {
    const { stores } = await openNodes(3)
    await commitAll(
      stores[0]!,
      Array.from({ length: 200 }, (_, index) => makeAccept(`order-${index}`)),
    )
    const claimed = await Promise.all(
      stores.map(async (store, index) => {
        const { owner } = await store.join(`node-${index}` as NodeId, 60_000)
        const mine: WorkId[] = []
        for (;;) {
          const { items, nextDueAt } = await claimAll(store, owner, 7)
          for (const { work } of items) mine.push(work.id)
          if (items.length === 0 && nextDueAt === null) return mine
        }
      }),
    )
    expect(claimed.flat()).toHaveLength(200)
    expect(new Set(claimed.flat()).size).toBe(200)
  })

  test('one event per key, whichever node accepts it, and the others learn which', async () => {
    const { stores } = await openNodes(3)
    const rounds = await Promise.all(
      stores.map((store) =>
        commitAll(
          store,
          Array.from({ length: 100 }, (_, index) => makeAccept(`order-${index}`)),
        ),
      ),
    )
    const { events, work } = await dumpOf(stores[0]!)
    expect(events).toHaveLength(100)
    expect(work).toHaveLength(100)
    const first = new Map(events.map((event) => [event.dedupKey, event.id]))
    for (let index = 0; index < 100; index += 1) {
      const results = rounds.map((results) => results[index]!)
      expect(results.filter(({ ok }) => ok)).toHaveLength(1)
      for (const result of results) {
        if (!result.ok) expect(result.found).toEqual({ f: 'event', id: first.get(`order-${index}`) })
      }
    }
  })

  test('a version is written by one node', async () => {
    const { stores } = await openNodes(3)
    const applied = await Promise.all(
      stores.map(async (store) => {
        const done: number[] = []
        for (let tried = 0; tried < 30; tried += 1) {
          const now = (await store.forTenant(TENANT).record('setting', 'counter'))?.version ?? 0
          const result = await store.commit(
            commitOf(
              [{ g: 'version', of: 'setting', key: 'counter', version: now }],
              [{ w: 'record.put', kind: 'setting', key: 'counter', version: now + 1, body: '{}' }],
            ),
          )
          if (result.ok) done.push(now + 1)
        }
        return done
      }),
    )
    const versions = applied.flat().sort((a, b) => a - b)
    expect(versions).toEqual(versions.map((_, index) => index + 1))
    expect(await stores[0]!.forTenant(TENANT).record('setting', 'counter')).toEqual({
      version: versions.length,
      body: '{}',
    })
  })

  test('a join waits for its predecessor’s transactions', async () => {
    const { store, proxy, database } = await openBehindProxy(WITH_LOCKS)
    const other = await open(database.url)
    const { owner } = await store.join(NODE, 60_000)
    const accept = makeAccept('order', owner)
    await store.commit(accept)
    const isCut = proxy.cutAt('COMMIT', 'held')
    const settle: Write = {
      w: 'work.settle',
      work: workOf(accept),
      to: 'done',
      counters: { attempts: 1, waits: 0, losses: 0 },
      note: EMPTY_NOTE,
    }
    const guard: Guard = { g: 'lease', work: workOf(accept), owner, epoch: 1 }
    const settled = store.commit(commitOf([guard], [settle]))
    const { release } = await isCut
    let hasJoined = false
    const joined = other.join(NODE, 60_000).then((answer) => {
      hasJoined = true
      return answer
    })
    await waitForLock(database.url, 2)
    expect(hasJoined).toBe(false)
    release()
    expect(await settled).toMatchObject({ ok: true })
    expect((await joined).owner).toBeGreaterThan(owner)
    expect((await other.forTenant(TENANT).work(workOf(accept)))?.state).toBe('done')
    expect(await other.reclaim(10)).toEqual([])
  })

  test('groups in any order of keys never wait in a circle', async () => {
    const { stores, database } = await openNodes(3)
    await commitAll(
      stores[0]!,
      Array.from({ length: 40 }, (_, index) => makeAccept(`seed-${index}`)),
    )
    const work = (await dumpOf(stores[0]!)).work.map(({ id }) => id)
    const results = await Promise.all(stores.map((store) => hammer(store, work)))
    for (const answers of results) expect(answers).toHaveLength(360)
    expect(results.flat().filter(({ ok }) => ok).length).toBeGreaterThan(500)
    for (const store of stores) await store[Symbol.asyncDispose]()
    await waitForBackends(database.url)
    const stats = 'SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = current_database()'
    expect(await server.query(database.url, stats)).toEqual([{ n: 0 }])
  })

  async function hammer(store: Store, work: readonly WorkId[]): Promise<CommitResult[]> {
    const results: CommitResult[] = []
    for (let round = 0; round < 12; round += 1) {
      const commits = Array.from({ length: 30 }, () => makeTangle(work))
      results.push(...(await commitAll(store, commits)))
    }
    return results
  }

  test('[ST100] retention walks and new jobs for the same events', async () => {
    const database = await makeDatabase()
    const stores = await Promise.all([open(database.url), open(database.url)])
    const accepts = Array.from({ length: 120 }, (_, index) => makeShort(`key-${index}`))
    await commitAll(stores[0]!, accepts)
    const request = { tenant: TENANT, keepMs: {}, otherwiseMs: 0, after: null, scanMax: 40 }
    const events = accepts.map(eventOf)
    const gone = await Promise.all(
      stores.map(async (store) => {
        let sum = 0
        for (let round = 0; round < 8; round += 1) {
          const again = Array.from({ length: 6 }, () => events[random(events.length)]!)
          const writes = (id: EventId): Write[] => [
            { w: 'event.repeat', event: id, count: 1 },
            { w: 'work.add', work: { ...newWork, id: ids.work(), eventId: id }, lease: null, delayMs: 0 },
          ]
          const [pruned] = await Promise.all([
            store.prune(request),
            commitAll(
              store,
              again.map((id) => commitOf([], writes(id))),
            ),
          ])
          sum += pruned.events
        }
        return sum
      }),
    )
    const dump = await dumpOf(stores[0]!)
    const left = new Set(dump.events.map(({ id }) => id))
    expect(gone[0]! + gone[1]! + left.size).toBe(120)
    // No row depends on a removed event, and every event with open jobs exists.
    expect(dump.work.filter(({ eventId }) => !left.has(eventId))).toEqual([])
    expect(new Set(dump.work.map(({ eventId }) => eventId))).toEqual(left)
    expect(await server.query(database.url, ORPHANS)).toEqual([{ n: 0 }])
    for (const store of stores) await store[Symbol.asyncDispose]()
    await waitForBackends(database.url)
    const stats = 'SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = current_database()'
    expect(await server.query(database.url, stats)).toEqual([{ n: 0 }])
  })

  test('[ST96] an event whose key is being read, as by an arriving duplicate, stays', async () => {
    const database = await makeDatabase()
    const store = await open(database.url)
    const short = makeShort('key')
    const [append, ...rest] = short.writes
    if (append?.w !== 'event.append') throw new Error('not an accept')
    await store.commit({ ...short, writes: [{ ...append, dedupForMs: DAY }, ...rest] })
    const other = new pg.Client(database.url)
    await other.connect()
    try {
      await other.query('BEGIN')
      await other.query('SELECT * FROM millrace.dedup FOR UPDATE')
      const request = { tenant: TENANT, keepMs: {}, otherwiseMs: 0, after: null, scanMax: 40 }
      expect(await store.prune(request)).toMatchObject({ events: 0, work: 0, dedup: 0 })
    } finally {
      await other.end()
    }
    expect(await store.forTenant(TENANT).event(append.event.id)).not.toBeNull()
  })

  const ORPHANS =
    'SELECT count(*)::int AS n FROM millrace.event_repeat WHERE event NOT IN (SELECT id FROM millrace.event)'

  /** An event whose work is done and whose dedup window is over. */
  function makeShort(dedupKey: string): Commit {
    const [append, add] = makeAccept(dedupKey).writes
    if (append?.w !== 'event.append' || add?.w !== 'work.add') throw new Error('not an accept')
    const counters = { attempts: 1, waits: 0, losses: 0 }
    return commitOf(
      [],
      [
        { ...append, dedupForMs: 0 },
        add,
        { w: 'work.settle', work: add.work.id, to: 'done', counters, note: EMPTY_NOTE },
      ],
    )
  }

  const eventOf = ({ writes: [append] }: Commit): EventId => {
    if (append?.w !== 'event.append') throw new Error('the commit appends no event')
    return append.event.id
  }

  /** Several rows of every table, in any order, some new and some old. */
  function makeTangle(work: readonly WorkId[]): Commit {
    const accept = makeAccept(`key-${random(400)}`)
    const counters = { attempts: 1, waits: 0, losses: 0 }
    const pickWork = () => work[random(work.length)]!
    const writes: Write[] = [...new Set([pickWork(), pickWork(), pickWork()])].map((id) => ({
      w: 'work.again',
      work: id,
      delayMs: 0,
      counters,
      note: EMPTY_NOTE,
    }))
    for (const key of new Set([random(90), random(90), random(90)])) {
      const entry = {
        key: `ledger-${key}`,
        work: pickWork(),
        epoch: 1,
        consumer: ROUTE,
        eventId: ids.event(),
        objectId: null,
        payloadHash: 'a',
        correlationId: 'c',
      }
      writes.push({ w: 'ledger.reserve', entry, sendWithinMs: 1_000 })
    }
    for (const key of new Set([random(90), random(90)])) {
      writes.push({ w: 'record.put', kind: 'setting', key: `record-${key}`, version: 1, body: '{}' })
    }
    const guards = random(2) === 0 ? accept.guards : []
    const shuffled = [...accept.writes, ...writes].map((write) => ({ write, at: random(1_000) }))
    shuffled.sort((a, b) => a.at - b.at)
    return commitOf(
      guards,
      shuffled.map(({ write }) => write),
    )
  }
})

describe('migrations', () => {
  /** A released step never changes. */
  const RELEASED = ['13635fe1e13e0b5f', 'a4f49dc654a34ce3', 'a91433f70475b03d', '70ca033937fe5772']
  const readMigrations = (url: string) =>
    server.query(url, 'SELECT number, checksum FROM millrace.migration ORDER BY number')

  test('two nodes that start at once on an empty database', async () => {
    const { url } = await makeDatabase({ empty: true })
    const stores = await Promise.all([open(url), open(url), open(url)])
    expect(await commitAll(stores[0]!, [makeAccept('a')])).toMatchObject([{ ok: true }])
    expect(await readMigrations(url)).toHaveLength(MIGRATIONS.length)
  })

  test('a database of the previous release keeps all its data, and accepts new data', async () => {
    const { url } = await makeDatabase({ empty: true })
    const pool = new pg.Pool({ connectionString: url })
    const client = await pool.connect()
    await migrate(client, 'millrace', { migrations: MIGRATIONS.slice(0, RELEASED.length) })
    client.release()
    await pool.end()
    const sums = (await readMigrations(url)).map(({ checksum }) => String(checksum).slice(0, 16))
    expect(sums).toEqual(RELEASED)
    const event = ids.event()
    const delivered = ids.work()
    await server.query(
      url,
      `INSERT INTO millrace.work (tenant, id, kind, consumer, definition, event_id, epoch, created_at, expires_at, state,
         due_at, alone, attempts, waits, losses)
       VALUES ('acme', '${delivered}', 'delivery', 'subscription:old', 'd', '${event}', 0, 1750000000000, 9750000000000, 'done',
         1750000000000, false, 0, 0, 0);
       INSERT INTO millrace.attempt (tenant, work, number, started_at, duration_ms, outcome)
       VALUES ('acme', '${delivered}', 1, 1750000000000, 12, 'done');
       INSERT INTO millrace.event (tenant, id, source, subject, correlation_id, trace_id, dedup_key, payload_hash,
         headers, data, matched, received_at)
       VALUES ('acme', '${event}', 'shop', 'order.created', 'c', 't', 'k', 'h', '{}', '{"id":1}', 1, 1750000000000);
       INSERT INTO millrace.work (tenant, id, kind, consumer, definition, event_id, epoch, created_at, expires_at, state,
         due_at, alone, attempts, waits, losses)
       VALUES ('acme', '${ids.work()}', 'route', '${ROUTE}', 'd', '${event}', 0, 1750000000000, 9750000000000, 'ready',
         1750000000000, false, 0, 0, 0);
       INSERT INTO millrace.ledger (hash, tenant, key, work, epoch, consumer, event_id, payload_hash, correlation_id,
         generation, state, evidence, created_at)
       VALUES ('${hashKey(joinKey(TENANT, 'K')).toString('hex')}', 'acme', 'K', '${ids.work()}', 1, '${ROUTE}', '${event}', 'h',
         'c', 1, 'done', '[]', 1750000000000);
       INSERT INTO millrace.dead_letter (tenant, id, version, state, class, reason, consumer, event_id, work_id, attempts,
         replays, last_error, correlation_id, payload_hash, severity, created_at, updated_at)
       VALUES ('acme', 'dlq_1', 1, 'open', 'config', 'rejected', '${ROUTE}', '${event}', '${ids.work()}', 1, 0, 'e', 'c', 'h',
         'high', 1750000000000, 1750000000000)`,
    )
    const store = await open(url)
    await store.commit(commitOf([], [{ w: 'event.repeat', event, count: 2 }]))
    const { owner } = await store.join(NODE, 30_000)
    const { items } = await claimAll(store, owner)
    expect(items).toMatchObject([{ event: { id: event, raw: null, data: '{"id":1}', duplicates: 2 } }])
    const old = { lane: null, hasPlace: false, isFrozen: false, into: null, element: null, generation: 1 }
    expect(items[0]?.work).toMatchObject({ ...old, instance: null, step: null })
    const reads = store.forTenant(TENANT)
    expect(await reads.event(event)).toMatchObject({ raw: null, duplicates: 2 })
    const [attempt, ...others] = await reads.attempts(delivered)
    expect(others).toEqual([])
    expect(attempt).toMatchObject({ number: 1, durationMs: 12, error: null })
    expect(attempt).not.toHaveProperty('response')
    const list = await reads.workList({ consumer: 'subscription:old', cursor: null, limit: 9 })
    expect(list.items.map(({ id }) => id)).toEqual([delivered])
    expect(await reads.ledgerHistory('K')).toMatchObject([{ key: 'K', generation: 1, state: 'done' }])
    expect(await reads.deadLetter('dlq_1' as DeadLetterId)).toMatchObject({ step: null, failureId: null })
  })

  test('a database of a newer version is left as it is', async () => {
    const { url } = await makeDatabase()
    const sql = "INSERT INTO millrace.migration (number, name, checksum) VALUES (99, 'later', 'x')"
    await server.query(url, sql)
    const before = await readMigrations(url)
    const error = await rejection(openPostgresStore({ connection: url }))
    expect(error.code).toBe('newer_version')
    expect(error.message).toMatch(/schema millrace is at version 99, made by a newer Millrace/)
    expect(await readMigrations(url)).toEqual(before)
  })

  test('[ND20] [ND21] the previous version starts and works beside a newer one that allows it; older ones are refused', async () => {
    const { url } = await makeDatabase()
    const before = await open(url)
    const add = (number: number, worksFrom: number | null) =>
      server.query(
        url,
        `INSERT INTO millrace.migration (number, name, checksum, works_from) VALUES (${number}, 'later', 'x', ${worksFrom})`,
      )
    await add(MIGRATIONS.length + 1, MIGRATIONS.length)
    expect(await commitAll(before, [makeAccept('a')])).toMatchObject([{ ok: true }])
    const beside = await open(url)
    expect(await commitAll(beside, [makeAccept('b')])).toMatchObject([{ ok: true }])
    await add(MIGRATIONS.length + 2, MIGRATIONS.length + 1)
    const error = await rejection(openPostgresStore({ connection: url }))
    expect(error.code).toBe('newer_version')
    expect(error.message).toMatch(/cannot run on it\. Start the newer version/)
    expect(await commitAll(before, [makeAccept('c')])).toMatchObject([{ ok: true }])
  })

  test('[ND20] a node of the version before goes on while the key of jobs is replaced, and no job is lost or doubled', async () => {
    const { url } = await makeDatabase()
    const before = await open(url)
    const indexes = () =>
      server.query(
        url,
        `SELECT indexname AS name, indexdef AS text FROM pg_indexes WHERE schemaname = 'millrace' AND tablename = 'work' ORDER BY 1`,
      )
    const fresh = await indexes()
    // As step 14 left it.
    await server.query(
      url,
      `ALTER TABLE millrace.work DROP CONSTRAINT work_pkey, ADD CONSTRAINT work_pkey PRIMARY KEY (id);
       CREATE INDEX work_of_tenant ON millrace.work (tenant, id);
       DROP TABLE millrace.fact;
       DELETE FROM millrace.migration WHERE number >= 15`,
    )
    expect(await indexes()).not.toEqual(fresh)
    const { owner } = await before.join(NODE, 600_000)
    let isOver = false
    const accepted: Commit[] = []
    const working = (async () => {
      for (let round = 0; !isOver || round < 3; round += 1) {
        const commits = Array.from({ length: 20 }, (_, index) => makeAccept(`${round}-${index}`, owner))
        const ends = commits.map((commit) =>
          commitOf(
            [{ g: 'lease', work: workOf(commit), owner, epoch: 1 }],
            [
              {
                w: 'work.settle',
                work: workOf(commit),
                to: 'done',
                counters: { attempts: 1, waits: 0, losses: 0 },
                note: EMPTY_NOTE,
              },
            ],
          ),
        )
        for (const { ok } of await commitAll(before, commits)) expect(ok).toBe(true)
        for (const { ok } of await commitAll(before, ends)) expect(ok).toBe(true)
        accepted.push(...commits)
      }
    })()
    const after = await open(url)
    isOver = true
    await working
    expect(await indexes()).toEqual(fresh)
    expect(await readMigrations(url)).toHaveLength(MIGRATIONS.length)
    const { work } = await dumpOf(after)
    expect(work.map(({ id, state }) => `${id} ${state}`).sort()).toEqual(
      accepted.map((commit) => `${workOf(commit)} done`).sort(),
    )
    // The new key refuses a second job of the same id.
    const [first] = work
    const double = makeAccept('other').writes.map((write) =>
      write.w === 'work.add' ? { ...write, work: { ...write.work, id: first?.id as WorkId } } : write,
    )
    await expect(after.commit(commitOf([], double))).rejects.toThrow('work_pkey')
    expect((await dumpOf(after)).work).toHaveLength(accepted.length)
  })

  test('a migration that is not the known one', async () => {
    const { url } = await makeDatabase()
    await server.query(url, "UPDATE millrace.migration SET checksum = 'edited' WHERE number = 1")
    const error = await rejection(openPostgresStore({ connection: url }))
    expect(error.code).toBe('corrupt')
    expect(error.message).toMatch(/migration 1 \(first tables\) of schema millrace is not the one/)
  })

  test('missing tables', async () => {
    const { url } = await makeDatabase()
    const store = await open(url)
    await server.query(url, 'DROP TABLE millrace.dedup')
    expect(await rejection(store.commit(makeAccept('a')))).toMatchObject({ code: 'corrupt', applied: 'no' })
  })

  test('two schemas in one database do not see each other', async () => {
    const { url } = await makeDatabase()
    const [one, other] = [await open(url), await open(url, { schema: 'other' })]
    expect(await one.commit(makeAccept('a'))).toMatchObject({ ok: true })
    expect(await other.commit(makeAccept('a'))).toMatchObject({ ok: true })
    expect((await dumpOf(one)).events).toHaveLength(1)
    expect((await dumpOf(other)).events).toHaveLength(1)
    await expect(openPostgresStore({ connection: url, schema: 'a"b' })).rejects.toThrow('is not plain')
  })
})

describe('a value that cannot be written', () => {
  test('spoils only its own commit', async () => {
    const store = await open((await makeDatabase()).url)
    const broken = makeAccept('broken')
    const [append] = broken.writes
    const spoiled = { ...broken, writes: [{ ...append, dedupForMs: Number.NaN } as Write] }
    const settled = await Promise.allSettled(
      [makeAccept('a'), spoiled, makeAccept('b')].map((commit) => store.commit(commit)),
    )
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((await dumpOf(store)).events).toHaveLength(2)
  })
})

describe('odd texts', () => {
  test('U+0000 in keys and texts', async () => {
    const store = await open((await makeDatabase()).url)
    const commit = makeAccept('a\0b\u{10ffff}0')
    expect(await store.commit(commit)).toMatchObject({ ok: true })
    expect(await store.commit(makeAccept('a\0b\u{10ffff}0'))).toMatchObject({ ok: false })
    expect(await store.commit(makeAccept('a\0b\u{10ffff}'))).toMatchObject({ ok: true })
    expect((await dumpOf(store)).events.map(({ dedupKey }) => dedupKey)).toEqual([
      'a\0b\u{10ffff}0',
      'a\0b\u{10ffff}',
    ])
  })
})

/** Waits until this many backends of the store wait for a lock. */
async function waitForLock(url: string, count = 1): Promise<void> {
  const sql = `SELECT count(*)::int AS n FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND datname = current_database()`
  await waitUntil(async () => ((await server.query(url, sql))[0]?.n as number) >= count)
}

/** Waits until no backend of the store has a transaction open. */
async function waitForBackends(url: string): Promise<void> {
  const sql = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'millrace'
    AND datname = current_database() AND state <> 'idle'`
  await waitUntil(async () => (await server.query(url, sql))[0]?.n === 0)
}

async function waitUntil(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(5)
}

describe('plans', () => {
  test('rows are looked up by their own key, also with a plan made while the table was empty', async () => {
    const { url } = await makeDatabase()
    const client = new pg.Client(url)
    await client.connect()
    cleanUps.push(() => client.end())
    for (const [name, value] of Object.entries(WRITE_SETTINGS)) {
      await client.query('SELECT set_config($1, $2, false)', [name, value])
    }
    const statements = Object.entries(makeGroupSql('millrace')).filter(([name]) =>
      /^(lock|update|delete|match|move)/.test(name),
    )
    const used = new Map<string, string[]>()
    for (const [name, sql] of statements) {
      const count = new Set(sql.match(/\$\d+/g)).size
      await client.query(`PREPARE "${name}" AS ${sql}`)
      const { rows } = await client.query(
        `EXPLAIN EXECUTE "${name}"(${Array(count).fill('NULL').join(', ')})`,
      )
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      expect({ name, plan }).toEqual({ name, plan: expect.not.stringContaining('Seq Scan') })
      used.set(name, plan.match(/(?<=using |Bitmap Index Scan on )\w+/g) ?? [])
    }
    expect(used.size).toBeGreaterThan(20)
    const byKey = /_pkey$|^(work|event)_of_tenant$/
    const byOther = new Set([...used.values()].flat().filter((index) => !byKey.test(index)))
    // The jobs that wait in a lane, and the raised escalation of a cause.
    expect(byOther).toEqual(new Set(['work_waiting', 'escalation_raised']))
  })
})
