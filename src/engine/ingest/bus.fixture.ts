// A world with a bus: messages of other publishers, and nodes that consume them.

import {
  type LocalBus,
  type LocalHub,
  type LocalHubOptions,
  makeLocalHub,
} from '../../adapters/bus-local/index.ts'
import type { RouteDocument, SourceDocument } from '../../core/definitions/documents/index.ts'
import type { StoredEvent } from '../../core/events/event/index.ts'
import { CREATED, makeWorld, type Node, type NodeOptions, ROUTE, type World } from '../engine.fixture.ts'

export const NATS_SOURCE: SourceDocument = {
  kind: 'Source',
  name: 'orders',
  description: null,
  verify: { scheme: 'closed' },
  subject: '{{ header.nats-subject }}',
  event: { id: null, objectType: null, objectId: null, occurredAt: null },
  dedup: { by: null, windowMs: 86_400_000 },
  limits: { bodyBytes: 10_000, depth: 8 },
  status: 'active',
  nats: { subjects: ['orders.>'] },
}

export const BOOK: RouteDocument = { ...ROUTE, on: ['orders.paid'], key: "'BOOK:' + payload.order" }

export interface Sent {
  readonly subject?: string
  readonly id?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export interface BusWorld {
  readonly world: World
  readonly hub: LocalHub
  /** The node loses its bus connection when it crashes. */
  node(options?: NodeOptions): Promise<Node & { readonly bus: LocalBus }>
  send(message: Sent): void
  events(): Promise<readonly StoredEvent[]>
}

/** `secrets`: the value that every secret name resolves to. */
export function makeBusWorld(
  options: Partial<LocalHubOptions> = {},
  secrets: readonly string[] = [],
): BusWorld {
  const world = makeWorld(() => CREATED, secrets)
  const hub = makeLocalHub({ clock: world.clock, ...options })
  hub.addStream({ name: 'ORDERS', subjects: ['orders.>'] })
  return {
    world,
    hub,
    async node(given = {}) {
      const bus = hub.connect(given.name ?? 'one')
      const node = await world.node({ documents: [NATS_SOURCE, BOOK], ...given, bus })
      return {
        ...node,
        bus,
        crash() {
          node.crash()
          bus.cut()
        },
      }
    },
    send({ subject = 'orders.paid', id = null, headers = {}, body = '{"order":"o1"}' }) {
      const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
      if (!hub.send({ subject, id, headers, body: bytes })) throw new Error('no stream has the subject')
    },
    async events() {
      const { events } = await world.store.system('verification').dump()
      return events.filter(({ source }) => source === NATS_SOURCE.name)
    },
  }
}
