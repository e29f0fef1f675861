// Outbound webhooks of a real node: what receivers verify, with third-party libraries, and the outcome of deliveries to
// misbehaving endpoints, beside a healthy one.

import { createPublicKey, verify as verifySignature } from 'node:crypto'
import type { Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { verify as verifyGithub } from '@octokit/webhooks-methods'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { TEST_CERTIFICATE, TEST_KEY } from '../../src/adapters/http-undici/certificates.fixture.ts'
import { verify } from '../../src/sdk/client/index.ts'
import { buildDist, eventually, type NodeProcess, startNode } from '../support/node-process.ts'
import { type RawReceiver, startRawReceiver, startReceiver } from '../support/receivers.ts'
import { GITHUB_SOURCE, type ShownDelivery } from '../support/webhook-account.ts'
import { startWebhookSink } from '../support/webhook-sink.ts'
import { makeWorkspace, type Workspace } from '../support/workspace.ts'

let workspace: Workspace
let node: NodeProcess
beforeAll(async () => {
  await buildDist()
  workspace = makeWorkspace()
  const flows = await workspace.writeFlows(GITHUB_SOURCE)
  // Few slots: endpoints that hang would take all of them.
  node = await startNode({ workspace, flows, env: { MILLRACE_CONCURRENCY: '8' } })
})
afterAll(() => workspace?.[Symbol.asyncDispose]())

const used: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of used.splice(0)) await one[Symbol.asyncDispose]()
})

/** Disposed when the test is over. */
function use<One extends AsyncDisposable>(one: One): One {
  used.push(one)
  return one
}

interface Made {
  readonly secret: string
}
const SUBSCRIPTIONS = '/v1/webhooks/subscriptions'

const create = (name: string, url: string, more: object = {}) =>
  node.post<Made>(SUBSCRIPTIONS, { name, url, on: [`e2e.${name}.happened`], ...more })

const rotate = (name: string, overlap: string) =>
  node.post<Made>(`${SUBSCRIPTIONS}/${name}/rotate-secret`, { overlap })

let published = 0
/** Returns the event's id. */
async function publish(subject: string): Promise<string> {
  published += 1
  const event = {
    specversion: '1.0',
    id: `e2e-${published}`,
    source: 'e2e',
    type: subject,
    data: { n: published },
  }
  const response = await fetch(`${node.url}/v1/events`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${node.adminKey}`,
      'content-type': 'application/cloudevents+json',
    },
    body: JSON.stringify(event),
  })
  expect(response.status).toBe(202)
  return ((await response.json()) as { eventId: string }).eventId
}

const happen = (name: string) => publish(`e2e.${name}.happened`)

interface ShownAttempt {
  readonly outcome: string
  readonly class?: string
  readonly httpStatus?: number
  readonly error?: string
  readonly response?: string
}
interface Detail extends ShownDelivery {
  readonly deadLetterId?: string
  readonly history: readonly ShownAttempt[]
}

/** The delivery of an event to a subscription once it is in one of the states. */
async function ended(subscription: string, eventId: string, states: readonly string[]): Promise<Detail> {
  let found: ShownDelivery | undefined
  await eventually(`${subscription} is ${states.join(' or ')}`, async () => {
    const path = `/v1/webhooks/deliveries?subscription=${subscription}&eventId=${eventId}`
    found = (await node.get<{ items: readonly ShownDelivery[] }>(path)).items[0]
    return found !== undefined && states.includes(found.state)
  })
  return node.get<Detail>(`/v1/webhooks/deliveries/${found?.id}`)
}

const OVER = ['delivered', 'dead-lettered', 'cancelled', 'skipped']

describe('what receivers verify', () => {
  test('[SN1] [SN2] the Standard Webhooks library accepts it, and both secrets while they overlap', async () => {
    await using receiver = await startReceiver()
    const before = (await create('standard', receiver.url)).secret
    const eventId = await happen('standard')
    const first = await receiver.next()
    expect(new Webhook(before).verify(first.body, first.headers)).toMatchObject({
      id: eventId,
      type: 'e2e.standard.happened',
      data: { n: published },
    })
    expect(first.headers['webhook-id']).toBe(eventId)

    const after = (await rotate('standard', '24h')).secret
    expect(after).not.toBe(before)
    await happen('standard')
    const both = await receiver.next()
    expect(both.headers['webhook-signature']?.split(' ')).toHaveLength(2)
    for (const secret of [before, after]) {
      expect(new Webhook(secret).verify(both.body, both.headers)).toMatchObject({ data: { n: published } })
      expect(verify(both.body, both.headers, secret)).toMatchObject({ data: { n: published } })
    }
    expect(() => new Webhook(after).verify(`${both.body} `, both.headers)).toThrow()
  })

  test('[SN2] without an overlap only the new one verifies', async () => {
    await using receiver = await startReceiver()
    const before = (await create('abrupt', receiver.url)).secret
    const after = (await rotate('abrupt', '0s')).secret
    await happen('abrupt')
    const { body, headers } = await receiver.next()
    expect(new Webhook(after).verify(body, headers)).toMatchObject({ data: { n: published } })
    expect(() => new Webhook(before).verify(body, headers)).toThrow('No matching signature')
    expect(() => verify(body, headers, before)).toThrow()
  })

  test('[SN3] Ed25519 is verified with the public key that anyone may request', async () => {
    await using receiver = await startReceiver()
    await create('keyed', receiver.url, { signing: 'ed25519' })
    const eventId = await happen('keyed')
    const { body, headers } = await receiver.next()
    const response = await fetch(`${node.url}/webhooks/default/keyed/keys`)
    const { keys } = (await response.json()) as { keys: readonly { readonly key: string }[] }
    const key = keys[0]?.key ?? ''
    expect(verify(body, headers, key)).toMatchObject({ id: eventId })

    const x = Buffer.from(key.slice('whpk_'.length), 'base64').toString('base64url')
    const publicKey = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } })
    const signature = Buffer.from(headers['webhook-signature']?.slice('v1a,'.length) ?? '', 'base64')
    const isSigned = (text: string) =>
      verifySignature(
        null,
        Buffer.from(`${eventId}.${headers['webhook-timestamp']}.${text}`),
        publicKey,
        signature,
      )
    expect([isSigned(body), isSigned(`${body} `)]).toEqual([true, false])
  })

  test('[SN4] GitHub’s library accepts GitHub’s way of signing', async () => {
    await using receiver = await startReceiver()
    const { secret } = await create('octo', receiver.url, { signing: 'github' })
    await happen('octo')
    const { body, headers } = await receiver.next()
    const signature = headers['x-hub-signature-256'] ?? ''
    expect(await verifyGithub(secret, body, signature)).toBe(true)
    expect(await verifyGithub(`${secret}.`, body, signature)).toBe(false)
  })
})

describe('endpoints that misbehave', () => {
  const OK = 'HTTP/1.1 200 OK\r\n'
  const FLOOD = 'x'.repeat(64 * 1_024)
  /** Continues until the other side closes. */
  const drip = (socket: Socket, text: string) => {
    const timer = setInterval(() => socket.write(text), 50)
    socket.once('close', () => clearInterval(timer))
  }

  interface Odd {
    readonly name: string
    onRequest(socket: Socket, number: number): void
    readonly isTls?: boolean
    readonly state: 'delivered' | 'dead-lettered'
    readonly attempt: object
  }
  const delivered = { outcome: 'done', httpStatus: 200 }
  const transient = { outcome: 'dead', class: 'transient' }
  const ODD: readonly Odd[] = [
    {
      name: 'oversized',
      onRequest(socket) {
        socket.write(`${OK}content-length: 100000000\r\n\r\n`)
        drip(socket, FLOOD)
      },
      state: 'delivered',
      attempt: delivered,
    },
    {
      name: 'oversized-head',
      onRequest(socket) {
        socket.write(OK)
        drip(socket, `x-more: ${FLOOD.slice(0, 8_000)}\r\n`)
      },
      state: 'dead-lettered',
      attempt: transient,
    },
    {
      name: 'dripping-head',
      onRequest(socket) {
        socket.write(OK)
        drip(socket, 'x')
      },
      state: 'dead-lettered',
      attempt: { ...transient, error: expect.stringContaining('did not answer completely within 1000 ms') },
    },
    {
      name: 'dripping-body',
      onRequest(socket) {
        socket.write(`${OK}content-length: 100000\r\n\r\n`)
        drip(socket, 'x')
      },
      state: 'delivered',
      attempt: delivered,
    },
    {
      name: 'silent',
      onRequest() {},
      state: 'dead-lettered',
      attempt: { ...transient, error: expect.stringContaining('did not answer completely within 1000 ms') },
    },
    {
      name: 'untrusted',
      isTls: true,
      onRequest: (socket) => socket.end(`${OK}content-length: 0\r\n\r\n`),
      state: 'dead-lettered',
      attempt: { ...transient, error: expect.stringContaining('TLS handshake that can be trusted') },
    },
    {
      name: 'old',
      onRequest: (socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nthanks, as in 1996'),
      state: 'delivered',
      attempt: { ...delivered, response: expect.stringContaining('as in 1996') },
    },
    {
      name: 'bad-chunks',
      onRequest: (socket) => socket.write(`${OK}transfer-encoding: chunked\r\n\r\nzz\r\nnot a chunk\r\n`),
      state: 'delivered',
      attempt: delivered,
    },
    {
      name: 'bad-chunks-of-an-error',
      onRequest: (socket) =>
        socket.write('HTTP/1.1 500 Oh\r\ntransfer-encoding: chunked\r\n\r\n5\r\nsorry\r\nzz\r\n'),
      state: 'dead-lettered',
      attempt: { ...transient, httpStatus: 500 },
    },
    {
      name: 'no-http',
      onRequest: (socket) => socket.end('220 mail.example.com ESMTP\r\n'),
      state: 'dead-lettered',
      attempt: transient,
    },
    {
      name: 'closing',
      onRequest: (socket) => socket.destroy(),
      state: 'dead-lettered',
      attempt: transient,
    },
    {
      name: 'half-a-head',
      onRequest: (socket) => socket.end('HTTP/1.1 20'),
      state: 'dead-lettered',
      attempt: transient,
    },
    {
      name: 'elsewhere',
      onRequest: (socket) =>
        socket.end('HTTP/1.1 307 There\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n'),
      state: 'dead-lettered',
      attempt: {
        ...transient,
        httpStatus: 307,
        error: expect.stringContaining('redirects are never followed'),
      },
    },
    {
      name: 'gone',
      onRequest: (socket) => socket.end('HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n'),
      state: 'dead-lettered',
      attempt: { outcome: 'dead', class: 'config', httpStatus: 410 },
    },
    {
      name: 'busy',
      onRequest: (socket, number) =>
        socket.end(
          number === 1
            ? 'HTTP/1.1 429 Slowly\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n'
            : `${OK}content-length: 0\r\n\r\n`,
        ),
      state: 'delivered',
      attempt: delivered,
    },
  ]

  const EVENTS_AFTER = 30

  test('[DY16] [DY17] [DY18] [DY23] [OG14] each has its own outcome, and the healthy one beside them gets everything meanwhile', async () => {
    const sink = use(await startWebhookSink())
    const on = ['e2e.odd.happened']
    const { secret } = await create('healthy', sink.urlOf('healthy'), { on })
    sink.know('healthy', secret)
    const receivers = new Map<string, RawReceiver>()
    for (const { name, onRequest, isTls = false } of ODD) {
      const makeTls = (listener: (socket: Socket) => void) =>
        createTlsServer({ key: TEST_KEY, cert: TEST_CERTIFICATE }, listener)
      const receiver = use(await startRawReceiver(onRequest, isTls ? makeTls : undefined))
      receivers.set(name, receiver)
      const url = `${isTls ? 'https' : 'http'}://127.0.0.1:${receiver.port}/`
      await create(name, url, { on, timeout: '1s', retry: { attempts: 1, delays: [] } })
    }
    // These hang for as long as a call may take: longer than this test.
    const hanging = use(await startRawReceiver(() => {}))
    for (const name of ['hanging-1', 'hanging-2', 'hanging-3'])
      await create(name, `http://127.0.0.1:${hanging.port}/${name}`, { on, timeout: '60s' })

    const eventId = await publish('e2e.odd.happened')
    for (const { name, state, attempt } of ODD) {
      const delivery = await ended(name, eventId, OVER)
      expect({ name, state: delivery.state }).toEqual({ name, state })
      expect({ name, attempt: delivery.history.at(-1) }).toEqual({
        name,
        attempt: expect.objectContaining(attempt),
      })
      expect(delivery.deadLetterId !== undefined).toBe(state === 'dead-lettered')
    }
    expect((await ended('healthy', eventId, OVER)).state).toBe('delivered')

    const busy = await ended('busy', eventId, OVER)
    expect(busy.attempts).toBe(1)
    expect(busy.history.map(({ outcome, class: failed }) => [outcome, failed])).toEqual([
      ['waited', 'rate_limited'],
      ['done', undefined],
    ])
    expect(await node.get(`${SUBSCRIPTIONS}/gone`)).toMatchObject({ status: 'disabled', because: 'gone' })
    expect(receivers.get('untrusted')?.count()).toBe(0)

    for (let count = 0; count < EVENTS_AFTER; count += 1) await publish('e2e.odd.happened')
    await sink.arrived(1 + EVENTS_AFTER)
    expect(sink.faults).toEqual([])
    await eventually('the hanging ones wait for their response', () => hanging.open() >= 3)
    expect((await ended('hanging-1', eventId, ['delivering'])).state).toBe('delivering')
  })
})

test.each([
  ['http://10.1.2.3/hooks', 'private'],
  ['http://0xa9fea9fe/latest/meta-data', 'metadata'],
  ['https://[::ffff:192.168.0.1]/', 'private'],
])('[OG10] an endpoint at %s is refused when it is created', async (url, rule) => {
  const response = await fetch(`${node.url}${SUBSCRIPTIONS}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${node.adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'inside', url, on: ['e2e.>'] }),
  })
  expect(response.status).toBe(422)
  expect(await response.json()).toMatchObject({ code: 'endpoint_refused', details: { rule, field: 'url' } })
  expect((await node.get<{ items: readonly unknown[] }>(`${SUBSCRIPTIONS}?q=inside`)).items).toEqual([])
})
