// Messages of a real NATS server, consumed by a real node that is killed in the middle: each becomes one event and one
// effect.

import { randomInt } from 'node:crypto'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection, nanos } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { report, settled } from '../support/account.ts'
import { type NatsServer, startNats } from '../support/nats.ts'
import { buildDist, eventually, type NodeProcess, startNode } from '../support/node-process.ts'
import { startVendor } from '../support/vendor.ts'
import { makeWorkspace } from '../support/workspace.ts'

let nats: NatsServer
let connection: NatsConnection
beforeAll(async () => {
  await buildDist()
  nats = await startNats()
  connection = await connect({ servers: nats.url })
})
afterAll(async () => {
  await connection?.close()
  await nats?.close()
})

const MESSAGES = 1_000
/**
 * How long a node may go without reporting progress: the killed node's messages are redelivered to the next one after
 * that.
 */
const ACK_WAIT_MS = 3_000
const DURABLE = 'millrace_default_orders'

const flows = (vendor: string) => `kind: Source
name: orders
nats: { subjects: orders.> }
---
kind: Route
name: book
on: orders.paid
key: "'BOOK:' + payload.order"
do: { http: { method: POST, url: ${vendor}/keyed, keyTtl: 24h, body: { ref: "{{ key }}" } } }
`

async function publish(count: number): Promise<void> {
  const js = jetstream(connection)
  const orders = Array.from({ length: count }, (_, order) => order)
  // One in ten has no id: it is recognised by its place.
  await Promise.all(
    orders.map((order) =>
      js.publish(
        'orders.paid',
        JSON.stringify({ order }),
        order % 10 === 0 ? {} : { msgID: `order-${order}` },
      ),
    ),
  )
  await js.publish('orders.paid', Uint8Array.of(0x7b, 0xff))
}

interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}

async function eventsOf(
  node: NodeProcess,
): Promise<readonly { readonly id: string; readonly subject: string }[]> {
  const all: { readonly id: string; readonly subject: string }[] = []
  let cursor = ''
  for (;;) {
    const page = await node.get<Page<(typeof all)[number]>>(`/v1/events?source=orders&limit=500${cursor}`)
    all.push(...page.items)
    if (page.nextCursor === null) return all
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`
  }
}

test('[BU58] [BU60] kill -9 among 1,000 messages: none lost, none twice, and an unreadable one is a dead letter', async () => {
  await using workspace = makeWorkspace()
  await using vendor = await startVendor()
  const folder = await workspace.writeFlows(flows(vendor.url))
  const env = { MILLRACE_NATS_URL: nats.url, MILLRACE_LOG: 'stdout' }
  const start = () => startNode({ workspace, flows: folder, env })
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'ORDERS', subjects: ['orders.>'] })
  const first = await start()
  // As the server's operator may set it; by default, the test would wait half a minute.
  await eventually('the durable is there', () =>
    manager.consumers.update('ORDERS', DURABLE, { ack_wait: nanos(ACK_WAIT_MS) }).then(
      () => true,
      () => false,
    ),
  )
  await publish(MESSAGES)
  const after = 100 + randomInt(500)
  await eventually(`${after} orders are booked`, () => vendor.records('keyed').size >= after)
  first.kill('SIGKILL')
  await first.exited
  const atKill = vendor.records('keyed').size
  const node = await start()
  await eventually('every order is booked', () => vendor.records('keyed').size === MESSAGES)
  await eventually('the last message is there', async () => {
    const { items } = await node.get<Page<unknown>>('/v1/dead-letters?limit=10')
    return items.length === 1
  })
  // The first node's messages are redelivered when their time is over, and are recognised.
  await eventually('every message is acknowledged', async () => {
    const { num_pending, num_ack_pending } = await manager.consumers.info('ORDERS', DURABLE)
    return num_pending === 0 && num_ack_pending === 0
  })
  await settled(node)
  const events = await eventsOf(node)
  const effects = [...vendor.records('keyed').values()].map((record) => record.effects)
  const calls = [...vendor.records('keyed').values()].reduce((sum, { requests }) => sum + requests, 0)
  report(
    `NATS to one node, killed after ${atKill} of ${MESSAGES}: events ${events.length}, effects ${effects.length}, calls ${calls}`,
  )
  expect(events).toHaveLength(MESSAGES + 1)
  expect(effects).toHaveLength(MESSAGES)
  expect(effects.every((count) => count === 1)).toBe(true)
  const [letter] = (
    await node.get<Page<{ class: string; reason: string; eventId: string }>>('/v1/dead-letters')
  ).items
  expect(letter).toMatchObject({ class: 'poison', reason: 'unparseable' })
  const body = await fetch(`${node.url}/v1/events/${letter?.eventId}/body`, {
    headers: { authorization: `Bearer ${node.adminKey}` },
  })
  expect([...new Uint8Array(await body.arrayBuffer())]).toEqual([0x7b, 0xff])
  expect(await node.get('/v1/definitions/Source/orders')).toMatchObject({ consumer: { state: 'consuming' } })
  node.kill('SIGTERM')
  expect(await node.exited).toMatchObject({ code: 0, signal: null, stderr: '' })
})
