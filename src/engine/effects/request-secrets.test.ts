// Inline auth and `{{ secret('…') }}`: what is sent, what is stored, and what happens to a call whose secret is
// missing.
import { describe, expect, test } from 'vitest'
import type {
  ActionDocument,
  AgentDocument,
  DefinitionDocument,
  HttpActionDocument,
  RouteDocument,
  UpsertActionDocument,
  WorkflowDocument,
} from '../../core/definitions/documents/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { HttpOutcome, HttpRequest } from '../../ports/http-client.ts'
import {
  CONNECTION,
  CREDENTIAL,
  makeManualCredentials,
  makeShop,
  PROVIDER,
} from '../connections/connections.fixture.ts'
import { accept, answered, CREATED, HTTP, LOST, makeWorld, ROUTE, SOURCE, workOf } from '../engine.fixture.ts'
import { HOOK, SECRET as SIGNING } from '../webhooks/deliveries/deliveries.fixture.ts'
import { place, post, SAGA, transition } from '../workflows/saga.fixture.ts'

const BOOKS = 'b00ks/token+1'
const NEXT = 'n3xt-token-of-books'

const json = (value: unknown, status = 200): HttpOutcome => ({
  kind: 'response',
  status,
  headers: {},
  body: JSON.stringify(value),
  durationMs: 1,
})

/** A world that records everything stored or logged. */
async function start(
  documents: readonly DefinitionDocument[],
  answer: (request: HttpRequest, call: number) => HttpOutcome | null = () => CREATED,
) {
  const world = makeWorld(answer)
  const written: unknown[] = []
  const node = await world.node({
    documents: [SOURCE, ...documents],
    faults: {
      commit(commit, pass) {
        written.push(commit)
        return pass()
      },
    },
  })
  const set = async (name: string, value: string) => {
    await world.vault.set(DEFAULT_TENANT, name, value, { isPending: false, by: 'test' })
  }
  return {
    ...world,
    one: node,
    set,
    sent: () => world.calls.map(({ request }) => request),
    send: () => accept(world, node),
    /** Everything stored and logged. */
    traces: () =>
      JSON.stringify([written, node.log.messages, node.log.controls], (_key, value) =>
        typeof value === 'bigint' ? `${value}` : value,
      ),
  }
}

const route = (action: ActionDocument, more: Partial<RouteDocument> = {}): RouteDocument => ({
  ...ROUTE,
  do: action,
  ...more,
})
const http = (more: Partial<HttpActionDocument>): HttpActionDocument => ({ ...HTTP, ...more })
const BEARER = http({ auth: { bearer: { ref: 'books' } } })

describe('requests', () => {
  test('[IX2] auth is a bearer token, a user with a password, or a custom header', async () => {
    for (const [auth, header, value] of [
      [{ bearer: { ref: 'books' } }, 'authorization', `Bearer ${BOOKS}`],
      [
        { basic: { user: 'me', password: { ref: 'books' } } },
        'authorization',
        `Basic ${Buffer.from(`me:${BOOKS}`).toString('base64')}`,
      ],
      [{ header: { name: 'x-api-key', value: { ref: 'books' } } }, 'x-api-key', BOOKS],
    ] as const) {
      const world = await start([route(http({ auth }))])
      await world.set('books', BOOKS)
      const event = await world.send()
      expect((await workOf(world, event)).state).toBe('done')
      expect(world.sent()).toHaveLength(1)
      expect(world.sent()[0]?.headers[header]).toBe(value)
      expect(world.traces()).not.toContain(BOOKS)
      expect(world.traces()).not.toContain(Buffer.from(`me:${BOOKS}`).toString('base64'))
    }
  })

  test('[IX1] a secret may be in headers, queries and bodies, encoded for each of them', async () => {
    const action = http({
      url: 'https://vendor.example/orders?token={{ secret("books") }}',
      headers: { 'x-token': "key {{ secret('books') }}" },
      body: { token: "{{ secret('books') }}", id: '{{ payload.id }}' },
    })
    const world = await start([route(action)])
    await world.set('books', `${BOOKS}"`)
    await world.send()
    expect(world.sent()).toMatchObject([
      {
        url: `https://vendor.example/orders?token=${encodeURIComponent(`${BOOKS}"`)}`,
        headers: { 'x-token': `key ${BOOKS}"` },
        body: JSON.stringify({ token: `${BOOKS}"`, id: 'd1' }),
      },
    ])
    expect(world.traces()).not.toContain(BOOKS)
    expect(world.traces()).not.toContain(encodeURIComponent(BOOKS))
  })

  test('[IX2] a probe uses the auth of its action, or its own', async () => {
    const probe = {
      method: 'GET',
      url: 'https://vendor.example/orders?ref={{ key }}',
      headers: {},
      found: 'result.body.size() > 0',
      afterMs: 1_000,
    }
    for (const [own, value] of [
      [undefined, `Bearer ${BOOKS}`],
      [{ bearer: { ref: 'reader' } }, 'Bearer reads-only'],
    ] as const) {
      const asked = own === undefined ? probe : { ...probe, auth: own }
      const answer = (request: HttpRequest) => (request.method === 'POST' ? LOST : json(['x']))
      const world = await start([route({ ...BEARER, probe: asked })], answer)
      await world.set('books', BOOKS)
      await world.set('reader', 'reads-only')
      const event = await world.send()
      await world.pass(60_000)
      expect((await workOf(world, event)).state).toBe('done')
      expect(world.sent()[1]).toMatchObject({ method: 'GET', headers: { authorization: value } })
      expect(world.traces()).not.toContain(BOOKS)
    }
  })

  test('[IX2] all requests of an upsert use it', async () => {
    const upsert: UpsertActionDocument = {
      type: 'upsert',
      baseUrl: 'https://vendor.example',
      auth: { bearer: { ref: 'books' } },
      headers: {},
      extRef: '{{ payload.order }}',
      find: {
        method: 'GET',
        path: "/things?ref={{ extRef }}&key={{ secret('finder') }}",
        found: 'result.body.size() > 0',
        id: null,
        afterMs: 1_000,
      },
      create: {
        method: 'POST',
        path: '/things',
        body: { ref: '{{ extRef }}' },
        idempotent: false,
        keyTtlMs: null,
      },
      update: null,
      lock: 'single',
      timeoutMs: 5_000,
      classify: {},
    }
    const world = await start([route(upsert)], (request) => (request.method === 'GET' ? json([]) : CREATED))
    await world.set('books', BOOKS)
    await world.set('finder', 'finds-them')
    const event = await world.send()
    expect((await workOf(world, event)).state).toBe('done')
    expect(world.sent()).toMatchObject([
      {
        url: 'https://vendor.example/things?ref=o1&key=finds-them',
        headers: { authorization: `Bearer ${BOOKS}` },
      },
      { url: 'https://vendor.example/things', headers: { authorization: `Bearer ${BOOKS}` } },
    ])
    expect(world.traces()).not.toMatch(/finds-them|b00ks/)
  })

  const AGENT: AgentDocument = {
    kind: 'Agent',
    name: 'prioritiser',
    description: null,
    baseUrl: 'https://models.example/v1',
    secret: null,
    headers: { 'x-project': "{{ secret('project') }}" },
    model: 'small-1',
    system: null,
    user: 'Order {{ order }}',
    output: null,
    temperature: null,
    timeoutMs: 20_000,
    budget: null,
    repairs: 0,
  }
  const asking = (agent: Partial<AgentDocument>): RouteDocument =>
    route({ type: 'agent', agent: { ...AGENT, ...agent }, with: { order: '{{ payload.order }}' } })

  test('[IX2] [IX7] an agent uses its auth, and a model that repeats the secret is redacted', async () => {
    const answer = () => json({ choices: [{ message: { content: `your key is ${BOOKS}` } }] })
    const world = await start(
      [asking({ auth: { header: { name: 'api-key', value: { ref: 'books' } } } })],
      answer,
    )
    await world.set('books', BOOKS)
    await world.set('project', 'our-project')
    const event = await world.send()
    expect((await workOf(world, event)).state).toBe('done')
    expect(world.sent()[0]?.headers).toMatchObject({ 'api-key': BOOKS, 'x-project': 'our-project' })
    expect((await world.reads.ledger('BOOK:o1'))?.result).toContain('your key is [redacted]')
    expect(world.traces()).not.toMatch(/b00ks|our-project/)
  })
})

describe('deliveries', () => {
  const hook = {
    ...HOOK,
    url: "https://crm.example/hooks?token={{ secret('query') }}",
    headers: { 'x-team': "{{ secret('team') }}" },
    auth: { bearer: { ref: 'books' } },
    transform: { id: '{{ event.id }}', key: "{{ secret('inside') }}" },
  } as const

  test('[IX1] [IX2] [IX7] carry their secrets, and an endpoint that repeats them is redacted', async () => {
    const echo = ({ headers, url, body }: HttpRequest) => json({ headers, url, body }, 200)
    const world = await start([hook], echo)
    for (const [name, value] of [
      ['crm', SIGNING],
      ['query', 'in/the query'],
      ['team', 'of-the-team'],
      ['books', BOOKS],
      ['inside', 'inner'],
    ] as const)
      await world.set(name, value)
    const event = await world.send()
    expect((await workOf(world, event)).state).toBe('done')
    const [sent] = world.sent()
    expect(sent).toMatchObject({
      url: 'https://crm.example/hooks?token=in%2Fthe%20query',
      headers: { 'x-team': 'of-the-team', authorization: `Bearer ${BOOKS}` },
    })
    expect(JSON.parse(String(sent?.body))).toEqual({ id: event, key: 'inner' })
    expect(world.traces()).not.toMatch(/in%2Fthe|in\/the|of-the-team|b00ks|inner/)
    const asked = world.one.engine.deliveries.request(DEFAULT_TENANT, (await workOf(world, event)).id)
    await world.pass()
    expect(await asked).toMatchObject({
      ok: true,
      url: 'https://crm.example/hooks?token=%5Bredacted%5D',
      headers: { 'x-team': '[redacted]', authorization: 'Bearer [redacted]' },
      body: JSON.stringify({ id: event, key: '[redacted]' }),
    })
  })

  test('[IX5] [IX6] wait for a missing secret; one that no header can carry ends them', async () => {
    const world = await start([hook])
    await world.set('crm', SIGNING)
    const event = await world.send()
    expect(await workOf(world, event)).toMatchObject({
      state: 'ready',
      class: 'transient',
      lastError: expect.stringContaining('`query` has no value'),
    })
    for (const name of ['query', 'team', 'inside']) await world.set(name, 'a value')
    await world.set('books', 'two\r\nlines')
    await world.pass(60 * 60_000)
    const work = await workOf(world, event)
    expect(work).toMatchObject({ state: 'dead', class: 'validation' })
    expect(work.lastError).toContain('`books` has a line break')
    expect(world.sent()).toEqual([])
  })
})

describe('at each attempt', () => {
  test('[IX4] the current version is read, and a retry after a rotation is the same effect', async () => {
    const world = await start([route(BEARER)], (_request, call) => (call === 1 ? answered(503) : CREATED))
    await world.set('books', BOOKS)
    const event = await world.send()
    await world.set('books', NEXT)
    await world.pass(60_000)
    expect((await workOf(world, event)).state).toBe('done')
    const [first, second] = world.sent()
    expect(first?.headers).toMatchObject({ authorization: `Bearer ${BOOKS}`, 'idempotency-key': 'BOOK:o1' })
    expect(second?.headers).toMatchObject({ authorization: `Bearer ${NEXT}`, 'idempotency-key': 'BOOK:o1' })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'done' })
    expect(world.traces()).not.toMatch(/b00ks|n3xt/)
  })

  test('[IX5] without a value nothing is sent: a configuration failure, dead at once', async () => {
    for (const action of [BEARER, http({ headers: { 'x-key': "{{ secret('books') }}" } })]) {
      const world = await start([route(action)])
      const event = await world.send()
      const work = await workOf(world, event)
      expect(work).toMatchObject({ state: 'dead', class: 'config' })
      expect(work.lastError).toContain(
        'the secret `books` has no value: set it with `millrace secrets set books`',
      )
      expect(world.sent()).toEqual([])
      // Proof that nothing was sent: the key is free for a replay.
      expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'released', proof: 'never-sent' })
    }
  })

  test('[IX5] a vault that does not answer is retried', async () => {
    const world = await start([route(BEARER)])
    const { resolve } = world.vault
    let isAway = true
    Object.assign(world.vault, {
      resolve: (...args: Parameters<typeof resolve>) =>
        isAway
          ? Promise.reject(new AppError('vault_unavailable', 'the vault does not answer'))
          : resolve(...args),
    })
    await world.set('books', BOOKS)
    const event = await world.send()
    expect(await workOf(world, event)).toMatchObject({ state: 'ready', class: 'transient', attempts: 1 })
    isAway = false
    await world.pass(60_000)
    expect((await workOf(world, event)).state).toBe('done')
  })

  test('[IX6] a value with a line break is not sent: the failure names the secret and not the value', async () => {
    const world = await start([route(BEARER)])
    await world.set('books', `${BOOKS}\r\nx-admin: yes`)
    const event = await world.send()
    const work = await workOf(world, event)
    expect(work).toMatchObject({ state: 'dead', class: 'validation' })
    expect(work.lastError).toContain('the secret `books` has a line break')
    expect(world.sent()).toEqual([])
    expect(world.traces()).not.toMatch(/b00ks|x-admin/)
  })

  test('[IX7] a vendor that repeats a secret leaves no trace of it, whether it accepts or refuses the call', async () => {
    for (const status of [201, 422]) {
      const pair = Buffer.from(`me:${BOOKS}`).toString('base64')
      const echo = () => json({ id: 'v1', error: `no ${BOOKS}`, message: `not for ${pair}` }, status)
      const auth = { basic: { user: 'me', password: { ref: 'books' } } }
      const world = await start([route(http({ auth }))], echo)
      await world.set('books', BOOKS)
      const event = await world.send()
      expect((await workOf(world, event)).state).toBe(status === 201 ? 'done' : 'dead')
      expect(world.traces()).toContain('[redacted]')
      expect(world.traces()).not.toContain(BOOKS)
      expect(world.traces()).not.toContain(pair)
    }
  })

  test('[IX8] a node that lost its lease while it read the vault sends nothing', async () => {
    const world = await start([route(BEARER)])
    await world.set('books', BOOKS)
    const { resolve } = world.vault
    let open: () => void = () => {}
    const opened = new Promise<void>((done) => {
      open = done
    })
    Object.assign(world.vault, {
      resolve: async (...args: Parameters<typeof resolve>) => {
        await opened
        return resolve(...args)
      },
    })
    world.one.faults.renew = () => new Promise(() => {})
    await world.send()
    await world.pass(10 * 60_000)
    open()
    await world.pass(1_000)
    expect(world.sent()).toEqual([])
  })
})

test('[IX1] [IX7] on a connection a secret in a header is sent, and the integration run shows none of it', async () => {
  const world = makeShop((request) =>
    request.url.endsWith('/me') ? answered(200) : json({ id: 'v1', said: request.headers['x-second'] }),
  )
  await world.vault.set(DEFAULT_TENANT, 'books', BOOKS, { isPending: false, by: 'test' })
  const action = http({
    connection: 'shop',
    url: "/orders?token={{ secret('books') }}",
    headers: { 'x-second': "second {{ secret('books') }}" },
  })
  const all = [SOURCE, PROVIDER, CONNECTION, CREDENTIAL, route(action)]
  const node = await world.node({ documents: all, credentials: makeManualCredentials() })
  await world.pass()
  const event = await accept(world, node)
  expect((await workOf(world, event)).state).toBe('done')
  expect(world.sent).toMatchObject([
    {
      url: `https://api.eu.shop.example/v1/orders?token=${encodeURIComponent(BOOKS)}`,
      headers: { 'x-second': `second ${BOOKS}` },
    },
  ])
  const { items } = await world.reads.runs({ cursor: null, limit: 50, purpose: 'work' })
  expect(items).toMatchObject([
    { state: 'completed', attempts: [{ request: expect.stringContaining('second [redacted]') }] },
  ])
  expect(JSON.stringify(items)).not.toMatch(/b00ks/)
  expect((await world.reads.ledger('BOOK:o1'))?.result).toContain('second [redacted]')
})

test('[IX5] on a connection, too, nothing is sent without the secret', async () => {
  const world = makeShop((request) => (request.url.endsWith('/me') ? answered(200) : CREATED))
  const action = http({ connection: 'shop', url: '/orders', headers: { k: "{{ secret('nobody-set-it') }}" } })
  const all = [SOURCE, PROVIDER, CONNECTION, CREDENTIAL, route(action)]
  const node = await world.node({ documents: all, credentials: makeManualCredentials() })
  await world.pass()
  const event = await accept(world, node)
  expect(await workOf(world, event)).toMatchObject({ state: 'dead', class: 'config' })
  expect(world.sent).toEqual([])
})

test('[IX2] workflow steps use their auth: actions, compensations and actions of places', async () => {
  const called = (name: string) => post(name, { auth: { bearer: { ref: 'books' } } })
  const document: WorkflowDocument = {
    ...SAGA,
    start: 'new',
    places: [
      place('new'),
      place('booked', { onEnter: called('enter') }),
      place('rolling_back'),
      place('done', { type: 'final' }),
      place('broken', { type: 'error' }),
    ],
    transitions: [
      transition('book', 'new', 'booked', { do: called('do'), undo: called('undo') }),
      transition('ship', 'booked', 'done', { do: called('ship') }),
    ],
  }
  const world = await start([document], ({ url }) => (url.endsWith('/ship') ? answered(400) : CREATED))
  await world.set('books', BOOKS)
  await world.send()
  await world.pass(60_000)
  const seen = world.sent().map(({ url, headers }) => [url.split('/').at(-1), headers.authorization])
  for (const name of ['do', 'enter', 'undo']) expect(seen).toContainEqual([name, `Bearer ${BOOKS}`])
  expect(world.traces()).not.toMatch(/b00ks/)
})

test('[IX3] a dry run of a request shows no secret, and needs none', async () => {
  const world = await start([route({ ...BEARER, body: { key: "{{ secret('books') }}" } })])
  await world.set('books', BOOKS)
  const event = await world.send()
  const tried = world.one.engine.inspect.tryRoute(DEFAULT_TENANT, 'book', event)
  await world.pass()
  const text = JSON.stringify(await tried)
  expect(text).toContain('Bearer [redacted]')
  expect(text).not.toContain(BOOKS)
})
