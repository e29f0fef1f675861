// Outbound webhooks over the API of a whole node: subscribed events arrive, failures are shown and sent again, missed
// events are recovered.

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { verify } from '../src/sdk/client/index.ts'
import { type ApiNode, startApiNode } from './support/api-node.ts'

interface Seen {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

let node: ApiNode
let key: string
/** The endpoint's present response. */
let status = 200
const requests: Seen[] = []
const endpoint = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  requests.push({ path: String(request.url), headers: request.headers, body })
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`answer ${status}`)
})
let url = ''

const SHOP = `
kind: Source
name: shop
verify: { scheme: none }
subject: "shop.events.{{ payload.kind }}"
event: { id: payload.id }
`
const FOLDER = `
kind: Subscription
name: applied
url: https://applied.example.com/
on: shop.events.never
`

const subscriptions = '/v1/webhooks/subscriptions'
const call = (method: string, path: string, body?: unknown, params: Record<string, string> = {}) =>
  node.call(method, path, { key, params, ...(body !== undefined && { body }) })
const act = (name: string, verb: string, body: object = {}) =>
  call('POST', `${subscriptions}/{name}/${verb}`, body, { name })
const get = (name: string) => call('GET', `${subscriptions}/{name}`, undefined, { name })
const delivery = (id: string) => call('GET', '/v1/webhooks/deliveries/{id}', undefined, { id })
const list = (query: string) => node.call('GET', '/v1/webhooks/deliveries', { key, query })
const send = async (id: string, kind: string) => {
  const params = { tenant: 'default', source: 'shop' }
  return (await node.call('POST', '/in/{tenant}/{source}', { params, body: { id, kind } })).body.eventId
}
/** The delivery of an event in a state, as soon as there is one. */
const settled = async (eventId: string, state: string) => {
  const change = await node.seen(
    (one) => one.type === 'work' && one.eventId === eventId && one.state === state,
  )
  return (change as { id: string }).id
}
const ended = async (replayId: string) => {
  for (;;) {
    const { body } = await call('GET', '/v1/replays/{id}', undefined, { id: replayId })
    if (body.state !== 'running') return body
  }
}

beforeAll(async () => {
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`
  node = await startApiNode()
  key = node.app.adminKey.value
  const files = [{ path: 'shop.yaml', text: SHOP }]
  expect((await call('POST', '/v1/definitions/apply', { files })).status).toBe(200)
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  endpoint.closeAllConnections()
  await new Promise((resolve) => endpoint.close(resolve))
})

test('[WH15] a subscription gets matching events, signed with the secret that was shown', async () => {
  const made = await call('POST', subscriptions, {
    name: 'crm',
    url: `${url}/crm?t=1`,
    on: 'shop.events.paid',
  })
  expect(made, made.text).toMatchObject({ status: 201, body: { secret: expect.stringMatching(/^whsec_/) } })
  const eventId = await send('p-1', 'paid')
  const id = await settled(eventId, 'done')
  const sent = requests.find(({ headers }) => headers['webhook-id'] === eventId) as Seen
  expect(verify(sent.body, sent.headers, made.body.secret)).toMatchObject({
    id: eventId,
    data: { id: 'p-1' },
  })
  const { body } = await delivery(id)
  expect(body).toMatchObject({
    state: 'delivered',
    eventId,
    httpStatus: 200,
    request: { url: `${url}/crm?t=1` },
  })
  expect(JSON.stringify(body)).not.toContain('whsec_')
  expect((await list(`?eventId=${eventId}&subscription=crm&state=delivered`)).body.items).toHaveLength(1)
})

test('[WH15] a dead delivery is sent again by its id, with the same webhook-id', async () => {
  status = 500
  const retry = { attempts: 1 }
  await call('POST', subscriptions, { name: 'erp', url: `${url}/erp`, on: 'shop.events.booked', retry })
  const eventId = await send('b-1', 'booked')
  const id = await settled(eventId, 'dead')
  const dead = (await delivery(id)).body
  expect(dead).toMatchObject({ state: 'dead-lettered', deadLetterId: expect.any(String), httpStatus: 500 })
  expect(dead.history[0].response).toContain('answer 500')
  status = 200
  const again = await call('POST', '/v1/webhooks/deliveries/{id}/retry', { reason: 'mended' }, { id })
  expect(again).toMatchObject({ status: 202, body: { how: 'replayed' } })
  expect(await settled(eventId, 'done')).toBe(again.body.deliveryId)
  const ids = requests.filter(({ path }) => path === '/erp').map(({ headers }) => headers['webhook-id'])
  expect(ids).toEqual([eventId, eventId])
  const once = await call('POST', '/v1/webhooks/deliveries/{id}/retry', {}, { id: again.body.deliveryId })
  expect(once).toMatchObject({ status: 400, body: { code: 'reason_required' } })
})

test('[WH15] events that came while it was disabled are recovered, after a preview', async () => {
  expect((await act('crm', 'disable', { reason: 'their outage' })).body).toMatchObject({
    status: 'disabled',
    because: 'person',
    reason: 'their outage',
  })
  const eventId = await send('p-2', 'paid')
  const [skipped] = (await list(`?eventId=${eventId}`)).body.items
  expect(skipped).toMatchObject({ state: 'skipped', subscription: 'crm' })
  expect((await act('crm', 'enable')).body.status).toBe('active')
  await node.seen((one) => one.type === 'subscription' && one.name === 'crm' && one.status === 'disabled')
  const since = '2026-01-01T00:00:00Z'
  const look = await act('crm', 'recover', { since, dryRun: true })
  expect(look, look.text).toMatchObject({
    status: 200,
    body: { recovered: 1, totals: { missing: 1, delivered: 1 } },
  })
  const begun = await act('crm', 'recover', { since, reason: 'they are back' })
  expect(begun.status, begun.text).toBe(202)
  expect(await ended(begun.body.replayId)).toMatchObject({ of: 'deliveries', replayed: 1, refused: 0 })
  await settled(eventId, 'done')
})

test('[WH15] [SU28] each refusal has its own code', async () => {
  const files = [{ path: 'folder.yaml', text: FOLDER }]
  await call('POST', '/v1/definitions/apply', { files })
  const codeOf = async (answer: ReturnType<typeof call>) => {
    const { status: got, body } = await answer
    return `${got} ${body.code}`
  }
  const post = (body: object) => codeOf(call('POST', subscriptions, body))
  const on = 'shop.events.paid'
  const env = { name: 'inenv', url: `${url}/e`, on, secret: { env: 'NOT_SET' } }
  expect(await post({ name: 'crm', url, on })).toBe('409 name_taken')
  expect(await post({ name: 'applied', url, on })).toBe('409 name_taken')
  expect(await post({ name: 'meta', url: 'http://169.254.169.254/', on })).toBe('422 endpoint_refused')
  expect(await post({ name: 'meta', url: 'http://[::ffff:10.0.0.1]/', on })).toBe('422 endpoint_refused')
  expect(await post({ name: 'bad', url, on, whre: 'true' })).toBe('422 subscription_invalid')
  expect((await call('POST', subscriptions, env)).body.secret).toBeNull()
  const headers = { 'x-team': 'Vertrieb – Ost' }
  const refusals = [
    await call('POST', subscriptions, { name: 'wide', url, on, headers }),
    await call('PATCH', `${subscriptions}/{name}`, { headers }, { name: 'crm' }),
  ]
  for (const { status: got, body } of refusals) {
    expect(`${got} ${body.code}`).toBe('422 subscription_invalid')
    expect(body.details.fields).toMatchObject([{ path: '/headers/x-team' }])
  }
  expect(await codeOf(act('inenv', 'rotate-secret'))).toBe('409 secret_in_environment')
  expect(await codeOf(act('crm', 'rotate-secret', { overlap: '8d' }))).toBe('400 overlap_invalid')
  expect(await codeOf(act('crm', 'rotate-secret', { secret: 'short' }))).toBe('400 signing_secret_invalid')
  expect(await codeOf(act('crm', 'reveal-secret'))).toBe('409 secret_shown')
  expect(await codeOf(get('nobody'))).toBe('404 unknown_subscription')
  const patch = call('PATCH', `${subscriptions}/{name}`, { description: 'x' }, { name: 'applied' })
  expect(await codeOf(patch)).toBe('409 managed_by_folder')
})

test('[WH15] public keys are given to everyone; both secrets sign in an overlap', async () => {
  const made = { name: 'keyed', url: `${url}/keyed`, on: 'shop.events.keyed', signing: 'ed25519' }
  await call('POST', subscriptions, made)
  const params = { tenant: 'default', name: 'keyed' }
  const keys = async () => (await node.call('GET', '/webhooks/{tenant}/{name}/keys', { params })).body.keys
  const [first] = await keys()
  expect((await act('keyed', 'rotate-secret', { overlap: '1h' })).status).toBe(200)
  const both = await keys()
  expect(both).toHaveLength(2)
  expect(both[1].key).toBe(first.key)
  const eventId = await send('k-1', 'keyed')
  await settled(eventId, 'done')
  const { body, headers } = requests.find(({ path }) => path === '/keyed') as Seen
  for (const { key: one } of both) expect(verify(body, headers, one)).toMatchObject({ id: eventId })
})

test('[AP2] every response here matched the document', () => {
  expect(node.faults).toEqual([])
})
