import { afterAll, beforeAll } from 'vitest'
import { type NatsServer, startNats } from '../../../test/support/nats.ts'
import { busConformance } from '../../ports/bus.conformance.ts'
import { makeNatsHarness } from './harness.fixture.ts'

let server: NatsServer

beforeAll(async () => {
  server = await startNats()
})
afterAll(() => server.close())

busConformance('NATS', () => makeNatsHarness(server))
