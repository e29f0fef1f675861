import pg, { type PoolClient } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type PostgresServer,
  startPostgres,
  type TestClock,
  type TestDatabase,
} from '../../../test/support/postgres.ts'
import type { DeadLetterId, EventId, InstanceId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { eventIdAt, makeIds } from '../../core/foundation/ids/index.ts'
import { DAY, HOUR } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { Pruned, PruneRequest } from '../../core/store/retention/index.ts'
import type { Commit, Store, Write } from '../../ports/store.ts'
import { makeGroupSql } from './commit/commit-sql.ts'
import { assertOwnSessions, makePool, prepare, WRITE_SETTINGS } from './connection.ts'
import { openPostgresStore } from './index.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations/index.ts'
import { dropPartition } from './partitions.ts'

const TENANT = 'acme' as TenantId
const OTHER = 'globex' as TenantId
/** A Monday. */
const MONDAY = Date.UTC(2026, 0, 5)
const WEEK = 7 * DAY
const KEEP = 30 * DAY
/** How many weeks there are partitions for, from that Monday on. */
const WEEKS = 8

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

let at = MONDAY
let drawn = 0
/** Ids never go back in time: each test has its own. */
const makeTestIds = () =>
  makeIds({
    now: () => at,
    bytes: (length) => Uint8Array.from({ length }, () => (drawn++ * 151) & 0xff),
  })
let ids = makeTestIds()
beforeEach(() => {
  at = MONDAY
  ids = makeTestIds()
})

interface World {
  readonly store: Store
  readonly database: TestDatabase
  readonly clock: TestClock
  query(sql: string): Promise<Record<string, unknown>[]>
  /** Sets the clock of the store, and of ids created from now on. */
  setNow(to: number): Promise<void>
}

/** A store with partitions of weeks that are long over. */
async function openWorld(): Promise<World> {
  const database = await server.makeDatabase()
  cleanUps.push(() => database.drop())
  const clock = await server.controlClock(database.url)
  cleanUps.push(() => clock.close())
  const query = (sql: string) => server.query(database.url, sql)
  await query('DROP TABLE millrace.event_past, millrace.attempt_past, millrace.history_past')
  await query(`SELECT millrace.make_partitions(${MONDAY}, ${WEEKS})`)
  const store = await openPostgresStore({ connection: database.url })
  cleanUps.push(async () => store[Symbol.asyncDispose]())
  const setNow = async (to: number) => {
    at = to
    await clock.setNow(to)
  }
  await setNow(MONDAY)
  return { store, database, clock, query, setNow }
}

interface Accepted {
  readonly commit: Commit
  readonly event: EventId
  readonly work: WorkId
}

const counters = { attempts: 1, waits: 0, losses: 0 }
const settle = (work: WorkId): Write => ({ w: 'work.settle', work, to: 'done', counters, note: EMPTY_NOTE })

function makeAccepted(key: string, { tenant = TENANT, isDone = true } = {}): Accepted {
  const event = ids.event()
  const work = ids.work()
  const append: Write = {
    w: 'event.append',
    event: {
      ...{ id: event, tenant, source: 'shop', subject: 'order.created', objectType: null, objectId: null },
      ...{
        occurredAt: null,
        correlationId: ids.uuid(),
        causationId: null,
        traceId: ids.uuid(),
        dedupKey: key,
      },
      ...{ payloadHash: 'a'.repeat(64), headers: '{}', data: '{}', raw: null, sensitive: [], matched: 1 },
    },
    dedupForMs: DAY,
  }
  const attempt: Write = {
    w: 'attempt.append',
    work,
    attempt: {
      ...{
        number: 1,
        startedAt: at,
        durationMs: 1,
        outcome: 'done',
        class: null,
        httpStatus: 200,
        error: null,
      },
    },
  }
  const writes: Write[] = [append, addWork(work, event)]
  if (isDone) writes.push(attempt, settle(work))
  return { commit: { tenant, guards: [], writes }, event, work }
}

function addWork(id: WorkId, eventId: EventId): Write {
  const work = {
    ...{ id, kind: 'route' as const, consumer: 'route:crm', definition: 'd', codeHash: null, eventId },
    ...{ expiresInMs: 300 * DAY, replayOf: null },
  }
  return { w: 'work.add', work, lease: null, delayMs: 0 }
}

/** This many a day from the Monday on. */
async function acceptDaily(world: World, days: number, perDay: number): Promise<Accepted[]> {
  const made: Accepted[] = []
  for (let day = 0; day < days; day += 1) {
    await world.setNow(MONDAY + day * DAY + HOUR)
    const today = Array.from({ length: perDay }, (_, index) => makeAccepted(`${day}-${index}`))
    await Promise.all(today.map(({ commit }) => world.store.commit(commit)))
    made.push(...today)
  }
  return made
}

const REQUEST: PruneRequest = { tenant: TENANT, keepMs: {}, otherwiseMs: KEEP, after: null, scanMax: 5 }

/** A whole walk: what it removed in total, and the positions it passed. */
async function walk(
  store: Store,
  request: PruneRequest = REQUEST,
  between: (next: string) => Promise<unknown> = async () => undefined,
): Promise<{ gone: Pruned; places: string[] }> {
  const places: string[] = []
  let sum: Record<string, number> = {}
  for (let after: string | null = null, calls = 0; calls < 500; calls += 1) {
    const { next, ...counts } = await store.prune({ ...request, after })
    sum = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, (sum[name] ?? 0) + count]))
    if (next === null) return { gone: { ...sum, next: null } as unknown as Pruned, places }
    places.push(next.split(' ')[0] ?? '')
    await between(next)
    after = next
  }
  throw new Error('the walk does not end')
}

async function namesOf(world: World, table: string): Promise<string[]> {
  const rows = await world.query(
    `SELECT name FROM millrace.partition WHERE parent = '${table}' AND upper IS NOT NULL ORDER BY upper`,
  )
  return rows.map(({ name }) => String(name))
}
const nameAt = (table: string, week: number) =>
  `${table}_${new Date(MONDAY + week * WEEK).toISOString().slice(0, 10).replaceAll('-', '')}`
const countIn = async (world: World, table: string) =>
  Number((await world.query(`SELECT count(*)::int AS n FROM millrace.${table}`))[0]?.n)

describe('where rows are stored', () => {
  test('[PG1] by the week of their ids, and in the default partition if their week has none', async () => {
    const world = await openWorld()
    await acceptDaily(world, 9, 1)
    expect(await countIn(world, nameAt('event', 0))).toBe(7)
    expect(await countIn(world, nameAt('event', 1))).toBe(2)
    expect(await countIn(world, nameAt('attempt', 0))).toBe(7)
    await world.setNow(MONDAY + 400 * WEEK)
    const odd = makeAccepted('odd')
    await world.store.commit(odd.commit)
    expect(await countIn(world, 'event_default')).toBe(1)
    expect(await world.store.forTenant(TENANT).event(odd.event)).toMatchObject({ dedupKey: 'odd' })
    expect(await world.store.forTenant(TENANT).attempts(odd.work)).toHaveLength(1)
    await expect(world.store.commit(odd.commit)).rejects.toThrow('cannot be written')
    const page = await world.store.forTenant(TENANT).events({ cursor: null, limit: 4 })
    expect(page.items.map(({ dedupKey }) => dedupKey)).toEqual(['odd', '8-0', '7-0', '6-0'])
  })

  test('[PG2] a starting node creates this week’s partition and the two ahead, once', async () => {
    const database = await server.makeDatabase({ empty: true })
    cleanUps.push(() => database.drop())
    const stores = await Promise.all([1, 2].map(() => openPostgresStore({ connection: database.url })))
    for (const store of stores) cleanUps.push(async () => store[Symbol.asyncDispose]())
    const rows = await server.query(
      database.url,
      `SELECT parent, count(*)::int AS n, max(upper) AS last FROM millrace.partition
       WHERE lower IS NOT NULL GROUP BY parent ORDER BY parent`,
    )
    expect(rows.map(({ parent, n }) => [parent, n])).toEqual([
      ['attempt', 3],
      ['event', 3],
      ['history', 3],
    ])
    expect(String(rows[1]?.last) > eventIdAt(Date.now() + 2 * WEEK)).toBe(true)
  })

  test('[PG3] a week of which the default partition has rows stays there; the others are created', async () => {
    const world = await openWorld()
    await world.setNow(MONDAY + WEEKS * WEEK + HOUR)
    await world.store.commit(makeAccepted('early').commit)
    const made = await world.query(`SELECT millrace.make_partitions(${MONDAY}, ${WEEKS + 2}) AS name`)
    expect(made.map(({ name }) => name)).toEqual([
      nameAt('event', WEEKS + 1),
      nameAt('attempt', WEEKS + 1),
      nameAt('history', WEEKS),
      nameAt('history', WEEKS + 1),
    ])
    expect(await countIn(world, 'event_default')).toBe(1)
  })

  test('[PG2] a locked table prevents the creation of a partition, and nothing waits for long', async () => {
    const world = await openWorld()
    const holder = new pg.Client(world.database.url)
    await holder.connect()
    cleanUps.push(() => holder.end())
    await holder.query('BEGIN')
    await holder.query('SELECT count(*) FROM millrace.event')
    const make = `SELECT millrace.make_partitions(${MONDAY + WEEKS * WEEK}, 1) AS name`
    const names = async () => (await world.query(make)).map(({ name }) => name)
    expect(await names()).toEqual([nameAt('attempt', WEEKS), nameAt('history', WEEKS)])
    await holder.query('ROLLBACK')
    expect(await names()).toEqual([nameAt('event', WEEKS)])
  })

  test('[PG4] the previous release’s rows stay, as the partition of everything before', async () => {
    const database = await server.makeDatabase({ empty: true })
    cleanUps.push(() => database.drop())
    const before = MIGRATIONS.findIndex(({ name }) => name.endsWith('by weeks'))
    const client = new pg.Pool({ connectionString: database.url })
    const connected = await client.connect()
    await migrate(connected, 'millrace', { migrations: MIGRATIONS.slice(0, before) })
    connected.release()
    await client.end()
    at = Date.now()
    const made = [eventIdAt(MONDAY), ids.event(), 'evt_ffffffff-ffff-7000-8000-000000000000']
    const work = ids.work()
    for (const [index, id] of made.entries()) {
      await server.query(
        database.url,
        `INSERT INTO millrace.event (tenant, id, source, subject, correlation_id, trace_id, dedup_key, payload_hash,
           headers, data, matched, received_at)
         VALUES ('acme', '${id}', 'shop', 's', 'c', 't', 'key-${index}', 'h', '{}', '{}', 1, 1)`,
      )
    }
    const attempt = `INSERT INTO millrace.attempt (tenant, work, number, started_at, duration_ms, outcome)
      VALUES ('acme', '${work}', 1, 1, 1, 'done')`
    await server.query(database.url, attempt)
    const store = await openPostgresStore({ connection: database.url })
    cleanUps.push(async () => store[Symbol.asyncDispose]())
    const { items } = await store.forTenant(TENANT).events({ cursor: null, limit: 9 })
    expect(items.map(({ dedupKey }) => dedupKey)).toEqual(['key-2', 'key-1', 'key-0'])
    await server.query(database.url, attempt)
    expect(await store.forTenant(TENANT).attempts(work)).toHaveLength(2)
    const lies = await server.query(
      database.url,
      `SELECT tableoid::regclass::text AS name, count(*)::int AS n FROM millrace.event GROUP BY 1 ORDER BY 1`,
    )
    expect(lies).toEqual([
      { name: 'millrace.event_default', n: 1 },
      { name: 'millrace.event_past', n: 2 },
    ])
  })

  test('[PG5] a look-up by ids reads only their partitions, also with a generic plan', async () => {
    const world = await openWorld()
    const accepted = await acceptDaily(world, 1, 3)
    const client = new pg.Client(world.database.url)
    await client.connect()
    cleanUps.push(() => client.end())
    for (const [name, value] of Object.entries(WRITE_SETTINGS)) {
      await client.query('SELECT set_config($1, $2, false)', [name, value])
    }
    const explain = async (name: string, sql: string, values: string) => {
      await client.query(`PREPARE ${name} AS ${sql}`)
      const { rows } = await client.query(
        `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE ${name}(${values})`,
      )
      const plan = rows.map((row) => String(row['QUERY PLAN']))
      return plan.filter(
        (line) =>
          /(Scan|Update on|Insert on)/.test(line) && / on event_/.test(line) && !/never executed/.test(line),
      )
    }
    const list = accepted.map(({ event }) => `'${event}'`).join(', ')
    const tenants = accepted.map(() => `'acme'`).join(', ')
    const sql = makeGroupSql('millrace')
    const locked = await explain('locked', sql.lockEvents, `ARRAY[${tenants}], ARRAY[${list}]`)
    expect(locked).toHaveLength(1)
    expect(locked[0]).toMatch(`${nameAt('event', 0)}_pkey on ${nameAt('event', 0)}`)
    const one = 'SELECT t.data FROM millrace.event AS t WHERE t.tenant = $1::text AND t.id = $2::text'
    expect(await explain('one', one, `'acme', '${accepted[0]?.event}'`)).toHaveLength(1)
  })
})

/** Each query of either connection goes to the session that is chosen for it. */
function makePooler(pick: (connection: number, query: number) => number) {
  const marks = new Map<number, unknown>()
  let queries = 0
  const connect = (connection: number) => ({
    release: () => undefined,
    async query(sql: string, values: unknown[] = []) {
      const session = pick(connection, queries++)
      if (sql.includes('set_config')) marks.set(session, values[0])
      return { rows: [{ mark: marks.get(session) ?? null }] }
    },
  })
  const pool = { connect: async () => connect(1) } as unknown as InstanceType<typeof pg.Pool>
  return assertOwnSessions(connect(0) as unknown as PoolClient, pool)
}

test('[PG12] a pooler that does not keep a connection on its session is refused', async () => {
  const refusal = "set the pooler's mode to session"
  await expect(makePooler(() => 0)).rejects.toThrow(refusal)
  // The first query gets the session that was free first: the two start apart.
  await expect(makePooler((_, query) => query % 3)).rejects.toThrow(refusal)
  // One of them changes its session late.
  await expect(makePooler((connection, query) => connection + (query > 8 ? 1 : 0))).rejects.toThrow(refusal)
  await expect(makePooler((connection) => connection)).resolves.toBeUndefined()
})

test('[PG14] limits are set in the session, not sent with the connection', async () => {
  const { database } = await openWorld()
  const limits = { connections: 1, connectTimeoutMs: 5_000, statementTimeoutMs: 7_000, lockTimeoutMs: 3_000 }
  const pool = makePool(
    { connectionString: database.url },
    { ...limits, settings: { jit: 'off' } },
    () => undefined,
  )
  cleanUps.push(() => pool.end())
  const names = ['idle_in_transaction_session_timeout', 'jit', 'lock_timeout', 'statement_timeout']
  const { rows } = await pool.query(
    'SELECT name, setting, source FROM pg_settings WHERE name = ANY ($1::text[]) ORDER BY name',
    [names],
  )
  const settings = ['3000', 'off', '3000', '7000']
  expect(rows).toEqual(names.map((name, index) => ({ name, setting: settings[index], source: 'session' })))
})

describe('retention by partitions', () => {
  test('[PG6] a week that nothing needs any more is dropped, with all that depends on its events', async () => {
    const world = await openWorld()
    const accepted = await acceptDaily(world, 14, 2)
    const letter = { ...accepted[0]!, id: 'dlq_1' as DeadLetterId }
    await world.query(
      `INSERT INTO millrace.dead_letter (tenant, id, version, state, class, reason, consumer, event_id, work_id, attempts,
         replays, last_error, correlation_id, payload_hash, severity, created_at, updated_at)
       VALUES ('acme', 'dlq_1', 1, 'resolved', 'config', 'rejected', 'route:crm', '${letter.event}', '${letter.work}', 1, 0, 'e',
         'c', 'h', 'high', 1, 1)`,
    )
    await world.store.commit({
      tenant: TENANT,
      guards: [],
      writes: [{ w: 'event.repeat', event: letter.event, count: 3 }],
    })
    await world.setNow(MONDAY + WEEK + KEEP + HOUR)
    const { gone, places } = await walk(world.store)
    expect(gone).toMatchObject({ events: 14, work: 14, attempts: 14, deadLetters: 1, dedup: 14 })
    expect(places).toContain('drop')
    expect(await namesOf(world, 'event')).not.toContain(nameAt('event', 0))
    expect(await namesOf(world, 'attempt')).not.toContain(nameAt('attempt', 0))
    const dump = await world.store.system('verification').dump()
    expect(dump.events.map(({ id }) => id)).toEqual(accepted.slice(14).map(({ event }) => event))
    expect(dump.work.map(({ id }) => id)).toEqual(accepted.slice(14).map(({ work }) => work))
    expect(dump.attempts).toHaveLength(14)
    expect(await countIn(world, 'event_repeat')).toBe(0)
    expect((await walk(world.store)).gone).toMatchObject({ events: 0, work: 0, attempts: 0 })
  })

  test('[PG7] a week with a needed event stays; its other events are removed row by row', async () => {
    const world = await openWorld()
    const accepted = await acceptDaily(world, 7, 2)
    await world.setNow(MONDAY + 6 * DAY + 2 * HOUR)
    const open = makeAccepted('open', { isDone: false })
    await world.store.commit(open.commit)
    await world.setNow(MONDAY + WEEK + KEEP + HOUR)
    expect((await walk(world.store)).gone).toMatchObject({
      events: accepted.length,
      work: accepted.length,
      attempts: 14,
    })
    expect((await world.store.system('verification').dump()).events.map(({ id }) => id)).toEqual([open.event])
    await world.store.commit({ tenant: TENANT, guards: [], writes: [settle(open.work)] })
    expect((await walk(world.store)).gone).toMatchObject({ events: 1, work: 1 })
    expect(await namesOf(world, 'event')).not.toContain(nameAt('event', 0))
  })

  test('[PG7] a job that is added to one of its events meanwhile keeps the week', async () => {
    const world = await openWorld()
    const accepted = await acceptDaily(world, 7, 2)
    await world.setNow(MONDAY + WEEK + KEEP + HOUR)
    const event = accepted[3]!.event
    const replay = ids.work()
    let isAdded = false
    const { gone } = await walk(world.store, REQUEST, async (next) => {
      if (isAdded || !next.startsWith('drop')) return
      isAdded = true
      const result = await world.store.commit({
        tenant: TENANT,
        guards: [],
        writes: [addWork(replay, event)],
      })
      expect(result.ok).toBe(true)
    })
    expect(isAdded).toBe(true)
    expect(gone).toMatchObject({ events: accepted.length - 1 })
    const reads = world.store.forTenant(TENANT)
    expect(await reads.event(event)).not.toBeNull()
    expect((await reads.workOfEvent(event)).map(({ id }) => id)).toEqual([replay])
  })

  test('[PG7] an event that a wrong clock puts into an old week is not lost with it', async () => {
    const world = await openWorld()
    await acceptDaily(world, 7, 2)
    at = MONDAY + 3 * HOUR
    ids = makeTestIds()
    const late = makeAccepted('late')
    await world.setNow(MONDAY + WEEK + KEEP + HOUR)
    let isAdded = false
    await walk(world.store, REQUEST, async (next) => {
      if (isAdded || !next.startsWith('drop')) return
      isAdded = true
      await world.store.commit(late.commit)
    })
    expect(isAdded).toBe(true)
    expect(await world.store.forTenant(TENANT).event(late.event)).not.toBeNull()
  })

  test('[PG8] a locked table keeps the week until the lock is released', async () => {
    const world = await openWorld()
    await acceptDaily(world, 7, 2)
    await world.setNow(MONDAY + WEEK + KEEP + HOUR)
    const holder = new pg.Client(world.database.url)
    await holder.connect()
    cleanUps.push(() => holder.end())
    let drops = 0
    const { gone } = await walk(world.store, REQUEST, async (next) => {
      if (!next.startsWith('drop')) return
      drops += 1
      if (drops === 1) {
        await holder.query('BEGIN')
        await holder.query('SELECT count(*) FROM millrace.event')
      }
      if (drops === 3) await holder.query('ROLLBACK')
    })
    expect(drops).toBeGreaterThan(3)
    expect(gone).toMatchObject({ events: 14 })
    expect(await namesOf(world, 'event')).not.toContain(nameAt('event', 0))
  })

  test('[PG8] a week is read while other sessions go on, and one that takes too long is left alone', async () => {
    const world = await openWorld()
    const [first] = await acceptDaily(world, 7, 1)
    const pool = new pg.Pool({ connectionString: world.database.url })
    // A connection that is being closed when its database is dropped reports an error.
    pool.on('connect', (client) => void client.on('error', () => undefined))
    cleanUps.push(() => pool.end())
    const partition = {
      name: nameAt('event', 0),
      lower: eventIdAt(MONDAY),
      upper: eventIdAt(MONDAY + WEEK),
    }
    let answer: string | null = null
    const dropping = dropPartition(pool, 'millrace', 'event', partition, {
      isWhole: prepare('SELECT true AS free FROM pg_sleep(60)'),
      isFree: prepare('SELECT true AS free'),
    }).then((dropped) => {
      answer = dropped
    })
    const reading = `FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)' AND wait_event = 'PgSleep'`
    await vi.waitFor(async () => expect(await world.query(`SELECT pid ${reading}`)).toHaveLength(1), 60_000)
    await world.setNow(MONDAY + WEEK + HOUR)
    const added = makeAccepted('meanwhile')
    await world.store.commit(added.commit)
    const replay = addWork(ids.work(), first!.event)
    expect((await world.store.commit({ tenant: TENANT, guards: [], writes: [replay] })).ok).toBe(true)
    expect(await world.store.forTenant(TENANT).event(first!.event)).not.toBeNull()
    expect(answer).toBeNull()
    // As a statement ends that exceeds its time.
    await world.query(`SELECT pg_cancel_backend(pid) ${reading}`)
    await dropping
    expect(answer).toBe('needed')
    expect(await namesOf(world, 'event')).toContain(partition.name)
  })

  test('[PG9] if all are stored for weeks, events wait for their week; otherwise each is removed at its time', async () => {
    const world = await openWorld()
    await acceptDaily(world, 7, 2)
    await world.setNow(MONDAY + 3 * DAY + KEEP + 2 * HOUR)
    expect((await walk(world.store)).gone).toMatchObject({ events: 0 })
    const various = { ...REQUEST, keepMs: { other: 90 * DAY } }
    expect((await walk(world.store, various)).gone).toMatchObject({ events: 8, attempts: 8 })
    expect((await walk(world.store, { ...REQUEST, otherwiseMs: 20 * DAY })).gone).toMatchObject({ events: 6 })
    expect(await namesOf(world, 'event')).toContain(nameAt('event', 0))
  })

  test('[PG11] a week of several tenants of whom one is known is removed row by row, each at its time, and dropped when it is empty', async () => {
    const world = await openWorld()
    await acceptDaily(world, 3, 2)
    const other = makeAccepted('other', { tenant: OTHER })
    await world.store.commit(other.commit)
    await world.setNow(MONDAY + DAY + KEEP + 2 * HOUR)
    expect((await walk(world.store)).gone).toMatchObject({ events: 4 })
    await world.setNow(MONDAY + WEEK + KEEP + HOUR)
    expect((await walk(world.store)).gone).toMatchObject({ events: 2 })
    expect(await namesOf(world, 'event')).toContain(nameAt('event', 0))
    expect(await world.store.forTenant(OTHER).event(other.event)).not.toBeNull()
    expect((await walk(world.store, { ...REQUEST, tenant: OTHER })).gone).toMatchObject({ events: 1 })
    expect(await namesOf(world, 'event')).not.toContain(nameAt('event', 0))
  })

  describe('[PG11] a week of several tenants', () => {
    const keep = (ms: number) => ({ keepMs: {}, otherwiseMs: ms })
    /** A few of each, over the week. */
    const acceptOfBoth = async (world: World) => {
      await acceptDaily(world, 7, 2)
      const others = Array.from({ length: 6 }, (_, index) => makeAccepted(`o${index}`, { tenant: OTHER }))
      await Promise.all(others.map(({ commit }) => world.store.commit(commit)))
      return others
    }

    test('is dropped once it is over for all of them', async () => {
      const world = await openWorld()
      await acceptOfBoth(world)
      const request = { ...REQUEST, scanMax: 2, byTenant: { [OTHER]: keep(KEEP + 2 * DAY) } }
      // If all are stored about as long, those that expire first wait for the others.
      await world.setNow(MONDAY + WEEK + KEEP + HOUR)
      expect((await walk(world.store, request)).gone).toMatchObject({ events: 0 })
      await world.setNow(MONDAY + WEEK + KEEP + 2 * DAY + HOUR)
      const { gone, places } = await walk(world.store, request)
      expect(gone).toMatchObject({ events: 20, work: 20, attempts: 20, dedup: 20 })
      expect(places).toContain('empty')
      expect(await namesOf(world, 'event')).not.toContain(nameAt('event', 0))
      const dump = await world.store.system('verification').dump()
      expect([dump.events, dump.work, dump.attempts]).toEqual([[], [], []])
    })

    test('is removed row by row while others keep theirs for much longer, or their retention is unknown', async () => {
      const world = await openWorld()
      const others = await acceptOfBoth(world)
      await world.setNow(MONDAY + 2 * DAY + KEEP + 2 * HOUR)
      const request = { ...REQUEST, byTenant: { [OTHER]: keep(90 * DAY) } }
      expect((await walk(world.store, request)).gone).toMatchObject({ events: 6 })
      await world.setNow(MONDAY + WEEK + KEEP + HOUR)
      expect((await walk(world.store, REQUEST)).gone).toMatchObject({ events: 8 })
      const reads = world.store.forTenant(OTHER)
      for (const { event, work } of others) {
        expect(await reads.event(event)).not.toBeNull()
        expect(await reads.work(work)).not.toBeNull()
      }
      await world.setNow(MONDAY + WEEK + 90 * DAY + HOUR)
      const { gone, places } = await walk(world.store, {
        ...REQUEST,
        ...keep(90 * DAY),
        tenant: OTHER,
        byTenant: { [TENANT]: keep(KEEP) },
      })
      expect(gone).toMatchObject({ events: 6, work: 6 })
      expect(places).toContain('drop')
      expect(await namesOf(world, 'event')).not.toContain(nameAt('event', 0))
    })

    test('stays for what one of them needs', async () => {
      const world = await openWorld()
      await acceptOfBoth(world)
      const open = makeAccepted('open', { tenant: OTHER, isDone: false })
      await world.store.commit(open.commit)
      await world.setNow(MONDAY + WEEK + KEEP + HOUR)
      const byTenant = { [OTHER]: keep(KEEP), [TENANT]: keep(KEEP) }
      expect((await walk(world.store, { ...REQUEST, byTenant })).gone).toMatchObject({ events: 14 })
      const ofOther = { ...REQUEST, tenant: OTHER, byTenant }
      expect((await walk(world.store, ofOther)).gone).toMatchObject({ events: 6 })
      expect(await world.store.forTenant(OTHER).event(open.event)).not.toBeNull()
      await world.store.commit({ tenant: OTHER, guards: [], writes: [settle(open.work)] })
      expect((await walk(world.store, ofOther)).gone).toMatchObject({ events: 1, work: 1 })
      expect(await namesOf(world, 'event')).not.toContain(nameAt('event', 0))
    })
  })

  test.each([
    [
      'a window of its key that is open',
      (id: string) => `UPDATE millrace.dedup SET until = 9e15 WHERE event = '${id}'`,
    ],
    [
      'a row of the outbox',
      (id: string) =>
        `INSERT INTO millrace.outbox (tenant, id, subject, about, event, created_at)
       VALUES ('acme', '${id}', 's', 'event', '${id}', 1)`,
    ],
    [
      'work that keeps its place',
      (id: string) => `UPDATE millrace.work SET has_place = true WHERE event_id = '${id}'`,
    ],
  ])('[PG7] one event is needed for %s: only that one stays, with all that depends on it', async (_, sql) => {
    const world = await openWorld()
    const accepted = await acceptDaily(world, 7, 2)
    const needed = accepted[9]!
    await world.query(sql(needed.event))
    await world.setNow(MONDAY + WEEK + KEEP + HOUR)
    expect((await walk(world.store, { ...REQUEST, scanMax: 2 })).gone).toMatchObject({ events: 13, work: 13 })
    const dump = await world.store.system('verification').dump()
    expect(dump.events.map(({ id }) => id)).toEqual([needed.event])
    expect(dump.work.map(({ id }) => id)).toEqual([needed.work])
    expect(dump.attempts.map(({ work }) => work)).toEqual([needed.work])
  })

  test('[PG10] history is dropped with its week when no instance of it is left, and removed row by row before', async () => {
    const world = await openWorld()
    await world.setNow(MONDAY + HOUR)
    const [over, active] = [ids.instance(), ids.instance()]
    const addInstance = (id: InstanceId, state: string, endedAt: number | null) =>
      world.query(
        `INSERT INTO millrace.instance (tenant, id, workflow, definition, version, state, revision, marking, event_id,
           correlation_id, body, created_at, updated_at, ended_at)
         VALUES ('acme', '${id}', 'w', 'd', '1', '${state}', 1, '{}', 'evt_x', 'c', '{}', 1, 1, ${endedAt});
         INSERT INTO millrace.history (tenant, instance, sequence, type, body, at)
         SELECT 'acme', '${id}', n, 'began', '{}', 1 FROM generate_series(1, 12) AS n`,
      )
    await addInstance(over, 'completed', MONDAY + 2 * HOUR)
    await addInstance(active, 'active', null)
    await world.setNow(MONDAY + WEEK + KEEP + HOUR)
    expect((await walk(world.store)).gone).toMatchObject({ instances: 1, history: 12 })
    expect(await countIn(world, nameAt('history', 0))).toBe(12)
    await world.query(`UPDATE millrace.instance SET state = 'completed', ended_at = 1`)
    expect((await walk(world.store)).gone).toMatchObject({ instances: 1, history: 12 })
    expect(await namesOf(world, 'history')).not.toContain(nameAt('history', 0))
  })
})
