import { afterAll, beforeAll } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../test/support/postgres.ts'
import { storeConformance } from '../../ports/store.conformance.ts'
import { makePostgresHarness } from './harness.fixture.ts'

// Every commit with locks; `store-postgres.test.ts` executes those optimistically that can be.
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())

storeConformance('postgres with locks', () => makePostgresHarness(server, { canExpect: false }), {
  propertyRuns: 5,
})
