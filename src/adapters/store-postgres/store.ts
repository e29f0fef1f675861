// The store on PostgreSQL: opens the pools, migrates the schema, and composes the parts.

import { randomBytes } from 'node:crypto'
import type { ClientConfig, QueryResult } from 'pg'
import { makeIds } from '../../core/foundation/ids/index.ts'
import { makeGatherer, weighCommit } from '../../core/store/commit/index.ts'
import type { Commit, CommitResult, Store } from '../../ports/store.ts'
import { StoreError } from '../../ports/store.ts'
import { makeClaim } from './claim.ts'
import { makeGroupRunner } from './commit/commit.ts'
import type { BrokenCommit } from './commit/group.ts'
import { touchesOf } from './commit/keys.ts'
import { makeLaneless } from './commit/laneless.ts'
import {
  assertOwnSessions,
  type DurabilitySettings,
  makePool,
  type Pool,
  prepare,
  READ_SETTINGS,
  readSettings,
  type Statement,
  sendAll,
  WRITE_SETTINGS,
} from './connection.ts'
import { classifyError, toStoreError } from './errors.ts'
import { makeJoin } from './join.ts'
import { makeLeave } from './leave.ts'
import { migrate } from './migrate.ts'
import { adoptOutboxSql } from './outbox.ts'
import { makePartitions } from './partitions.ts'
import { makePrune } from './prune/prune.ts'
import { makeSystemReads, makeTenantReads } from './reads/reads.ts'
import { makeReclaim } from './reclaim.ts'
import { makeRenew } from './renew.ts'

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, or the driver's own options. */
  readonly connection: string | ClientConfig
  /** Everything lives in this schema; it is created if missing. */
  readonly schema?: string
  readonly groupMax?: number
  readonly groupsInFlightMax?: number
  readonly writeConnectionsMax?: number
  readonly readConnectionsMax?: number
  readonly connectTimeoutMs?: number
  readonly statementTimeoutMs?: number
  readonly lockTimeoutMs?: number
  /** How long to keep asking whether a COMMIT succeeded whose response was lost; for optimistic groups 10 s at most. */
  readonly settleWithinMs?: number
  /** False: no commit is executed optimistically, in one round trip; all of them lock their rows first. Default true. */
  readonly canExpect?: boolean
  /** Called when an idle connection breaks; the pool replaces it by itself. */
  onIdleError?(error: Error): void
}

/** Each group costs a round trip or two and a flush, whatever its size; beyond this, a larger group gains nothing. */
const GROUP_MAX = 128
/** Fewer with large bodies: a group is held in memory once more while it is sent. */
const GROUP_WEIGHT_MAX = 4 * 1024 * 1024

export interface PostgresStore extends Store {
  /** The settings in effect on a connection that writes, read back from it. */
  readonly settings: DurabilitySettings
}

export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const schema = options.schema ?? 'millrace'
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new Error(`the schema name ${JSON.stringify(schema)} is not plain: use a-z, 0-9 and _`)
  }
  const config =
    typeof options.connection === 'string' ? { connectionString: options.connection } : options.connection
  const groupsInFlightMax = options.groupsInFlightMax ?? 2
  const limits = {
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    statementTimeoutMs: options.statementTimeoutMs ?? 30_000,
    lockTimeoutMs: options.lockTimeoutMs ?? 10_000,
  }
  const onError = options.onIdleError ?? (() => undefined)
  // Two for each group, of which a part can be executed optimistically and the rest with locks at the same time. Besides
  // them a claim, a heartbeat, and one more to settle a lost COMMIT.
  const connections = options.writeConnectionsMax ?? 2 * groupsInFlightMax + 3
  const writers = makePool(config, { ...limits, connections, settings: WRITE_SETTINGS }, onError)
  const readConnections = options.readConnectionsMax ?? 4
  const readers = makePool(
    config,
    { ...limits, connections: readConnections, settings: READ_SETTINGS },
    onError,
  )

  let settings: DurabilitySettings
  try {
    settings = await bringUpToDate(writers, schema)
    await makePartitions(writers, schema)
  } catch (error) {
    await Promise.all([writers.end(), readers.end()])
    throw toStoreError(error)
  }
  return { ...makeStore({ ...options, schema, groupsInFlightMax }, writers, readers), settings }
}

async function bringUpToDate(pool: Pool, schema: string): Promise<DurabilitySettings> {
  const client = await pool.connect()
  try {
    await assertOwnSessions(client, pool)
    await migrate(client, schema)
    await client.query(adoptOutboxSql(schema))
    return await readSettings(client)
  } finally {
    // Its planner settings and statements were for another kind of work.
    client.release(true)
  }
}

interface Resolved extends PostgresStoreOptions {
  readonly schema: string
  readonly groupsInFlightMax: number
}

function makeStore(options: Resolved, writers: Pool, readers: Pool): Store {
  const { schema } = options
  let closing: Promise<unknown> | null = null
  const assertOpen = () => {
    if (closing !== null) throw new StoreError('closed', 'the store is closed')
  }
  const ids = makeIds({ now: Date.now, bytes: randomBytes })
  const deps = {
    pool: writers,
    schema,
    settleWithinMs: options.settleWithinMs ?? 30_000,
    makeGroupId: ids.uuid,
    laneless: makeLaneless(),
    canExpect: options.canExpect ?? true,
  }
  const gatherer = makeGatherer<Commit, CommitResult | BrokenCommit>({
    run: makeGroupRunner(deps),
    defer: (callback) => void setImmediate(callback),
    touches: touchesOf,
    inFlightMax: options.groupsInFlightMax,
    groupMax: options.groupMax ?? GROUP_MAX,
    weigh: weighCommit,
    weightMax: GROUP_WEIGHT_MAX,
  })
  const claim = makeClaim(deps)
  const join = makeJoin(writers, schema)
  const renew = makeRenew(writers, schema)
  const reclaim = makeReclaim(writers, schema)
  const leave = makeLeave(writers, schema)
  const prune = makePrune(writers, schema)
  const read = async (statement: Statement) => {
    assertOpen()
    return twice(async () => (await readers.query(statement)).rows)
  }
  const readSnapshot = async (statements: readonly Statement[]) => {
    assertOpen()
    return twice(() => querySnapshot(readers, statements))
  }

  return {
    async commit(commit) {
      assertOpen()
      const result = await gatherer.add(commit)
      if (result.ok === 'broken') throw result.error
      return result
    },
    async claim(request) {
      assertOpen()
      return claim(request)
    },
    async join(node, ttlMs) {
      assertOpen()
      return join(node, ttlMs)
    },
    async renew(owner, ttlMs) {
      assertOpen()
      return renew(owner, ttlMs)
    },
    async reclaim(limit) {
      assertOpen()
      return reclaim(limit)
    },
    async leave(owner) {
      assertOpen()
      return leave(owner)
    },
    async prune(request) {
      assertOpen()
      return prune(request)
    },
    forTenant: (tenant) => makeTenantReads(read, schema, tenant),
    system: () => makeSystemReads(read, readSnapshot, schema),
    async [Symbol.asyncDispose]() {
      closing ??= gatherer.idle().then(() => Promise.all([writers.end(), readers.end()]))
      await closing
    },
  }
}

/** A read may be repeated: once more, in case the pooled connection had died unnoticed. */
async function twice<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await run()
    } catch (error) {
      if (tried === 2 || classifyError(error) !== 'lost') throw toStoreError(error)
    }
  }
}

async function querySnapshot(pool: Pool, statements: readonly Statement[]): Promise<QueryResult['rows'][]> {
  const client = await pool.connect()
  try {
    const begin = prepare('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const answers = await sendAll(client, [begin, ...statements, prepare('COMMIT')])
    client.release()
    return answers.slice(1, -1).map(({ rows }) => rows)
  } catch (error) {
    client.release(true)
    throw error
  }
}
