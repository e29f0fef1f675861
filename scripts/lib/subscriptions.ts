// Subscriptions of every kind for pictures of the console: healthy ones, one that nothing arrives at, one that is gone,
// one that was and is back, and one that is paused.

import type { Endpoint } from '../../test/support/endpoint.ts'
import { eventually, type NodeProcess } from '../../test/support/node-process.ts'

const ORDERS = 24

export interface Hooks {
  /** Of a delivery that failed and is retried. */
  readonly retrying: string
}

interface Listed {
  readonly items: readonly { readonly id: string }[]
}

const subscriptionsOf = (url: string) => [
  {
    name: 'crm',
    description: 'Orders that sales shows beside their customers',
    url: `${url}/crm/hooks`,
    on: ['shop.order.*', 'shop.customer.>'],
    where: 'payload.total >= 10',
    headers: { 'x-team': 'sales' },
    order: { by: 'event.objectId' },
    metadata: { owner: 'sales', customer: '4711' },
  },
  { name: 'warehouse', url: `${url}/warehouse`, on: ['shop.order.paid'], metadata: { owner: 'logistics' } },
  {
    name: 'partner-eu',
    description: 'Orders from the EU, for our partner',
    url: `${url}/partner/in?region=eu`,
    on: ['shop.order.>'],
    metadata: { owner: 'partners' },
  },
  { name: 'former-erp', url: `${url}/erp`, on: ['shop.order.paid'] },
  { name: 'accounting', url: `${url}/accounting`, on: ['shop.order.paid'], metadata: { owner: 'finance' } },
  { name: 'mailing', url: `${url}/mailing`, on: ['shop.customer.created'], signing: 'ed25519' },
]

export async function fillHooks(node: NodeProcess, endpoint: Endpoint): Promise<Hooks> {
  endpoint.answer('/crm/hooks', 200, '{"received":true}')
  endpoint.answer('/partner/in', 500, '{"error":"no connection to the database"}')
  endpoint.answer('/accounting', 410)
  endpoint.answer('/erp', 410, '{"error":"this endpoint was removed in June"}')
  for (const subscription of subscriptionsOf(endpoint.url)) {
    await node.post('/v1/webhooks/subscriptions', subscription)
  }
  await node.post('/v1/webhooks/subscriptions/mailing/pause', { reason: 'They move to another system today' })
  for (let number = 1; number <= ORDERS; number += 1) {
    await publish(node, number, number % 4 === 0 ? 'shop.customer.created' : 'shop.order.paid')
  }
  // Gone by mistake, and back: its missed events are to be recovered.
  const isDisabled = async (name: string) =>
    (await node.get<{ status: string }>(`/v1/webhooks/subscriptions/${name}`)).status === 'disabled'
  await eventually('accounting is gone', () => isDisabled('accounting'))
  endpoint.answer('/accounting', 204)
  await node.post('/v1/webhooks/subscriptions/accounting/enable', { reason: 'Their proxy was wrong' })
  const open = (state: string) =>
    node.get<Listed>(`/v1/webhooks/deliveries?state=${state}&subscription=partner-eu`)
  await eventually('the partner fails', async () => {
    const { status } = await node.get<{ status: string }>('/v1/webhooks/subscriptions/partner-eu')
    return status === 'failing'
  })
  await eventually('the CRM has all', async () => {
    const { health } = await node.get<{ health: { waiting: number } }>('/v1/webhooks/subscriptions/crm')
    return health.waiting === 0
  })
  let retrying: string | undefined
  await eventually('one is tried again', async () => {
    for (const { id } of (await open('retrying')).items) {
      const { attempts } = await node.get<{ attempts: number }>(`/v1/webhooks/deliveries/${id}`)
      if (attempts > 1) retrying = id
    }
    return retrying !== undefined
  })
  return { retrying: retrying ?? '' }
}

async function publish(node: NodeProcess, number: number, subject: string): Promise<void> {
  const isOrder = subject.startsWith('shop.order')
  const body = JSON.stringify({
    specversion: '1.0',
    id: `${subject}-${number}`,
    source: 'shop',
    type: subject,
    subject: isOrder ? `order/${4_700 + number}` : `customer/${number}`,
    data: isOrder
      ? { id: `o-${4_700 + number}`, total: 20 + number, currency: 'EUR' }
      : { id: `c-${number}`, total: 10 },
  })
  const answer = await fetch(`${node.url}/v1/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${node.adminKey}`, 'content-type': 'application/cloudevents+json' },
    body,
  })
  if (!answer.ok) throw new Error(`publishing was answered with ${answer.status}: ${await answer.text()}`)
}
