import { afterAll, beforeAll } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../test/support/postgres.ts'
import { storeConformance } from '../../ports/store.conformance.ts'
import { makePostgresHarness } from './harness.fixture.ts'

// The oldest release that the store supports; `store-postgres.test.ts` has the newest.
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres({ major: 14 })
})
afterAll(() => server?.close())

storeConformance('postgres 14', () => makePostgresHarness(server), { propertyRuns: 5 })
