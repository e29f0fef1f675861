// The schema as the target of a move: marked from the first moment until everything is copied and compared.

import type { Client, ClientConfig, PoolClient } from 'pg'
import type { TargetState } from '../../../core/store/archive/index.ts'
import type { ArchiveTarget } from '../../../ports/archive.ts'
import { StoreError } from '../../../ports/store.ts'
import { makePool, type Pool, prepare, type Query, sendAll } from '../connection.ts'
import { toStoreError } from '../errors.ts'
import { lockSchema, migrate } from '../migrate.ts'
import { FILLED, loadStatements } from './archive-load.ts'
import { countRows, readPages } from './archive-read.ts'
import { finishMark, layMark, lockJoins, readMark } from './move-mark.ts'

export interface PostgresArchiveOptions {
  readonly connection: string | ClientConfig
  readonly schema?: string
}

/** Copying a page is quick; counting and analysing a large table is not. */
const STATEMENT_TIMEOUT_MS = 3_600_000

const SETTINGS = { jit: 'off', enable_seqscan: 'off' }

export async function openPostgresArchive(options: PostgresArchiveOptions): Promise<ArchiveTarget> {
  const config =
    typeof options.connection === 'string' ? { connectionString: options.connection } : options.connection
  const schema = options.schema ?? 'millrace'
  const pool = makePool(
    config,
    {
      connections: 2,
      connectTimeoutMs: 10_000,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      lockTimeoutMs: 10_000,
      settings: SETTINGS,
    },
    () => undefined,
  )
  try {
    return makeArchive(pool, schema, await nameOf(pool))
  } catch (error) {
    await pool.end()
    throw toStoreError(error)
  }
}

/** The target's address, without the password: by now the driver knows what a URL or the environment left out. */
async function nameOf(pool: Pool): Promise<string> {
  const client = await pool.connect()
  const { user, host, port, database } = client as PoolClient & InstanceType<typeof Client>
  client.release()
  return `postgres://${user}@${host}:${port}/${database}`
}

function makeArchive(pool: Pool, schema: string, name: string): ArchiveTarget {
  const translated = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work()
    } catch (error) {
      throw toStoreError(error)
    }
  }
  const query: Query = (statement) => translated(async () => (await pool.query(statement)).rows)
  const alone = (work: (client: PoolClient) => Promise<void>) =>
    translated(async () => {
      const client = await pool.connect()
      try {
        await work(client)
        client.release()
      } catch (error) {
        client.release(true)
        throw error
      }
    })
  let began = ''
  return {
    name,
    state: () => translated(() => readState(pool, schema)),
    begin: (from) =>
      alone(async (client) => {
        began = await begin(client, schema, from)
        await migrate(client, schema, { isMove: true })
        await wipe(client, schema)
      }),
    load: (table, rows) =>
      alone(async (client) => {
        const statements = loadStatements(schema, table, rows)
        await sendAll(client, [prepare('BEGIN'), ...statements, prepare('COMMIT')])
      }),
    count: (table) => countRows(query, schema, table),
    pages: (table) => readPages(query, schema, table),
    finish: () =>
      alone(async (client) => {
        for (const table of FILLED) await client.query(`ANALYZE ${schema}.${table}`)
        await locked(client, schema, () => finish(client, schema, began))
      }),
    async [Symbol.asyncDispose]() {
      await pool.end()
    },
  }
}

type Asked = Pick<PoolClient, 'query'>

async function readState(client: Asked, schema: string): Promise<TargetState> {
  const mark = await readMark(client, schema)
  if (mark !== null) return mark.isFinished ? 'finished' : 'unfinished'
  if (!(await isThere(client, `${schema}.migration`))) return 'absent'
  for (const table of FILLED) {
    // A schema of an earlier version lacks some of them.
    if (!(await isThere(client, `${schema}.${table}`))) continue
    const { rows } = await client.query(`SELECT EXISTS (SELECT FROM ${schema}.${table}) AS any`)
    if (rows[0].any) return 'used'
  }
  return 'empty'
}

async function isThere(client: Asked, table: string): Promise<boolean> {
  const { rows } = await client.query('SELECT to_regclass($1) IS NOT NULL AS there', [table])
  return rows[0].there
}

/** In one transaction, while no node migrates the schema or joins. */
async function locked<Result>(
  client: PoolClient,
  schema: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await client.query('BEGIN')
  try {
    await lockSchema(client, schema)
    await lockJoins(client, schema)
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/** In the same transaction as the check that the schema is empty. */
function begin(client: PoolClient, schema: string, from: string): Promise<string> {
  return locked(client, schema, async () => {
    const found = await readState(client, schema)
    if (found === 'used' || found === 'finished') {
      throw new StoreError(
        'in_use',
        `somebody else has filled schema ${schema} meanwhile: nothing was changed`,
      )
    }
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
    return layMark(client, schema, from)
  })
}

async function finish(client: PoolClient, schema: string, began: string): Promise<void> {
  await refuseNode(client, schema, 'the schema is not released')
  if (await finishMark(client, schema, began)) return
  throw new StoreError(
    'in_use',
    `another move into schema ${schema} has begun since this one: let that one end, or stop it and begin anew`,
  )
}

/** All incarnations that a move brings are fenced: any other one is a node. */
async function refuseNode(client: PoolClient, schema: string, therefore: string): Promise<void> {
  const { rows } = await client.query(`SELECT node FROM ${schema}.incarnation WHERE NOT fenced LIMIT 1`)
  if (rows.length === 0) return
  throw new StoreError(
    'in_use',
    `the node ${rows[0].node} has been started on schema ${schema}: ${therefore}. Stop it, keep what it ` +
      'took in, and give an empty database',
  )
}

async function wipe(client: PoolClient, schema: string): Promise<void> {
  await refuseNode(client, schema, 'nothing is deleted there')
  await client.query(`TRUNCATE ${FILLED.map((table) => `${schema}.${table}`).join(', ')}`)
}
