import { type PostgresServer, startPostgres } from '../../../test/support/postgres.ts'
import type { StoreHarness } from '../../ports/store.conformance.ts'
import { openPostgresStore, type PostgresStoreOptions } from './index.ts'

/** A store on its own database, whose clock stands still until the test moves it. */
export async function makePostgresHarness(
  server: PostgresServer,
  options: Omit<PostgresStoreOptions, 'connection'> = {},
): Promise<StoreHarness> {
  const database = await server.makeDatabase()
  const clock = await server.controlClock(database.url)
  const open = () => openPostgresStore({ connection: database.url, ...options })
  let store = await open()
  return {
    get store() {
      return store
    },
    async reopen() {
      await store[Symbol.asyncDispose]()
      store = await open()
      return store
    },
    setNow: clock.setNow,
    advance: clock.advance,
    async close() {
      await store[Symbol.asyncDispose]()
      await clock.close()
      await database.giveBack()
    },
  }
}

/** The same with its own server, for a test file that needs only one store. */
export async function makeLonePostgresHarness(): Promise<StoreHarness> {
  const server = await startPostgres()
  try {
    const harness = await makePostgresHarness(server)
    return {
      ...harness,
      async close() {
        await harness.close()
        await server.close()
      },
    }
  } catch (error) {
    await server.close()
    throw error
  }
}
