// The three stores on which users run a node: the file, PostgreSQL, and PostgreSQL with NATS. What holds on one holds
// on all.

import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { startNats } from './nats.ts'
import { eventually } from './node-process.ts'
import { type PostgresOptions, type PostgresServer, startPostgres } from './postgres.ts'

export const GROUNDS = ['SQLite', 'PostgreSQL', 'PostgreSQL and NATS'] as const
export type Ground = (typeof GROUNDS)[number]

export interface TestStore extends AsyncDisposable {
  /** For a node on it. */
  readonly env: Readonly<Record<string, string>>
  /** Settles when NATS has each event of the store, once, and nothing waits to be published; at once without NATS. */
  told(): Promise<void>
}

interface Stores {
  /** A new one, and its own NATS server. */
  make(ground: Ground): Promise<TestStore>
  close(): Promise<void>
}

/** PostgreSQL is started when the first store on it is created. */
export function makeStores(options: PostgresOptions = {}): Stores {
  let postgres: Promise<PostgresServer> | null = null
  return {
    async make(ground) {
      if (ground === 'SQLite') return { env: {}, told: async () => {}, [Symbol.asyncDispose]: async () => {} }
      postgres ??= startPostgres(options)
      const server = await postgres
      const { url } = await server.makeDatabase()
      const env = { MILLRACE_STORE: url }
      if (ground === 'PostgreSQL') return { env, told: async () => {}, [Symbol.asyncDispose]: async () => {} }
      const nats = await startNats()
      return {
        env: { ...env, MILLRACE_NATS_URL: nats.url },
        told: () => everythingTold(server, url, nats.url),
        [Symbol.asyncDispose]: () => nats.close(),
      }
    },
    async close() {
      await (await postgres)?.close()
    },
  }
}

async function everythingTold(postgres: PostgresServer, database: string, bus: string): Promise<void> {
  const sql = `SELECT (SELECT count(*)::int FROM millrace.outbox) AS waiting, (SELECT count(*)::int FROM millrace.event) + (SELECT count(*)::int FROM millrace.fact) AS kept`
  const connection = await connect({ servers: bus })
  let seen = {}
  try {
    const { streams } = await jetstreamManager(connection)
    await eventually('every event is told on NATS', async () => {
      const [row] = await postgres.query(database, sql)
      const { state } = await streams.info('MILLRACE_EVENTS')
      seen = { ...row, told: state.messages }
      return row?.waiting === 0 && row.kept === state.messages && state.messages > 0
    })
  } catch (error) {
    throw new Error(`${String(error)}; it is ${JSON.stringify(seen)}`)
  } finally {
    await connection.close()
  }
}
