// Nodes on a real server, for the suites: each connects through its own proxy that can be cut, and other systems'
// streams are created and read as their owners would.

import { once } from 'node:events'
import { createServer, connect as dial, type Socket } from 'node:net'
import { type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
import { vi } from 'vitest'
import type { NatsServer } from '../../../test/support/nats.ts'
import type { BusHarness, TestMessage } from '../../ports/bus.conformance.ts'
import type { Bus } from '../../ports/bus.ts'
import { makeSystemClock } from '../clock-system/index.ts'
import { makeNatsBus, type NatsBusOptions } from './index.ts'
import { resolveServers } from './servers.ts'

/** Even a busy machine must report progress within a third of it. */
const ACK_WAIT_MS = 3_000

/** A proxy to the server that can be cut for good. */
async function startLine(serverPort: number): Promise<{ readonly url: string; cut(): void }> {
  const sockets = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = dial(serverPort, '127.0.0.1')
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
    client.pipe(server).pipe(client)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const address = proxy.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
  return {
    url: `nats://127.0.0.1:${address.port}`,
    cut() {
      proxy.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

export function makeTestBus(servers: readonly string[], over: Partial<NatsBusOptions> = {}): Bus {
  return makeNatsBus({
    servers,
    credentialsFile: null,
    prefix: 'millrace',
    name: 'test',
    clock: makeSystemClock(),
    answerMs: 2_000,
    ackWaitMs: ACK_WAIT_MS,
    ...over,
  })
}

export async function untilConnected(bus: Bus): Promise<Bus> {
  await vi.waitFor(() => {
    if (!bus.status().isConnected) throw new Error(`not connected: ${bus.status().warnings.join('; ')}`)
  }, 60_000)
  return bus
}

/** Another client of the server, with all rights. */
export interface Outsider {
  readonly nats: NatsConnection
  readonly manager: JetStreamManager
  send(message: TestMessage): Promise<void>
  stored(subject: string): Promise<readonly { id: string | null; body: string }[]>
  /** Removes all streams. */
  clear(): Promise<void>
  close(): Promise<void>
}

export async function makeOutsider(url: string): Promise<Outsider> {
  const nats = await connect({
    ...resolveServers([url], null),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 50,
    timeout: 60_000,
  })
  const manager = await jetstreamManager(nats, { checkAPI: false })
  return {
    nats,
    manager,
    async send({ subject, id = null, headers: given = {}, body = '' }) {
      const made = headers()
      for (const [name, value] of Object.entries(given)) made.set(name, value)
      await jetstream(nats).publish(subject, body, { headers: made, ...(id !== null && { msgID: id }) })
    },
    async stored(subject) {
      // A request made while the connection comes back after a restart may be lost with its response.
      const [stream] = await vi.waitFor(() => manager.streams.names(subject).next(), 60_000)
      if (stream === undefined) return []
      const { state } = await manager.streams.info(stream)
      const list: { id: string | null; body: string }[] = []
      for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
        const one = await manager.streams.getMessage(stream, { seq }).catch(() => null)
        if (one?.subject === subject)
          list.push({ id: one.header.get('Nats-Msg-Id') || null, body: one.string() })
      }
      return list
    },
    async clear() {
      for (const name of await manager.streams.names().next()) await manager.streams.delete(name)
    },
    close: () => nats.close(),
  }
}

export async function makeNatsHarness(server: NatsServer): Promise<BusHarness> {
  const outsider = await makeOutsider(server.url)
  const lines = new Map<Bus, { cut(): void }>()
  return {
    ackWaitMs: ACK_WAIT_MS,
    maxBytes: 1_048_576,
    async connect() {
      const line = await startLine(server.port)
      const bus = makeTestBus([line.url])
      lines.set(bus, line)
      return untilConnected(bus)
    },
    cut: async (bus) => lines.get(bus)?.cut(),
    makeStream: async ({ name, subjects }) => {
      await outsider.manager.streams.add({ name, subjects: [...subjects] })
    },
    removeStream: async (name) => {
      await outsider.manager.streams.delete(name)
    },
    send: outsider.send,
    stored: outsider.stored,
    setReachable: (isReachable) => (isReachable ? server.start() : server.stop()),
    async [Symbol.asyncDispose]() {
      for (const line of lines.values()) line.cut()
      await vi.waitFor(() => outsider.clear(), 60_000)
      await outsider.close()
    },
  }
}
