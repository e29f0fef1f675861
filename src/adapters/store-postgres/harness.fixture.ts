import { type PostgresServer, startPostgres } from '../../../test/support/postgres.ts'
import type { StoreHarness } from '../../ports/store.conformance.ts'
import { openPostgresStore } from './index.ts'

/** A store on a database of its own, whose clock stands still until it is told otherwise. */
export async function makePostgresHarness(server: PostgresServer): Promise<StoreHarness> {
  const database = await server.makeDatabase()
  const clock = await server.controlClock(database.url)
  const open = () => openPostgresStore({ connection: database.url })
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

/** The same with a server of its own, for a test file that needs one store only. */
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
