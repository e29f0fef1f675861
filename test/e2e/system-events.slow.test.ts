// Somebody who reads a real NATS server, and nothing else, sees every event that Millrace has about one delivery, one run, one
// rotation and one workflow, though no definition selects any of them.

import { connect, type NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { depotFlows, FIRST_TOKEN, startDepot, startShop } from '../support/depot.ts'
import { type NatsServer, startNats } from '../support/nats.ts'
import { buildDist, eventually } from '../support/node-process.ts'
import { startWebhookSink } from '../support/webhook-sink.ts'
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

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

const more = (sink: string) => `
---
kind: Subscription
name: crm
url: ${sink}
on: [shop.order.packed]
secret: { ref: crm }
---
kind: Workflow
name: parcel
places:
  open: { type: waiting }
  sent: { final: true }
start: open
triggers:
  - { on: shop.order.packed, action: create, correlate: { id: payload.id } }
  - { on: shop.order.sent, action: update, correlate: { id: payload.order }, fire: send }
transitions:
  send: { from: open, to: sent, on: event }
`

interface Told {
  readonly id: string
  readonly source: string
  readonly subject: string
  readonly correlationId: string
  readonly data: Readonly<Record<string, unknown>>
}

test('[FA9] a reader of the bus alone sees every event of a delivery, a run, a rotation and a workflow', async () => {
  await using workspace = makeWorkspace()
  await using depot = await startDepot()
  await using sink = await startWebhookSink()
  sink.know('crm', SECRET)
  const told: Told[] = []
  connection.subscribe('millrace.default.events.>', {
    callback: (_error, message) => void told.push(message.json<Told>()),
  })
  await connection.flush()
  const flows = await workspace.writeFlows(
    `${depotFlows(depot.vendor.url, { makesTokens: true })}${more(sink.urlOf('crm'))}`,
  )
  const env = { MILLRACE_NATS_URL: nats.url }
  const shop = await startShop({ workspace, flows, env }, FIRST_TOKEN)
  await shop.setSecret('crm', SECRET)
  const eventId = await shop.pack('p1')
  await sink.arrived(1)
  await fetch(`${shop.node.url}/in/default/shop`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    // The id names the event, by which repetitions are known.
    body: JSON.stringify({ id: 'p1-sent', order: 'p1', status: 'sent' }),
  })
  await shop.node.post('/v1/integrations/credentials/rotate', { credentialId: 'depot-token' })

  const expected = [
    'integration.connection.activated',
    'integration.credential.rotated',
    'integration.credential.rotating',
    'integration.run.completed',
    'webhook.delivered',
    'workflow.parcel.completed',
    'workflow.parcel.created',
    'workflow.parcel.entered.open',
    'workflow.parcel.entered.sent',
    'workflow.parcel.fired.send',
  ]
  const own = () => told.filter(({ source }) => source === 'millrace')
  await eventually(
    'everything was published',
    () => expected.every((subject) => own().some((one) => one.subject === subject)),
    async () => own().map(({ subject }) => subject),
  )
  expect(
    own()
      .map(({ subject }) => subject)
      .sort(),
  ).toEqual(expected)
  const correlationId = told.find(({ id }) => id === eventId)?.correlationId
  for (const subject of ['integration.run.completed', 'webhook.delivered', 'workflow.parcel.created'])
    expect(own().find((one) => one.subject === subject)).toMatchObject({ correlationId })
  // The same is read here, and nothing of it by who does not ask for it.
  const listed = await shop.list<Told>('/v1/events?system=true&source=millrace')
  expect(listed.map(({ id }) => id).sort()).toEqual(
    own()
      .map(({ id }) => id)
      .sort(),
  )
  const plain = await shop.list<Told>('/v1/events')
  expect(plain.filter(({ subject }) => subject === 'webhook.delivered')).toEqual([])
})
