import { afterAll, beforeAll } from 'vitest'
import { type NatsServer, startNats } from '../../../test/support/nats.ts'
import { busConformance } from '../../ports/bus.conformance.ts'
import type { Bus } from '../../ports/bus.ts'
import { wakesConformance } from '../../ports/wakes.conformance.ts'
import { makeNatsHarness, makeTestBus, untilConnected } from './harness.fixture.ts'

let server: NatsServer

beforeAll(async () => {
  server = await startNats()
})
afterAll(() => server.close())

busConformance('NATS', () => makeNatsHarness(server))

wakesConformance('NATS', async () => {
  const nodes: Bus[] = []
  return {
    connect: async () => {
      const bus = await untilConnected(makeTestBus([server.url]))
      nodes.push(bus)
      // It responds after the streams were ensured, which happens after the subscription on the same connection.
      await bus.publish([])
      return bus.wakes
    },
    [Symbol.asyncDispose]: async () => {
      for (const bus of nodes) await bus[Symbol.asyncDispose]()
    },
  }
})
