// What a store of a former version holds: written by `scripts/write-former-store.ts` with that version, read by test/e2e/former-store.slow.test.ts.

import { join } from 'node:path'
import { project } from './node-process.ts'

export const FORMER_STORES = join(project, 'test', 'former-stores')

/** The key and the master key of every former store: a store of a test guards nothing. */
export const FORMER_ENV = {
  MILLRACE_ADMIN_KEY: 'the-admin-key-of-the-former-stores',
  MILLRACE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  MILLRACE_NODE: 'former',
} as const

/** Set while the former version runs: its jobs of `later` are not due yet when it stops. */
export const FORMER_RUNS = 'FORMER_VERSION_RUNS'

/** The definitions, with the address of the vendor of the moment. */
export function formerFlows(vendor: string): string {
  return `
kind: Source
name: shop
verify: { scheme: none }
subject: "shop.{{ payload.kind }}"
event: { id: payload.id, objectType: order, objectId: payload.order }
retention: 3650d
---
kind: Route
name: book
on: [shop.paid]
key: "'BOOK:' + payload.order"
do: { http: { method: POST, url: "${vendor}/book", keyTtl: 24h, body: { order: "{{ payload.order }}", amount: "{{ payload.amount }}" } } }
---
kind: Route
name: refuse
on: [shop.refused]
key: "'REFUSE:' + payload.order"
do: { http: { method: POST, url: "${vendor}/refuse", keyTtl: 24h, body: { order: "{{ payload.order }}" } } }
---
kind: Workflow
name: approval
version: 1.0.0
start: placed
triggers:
  - on: shop.placed
    action: create
    correlate: { order: payload.order }
    map: { order: payload.order, amount: payload.amount }
  - on: shop.shipped
    action: update
    correlate: { order: payload.order }
    map: { shipped: "true" }
    buffer: 30s
places:
  placed: {}
  review: { type: review }
  approved: { final: true }
transitions:
  ask: { from: placed, to: review, do: { emit: approval.asked, data: { order: "{{ data.order }}" } } }
  approve: { from: review, to: approved, on: manual, do: { emit: approval.given, data: { order: "{{ data.order }}" } } }
security: { encrypt: [data.amount] }
---
kind: Subscription
name: customer
url: "${vendor}/hooks"
on: ["approval.>"]
`
}

export const FORMER_FUNCTION = `
import { defineFunction, defineRoute, expr, RetryableError } from 'millrace'

export const remind = defineFunction({
  name: 'remind',
  async run(input: { order: string }, ctx) {
    if (process.env.${FORMER_RUNS} !== undefined) throw new RetryableError('not yet', { after: '30s' })
    ctx.emit('reminder.sent', { order: input.order })
    return { order: input.order }
  },
})

export default defineRoute({
  name: 'later',
  on: 'shop.later',
  key: expr\`'LATER:' + payload.order\`,
  maxWait: '30d',
  retry: { attempts: 3, delays: ['30s', '30s'] },
  do: remind.with({ order: '{{ payload.order }}' }),
})
`

/** In the order in which they were sent; the amount has more digits than a double. */
export const FORMER_EVENTS = [
  { id: 'e1', kind: 'paid', order: 'o-1', amount: '1234567890.10' },
  { id: 'e2', kind: 'refused', order: 'o-2', amount: '1.0' },
  { id: 'e3', kind: 'placed', order: 'o-3', amount: '12345678901234567890.5' },
  { id: 'e4', kind: 'shipped', order: 'o-9', amount: '2' },
  { id: 'e5', kind: 'later', order: 'o-5', amount: '3' },
  { id: 'e6', kind: 'unknown', order: 'o-6', amount: '4' },
] as const

export function formerBody({ id, kind, order, amount }: (typeof FORMER_EVENTS)[number]): string {
  return `{"id":"${id}","kind":"${kind}","order":"${order}","amount":${amount}}`
}
