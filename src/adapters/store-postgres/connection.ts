// Connections: two separate pools, one to write and claim, one that can only read.
//
// Writing statements always look rows up by key: the planner is configured for that, because a plan made while a table
// was empty would otherwise stay in use until the table is analysed. Statements are named, so each connection parses
// them once.

import type { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import pg, { type PoolClient, type PoolConfig, type QueryResult } from 'pg'
import { StoreError } from '../../ports/store.ts'
import { TYPES } from './parameters.ts'

export type Pool = InstanceType<typeof pg.Pool>

export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
  /** Instead of `values`, in a batch: the whole Bind message for the statement's name in batches. */
  readonly bind?: Buffer
}

// biome-ignore lint/suspicious/noExplicitAny: rows are what the statements name; the port's types say which.
export type Query = (statement: Statement) => Promise<any[]>

const names = new Map<string, string>()

/** The name contains a hash of the text: two stores with different schemas may share one pooler. */
export function prepare(text: string, values: unknown[] = []): Statement {
  let name = names.get(text)
  if (name === undefined) {
    name = `m_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
    names.set(text, name)
  }
  return { name, text, values }
}

export interface PoolLimits {
  readonly connections: number
  readonly connectTimeoutMs: number
  readonly statementTimeoutMs: number
  readonly lockTimeoutMs: number
  /** Set on every connection, in this order, before it is used. */
  readonly settings: Readonly<Record<string, string>>
}

export const WRITE_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
}
export const READ_SETTINGS = { default_transaction_read_only: 'on', jit: 'off' }

/** Not sent as connection parameters: a pooler such as PgBouncer refuses those that it does not know. */
const timeoutsOf = ({ statementTimeoutMs, lockTimeoutMs }: PoolLimits) => ({
  statement_timeout: String(statementTimeoutMs),
  lock_timeout: String(lockTimeoutMs),
  idle_in_transaction_session_timeout: String(lockTimeoutMs),
})

export function makePool(config: PoolConfig, limits: PoolLimits, onError: (error: Error) => void): Pool {
  const settings = { ...timeoutsOf(limits), ...limits.settings }
  // `pipeline` (send without waiting for the previous response) and `onConnect` are newer than the driver's types.
  const options: PoolConfig & { pipeline: boolean; onConnect(client: PoolClient): Promise<void> } = {
    application_name: 'millrace',
    keepAlive: true,
    ...config,
    types: TYPES,
    max: limits.connections,
    connectionTimeoutMillis: limits.connectTimeoutMs,
    // The server's own limit comes first; this one ends the wait for a server that does not respond at all.
    query_timeout: limits.statementTimeoutMs + 5_000,
    pipeline: true,
    onConnect: async (client) => {
      // A connection that breaks while it is lent out reports it here too; its queries have failed already.
      client.on('error', () => undefined)
      await client.query(
        `SELECT set_config(s.name, s.value, false) FROM unnest($1::text[], $2::text[]) AS s(name, value)`,
        [Object.keys(settings), Object.values(settings)],
      )
      // A commit is confirmed only after the flush. Stronger settings than 'on' are left alone.
      await client.query(
        `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`,
      )
    },
  }
  const pool = new pg.Pool(options)
  pool.on('error', onError)
  return pool
}

export interface DurabilitySettings {
  readonly synchronousCommit: string
  readonly fsync: string
  readonly fullPageWrites: string
}

/** As the connection reports them, not as they were requested. */
export async function readSettings(client: Pick<PoolClient, 'query'>): Promise<DurabilitySettings> {
  const { rows } = await client.query<DurabilitySettings>(
    `SELECT current_setting('synchronous_commit') AS "synchronousCommit", current_setting('fsync') AS fsync, ` +
      `current_setting('full_page_writes') AS "fullPageWrites"`,
  )
  return rows[0] as DurabilitySettings
}

/** Sends all at once, in one round trip, and waits for all. The first failure is the cause of those after it. */
export async function sendAll(client: PoolClient, statements: readonly Statement[]): Promise<QueryResult[]> {
  const settled = await Promise.allSettled(statements.map((statement) => client.query(statement)))
  const results: QueryResult[] = []
  for (const answer of settled) {
    if (answer.status === 'rejected') throw answer.reason
    results.push(answer.value)
  }
  return results
}

/**
 * After a call that is a transaction of its own: if one is still open on the connection, the call is not committed. The
 * error counts as a lost connection.
 */
export function assertIdle(client: PoolClient): void {
  // Newer than the driver's types.
  const { getTransactionStatus } = client as PoolClient & { getTransactionStatus?(): string | null }
  const status = getTransactionStatus?.call(client)
  if (status !== 'I') throw new Error(`a transaction is still open on the connection (status ${status})`)
}

const SESSION_ROUNDS = 3

/**
 * A pooler that gives each transaction another session would mix up settings, prepared statements and listeners. So two
 * connections mark their sessions, and each must find its own mark again, also while the other holds its session.
 */
export async function assertOwnSessions(
  client: Pick<PoolClient, 'query'>,
  pool: Pick<Pool, 'connect'>,
): Promise<void> {
  const other = await pool.connect()
  const mark = (of: Pick<PoolClient, 'query'>, text: string) =>
    of.query("SELECT set_config('millrace.session', $1, false)", [text])
  const find = async (of: Pick<PoolClient, 'query'>, text: string) => {
    const { rows } = await of.query("SELECT current_setting('millrace.session', true) AS mark")
    if (rows[0].mark === text) return
    throw new StoreError(
      'unavailable',
      'a connection does not keep its session of PostgreSQL, as behind a pooler in transaction mode; connect to the server ' +
        "itself, or set the pooler's mode to session (docs/postgresql.md)",
    )
  }
  try {
    await mark(client, 'one')
    await mark(other, 'other')
    for (let round = 1; round <= SESSION_ROUNDS; round += 1) {
      await find(client, 'one')
      await find(other, 'other')
      await other.query('BEGIN')
      await find(client, 'one')
      await other.query('COMMIT')
    }
  } finally {
    other.release(true)
  }
}
