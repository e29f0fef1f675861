import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../test/support/postgres.ts'
import { openPostgresStore } from './index.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())

test('[DU6] a connection that writes waits for the flush, also if the database is configured otherwise', async () => {
  const { url } = await server.makeDatabase()
  for (const [said, holds] of [
    ['off', 'on'],
    ['remote_apply', 'remote_apply'],
  ] as const) {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name')
    await client.query(`ALTER DATABASE "${rows[0]?.name}" SET synchronous_commit = ${said}`)
    await client.end()
    const store = await openPostgresStore({ connection: url })
    expect(store.settings.synchronousCommit).toBe(holds)
    expect(['on', 'off']).toContain(store.settings.fsync)
    await store[Symbol.asyncDispose]()
  }
})
