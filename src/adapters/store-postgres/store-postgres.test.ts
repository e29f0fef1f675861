import { afterAll, beforeAll } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../test/support/postgres.ts'
import { storeConformance } from '../../ports/store.conformance.ts'
import { makePostgresHarness } from './harness.fixture.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())

storeConformance('postgres', () => makePostgresHarness(server), { propertyRuns: 5 })
