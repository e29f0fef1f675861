// A small shop for tests of the console: a source, routes, and a billing system (billing.ts) that acts by the order's
// number.

import { startBilling } from './billing.ts'
import { buildDist, eventually, type NodeProcess, startNode } from './node-process.ts'
import { makeWorkspace } from './workspace.ts'

export interface Shop extends AsyncDisposable {
  readonly node: NodeProcess
  /** Address of its billing system. */
  readonly billing: string
  /** Sends a paid order; returns the event's id. */
  order(number: string, extra?: object): Promise<string>
  /** Sends any payload as the text it is. */
  send(body: string): Promise<string>
  /** Waits until the route's job for the event is in this state; returns the job's id. */
  reached(eventId: string, route: string, state: string): Promise<string>
  /** From now on everything is done and answered. */
  heal(): void
  /** References that billing has written invoices for, in order. */
  readonly invoices: readonly string[]
}

const flowsOf = (billing: string) => `kind: Source
name: shop
description: Orders of the shop.
verify: { scheme: none }
subject: "shop.events.{{ payload.type }}"
event: { id: payload.id, objectType: order, objectId: payload.order.number }
catalog:
  subjects:
    - subject: shop.events.order.paid
      description: An order was paid.
      schema: { type: object, required: [order] }
      example: { order: { number: example-1, total: 42 } }
    - subject: shop.events.customer.created
      description: A customer has an account.
    - subject: shop.events.order.refunded
    - subject: shop.events.order.lost
---
kind: Route
name: invoice
description: One invoice per paid order.
on: [shop.events.order.paid]
where: payload.order.total > 0
key: "'INVOICE:' + payload.order.number"
retry: { attempts: 3, delays: [1h, 1h] }
do:
  timeout: 5s
  http:
    method: POST
    url: "${billing}/invoices"
    body: { reference: "{{ key }}", number: "{{ payload.order.number }}" }
---
kind: Route
name: announce
on: [shop.events.order.paid]
do: { emit: shop.order.announced, data: { order: "{{ payload.order.number }}" } }
---
kind: Route
name: welcome
on: [shop.events.customer.created]
do: { emit: shop.customer.welcomed, data: { id: "{{ payload.id }}" } }
`

export interface ShopOptions {
  /** Definitions besides the shop's own. */
  readonly more?: (billing: string) => string
  readonly env?: Readonly<Record<string, string>>
}

export async function openShop({ more, env }: ShopOptions = {}): Promise<Shop> {
  await buildDist()
  const billing = await startBilling()
  const workspace = makeWorkspace()
  const texts = [flowsOf(billing.url), ...(more === undefined ? [] : [more(billing.url)])]
  const flows = await workspace.writeFlows(texts.join('---\n'))
  const node = await startNode({ workspace, flows, ...(env !== undefined && { env }) })

  const send = async (body: string) => {
    const response = await fetch(`${node.url}/in/default/shop`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    if (response.status !== 202) throw new Error(`answered ${response.status}: ${await response.text()}`)
    return ((await response.json()) as { eventId: string }).eventId
  }
  return {
    node,
    billing: billing.url,
    invoices: billing.invoices,
    send,
    order: (number, extra = {}) =>
      send(JSON.stringify({ id: `e-${number}`, type: 'order.paid', order: { number, total: 42 }, ...extra })),
    async reached(eventId, route, state) {
      let found: { name: string; state: string; workId: string } | undefined
      await eventually(`${route} of ${eventId} is ${state}`, async () => {
        const { consumers } = await node.get<{
          consumers: { name: string; state: string; workId: string }[]
        }>(`/v1/events/${eventId}`)
        found = consumers.find((consumer) => consumer.name === route && consumer.state === state)
        return found !== undefined
      })
      return found!.workId
    },
    heal: billing.heal,
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]()
      await billing[Symbol.asyncDispose]()
    },
  }
}
