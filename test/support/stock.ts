// A warehouse beside the shop, for tests and pictures of order, batching and flow control: every route of it gets into
// the state to be shown. Billing (billing.ts) acts by the number: `bad-…` is refused, `busy-…` rejected as busy.

import { eventually, type NodeProcess } from './node-process.ts'

export const stockFlows = (billing: string) => `kind: Source
name: stock
description: Movements of the warehouse.
verify: { scheme: none }
subject: "stock.events.{{ payload.type }}"
event: { id: payload.id, objectType: article, objectId: payload.sku }
---
kind: Route
name: book_stock
description: Movements of one article are booked one after another.
on: [stock.events.moved]
key: "'MOVE:' + payload.number"
order: { by: payload.sku }
rateLimit: { perMinute: 30, burst: 10 }
concurrency: { limit: 4 }
deadLetter: { severity: critical, runbook: "https://runbooks.example.com/stock" }
do: { http: { method: POST, url: "${billing}/moves", body: { reference: "{{ key }}", number: "{{ payload.number }}" } } }
---
kind: Route
name: mirror_stock
description: Keeps a copy of what is in stock at the marketplace.
on: [stock.events.counted]
key: "'COUNT:' + payload.number"
retry: { attempts: 3, delays: [1h, 1h] }
circuit: { failures: 2, ratio: 1, of: 100, openFor: 30m }
do: { http: { method: POST, url: "${billing}/counts", body: { reference: "{{ key }}", number: "{{ payload.number }}" } } }
---
kind: Route
name: bill_together
description: Up to three articles on one bill.
on: [stock.events.billed]
key: "'BILL:' + payload.number"
batch: { size: 3, maxWait: 5s }
retry: { attempts: 3, delays: [1h, 1h] }
do: { http: { method: POST, url: "${billing}/bills", body: { reference: "{{ key }}", number: "{{ batch[0].payload.number }}" } } }
---
kind: Route
name: check_entries
on: [stock.events.listed]
each: { of: payload.entries, as: entry, max: 20 }
key: "'ENTRY:' + entry.id"
do: { http: { method: POST, url: "${billing}/entries", body: { reference: "{{ key }}", number: "{{ entry.id }}" } } }
---
kind: Route
name: feed_shop
description: Tells the shop what is new, a few at a time.
on: [stock.events.fed]
key: "'FEED:' + payload.number"
priority: low
drain: FEED_SAFE_5MIN
debounce: { by: payload.sku, window: 1h, maxWait: 2h }
do: { http: { method: POST, url: "${billing}/feed", body: { reference: "{{ key }}", number: "{{ payload.number }}" } } }
`

export interface StockWork {
  readonly id: string
  readonly consumer: string
  readonly state: string
  readonly eventId: string
}

/** Sends a stock movement; returns the id of its event. */
export async function tellStock(
  node: Pick<NodeProcess, 'url'>,
  type: string,
  number: string,
  extra: object = {},
): Promise<string> {
  const response = await fetch(`${node.url}/in/default/stock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: `${type}-${number}`, type, number, sku: `sku-${number}`, ...extra }),
  })
  if (response.status !== 202) throw new Error(`answered ${response.status}: ${await response.text()}`)
  return ((await response.json()) as { eventId: string }).eventId
}

/** Waits until the route has this many jobs in the state; returns them, newest first. */
export async function workOf(
  node: NodeProcess,
  route: string,
  state: string,
  count = 1,
): Promise<readonly StockWork[]> {
  let found: readonly StockWork[] = []
  await eventually(`${count} of ${route} are ${state}`, async () => {
    const path = `/v1/work?consumer=${route}&state=${state}&limit=50`
    found = (await node.get<{ items: StockWork[] }>(path)).items
    return found.length >= count
  })
  return found
}

/** A lane that a dead job blocks, with two behind it. */
export async function holdLane(node: NodeProcess, sku: string) {
  await tellStock(node, 'moved', `bad-${sku}`, { sku })
  const [holder] = await workOf(node, 'book_stock', 'dead')
  await tellStock(node, 'moved', `${sku}-2`, { sku })
  await tellStock(node, 'moved', `${sku}-3`, { sku })
  const [last, next] = await workOf(node, 'book_stock', 'waiting', 2)
  return { holder: holder!, next: next!, last: last! }
}

/** Calls fail until the route pauses itself; one more waits then. */
export async function openCircuit(node: NodeProcess): Promise<void> {
  for (const number of ['busy-1', 'busy-2']) {
    await tellStock(node, 'counted', number)
  }
  await eventually('the circuit opened', async () => {
    const pace = await node.get<{ circuit: { state: string } }>('/v1/pace/mirror_stock')
    return pace.circuit.state === 'open'
  })
  await tellStock(node, 'counted', '3')
}

/** A batch that is rejected and waits for its next attempt, with its members. */
export async function gatherBatch(node: NodeProcess) {
  for (const number of ['busy-a', 'busy-b', 'busy-c']) await tellStock(node, 'billed', number)
  const members = await workOf(node, 'bill_together', 'merged', 3)
  const [batch] = await workOf(node, 'bill_together', 'ready')
  return { members, batch: batch! }
}
