// Other callers of the outbound client: http calls, upserts, agents and steps of workflows; and what is stored of an exchange.
import { describe, expect, test } from 'vitest'
import type {
  ActionDocument,
  DefinitionDocument,
  RouteDocument,
  WorkflowDocument,
} from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'
import { HEAD_LENGTH_MAX } from '../effects/redacted-exchange.ts'
import { accept, answered, CREATED, HTTP, LOST, PAID, ROUTE, SOURCE, workOf } from '../engine.fixture.ts'
import { CASE, CREATE, place, transition } from '../workflows/order-workflow.fixture.ts'
import {
  ACTION,
  CONNECTION,
  CREDENTIAL,
  documents,
  makeManualCredentials,
  makeShop,
  PROVIDER,
  SECRET,
} from './connections.fixture.ts'

const on = (action: ActionDocument, route: Partial<RouteDocument> = {}): readonly DefinitionDocument[] => [
  SOURCE,
  PROVIDER,
  CONNECTION,
  CREDENTIAL,
  { ...ROUTE, do: action, ...route },
]

const UPSERT = {
  type: 'upsert',
  connection: 'shop',
  baseUrl: '',
  headers: {},
  extRef: '{{ payload.order }}',
  find: {
    method: 'GET',
    path: '/things?ref={{ extRef }}',
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
} as const satisfies ActionDocument

async function start(world: ReturnType<typeof makeShop>, all: readonly DefinitionDocument[]) {
  const credentials = makeManualCredentials()
  const node = await world.node({ documents: all, credentials })
  await world.pass()
  return { node, credentials }
}

const runsOf = async (world: ReturnType<typeof makeShop>) =>
  (await world.reads.runs({ cursor: null, limit: 50, purpose: 'work' })).items

const body = (value: unknown): HttpOutcome => ({
  kind: 'response',
  status: 200,
  headers: {},
  body: JSON.stringify(value),
  durationMs: 1,
})

describe('through the outbound client', () => {
  test('[DR1] an http call goes to the address of its connection, with its key, and is a run', async () => {
    const world = makeShop(() => CREATED)
    const { node } = await start(
      world,
      on({ ...HTTP, connection: 'shop', url: '/orders/{{ payload.order }}' }),
    )
    const eventId = await accept(world, node)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', effectRef: 'v1' })
    expect(world.sent).toMatchObject([
      {
        url: 'https://api.eu.shop.example/v1/orders/o1',
        headers: { authorization: `Bearer ${SECRET}`, 'idempotency-key': 'BOOK:o1' },
      },
    ])
    expect(await runsOf(world)).toMatchObject([
      { state: 'completed', operation: 'http POST /orders/{{ payload.order }}', externalRef: 'v1' },
    ])
    expect(node.log.controls.at(-1)).toMatchObject({ targetSystem: 'api.eu.shop.example' })
  })

  test('[DR1] a foreign address gets nothing', async () => {
    const world = makeShop(() => CREATED)
    const { node } = await start(world, on({ ...HTTP, connection: 'shop', url: 'https://evil.example/x' }))
    const eventId = await accept(world, node)
    expect(world.sent).toEqual([])
    expect(await workOf(world, eventId)).toMatchObject({
      state: 'dead',
      class: 'config',
      lastError: expect.stringContaining('its credential is sent nowhere else'),
    })
  })

  test('[DR8] the probe of an http call goes through the outbound client too', async () => {
    const probe = {
      method: 'GET',
      url: '/orders?ref={{ key }}',
      headers: {},
      found: 'result.body.size() > 0',
      afterMs: 1_000,
    }
    const world = makeShop((request) => (request.method === 'POST' ? LOST : body(['x'])))
    const { node } = await start(world, on({ ...HTTP, connection: 'shop', url: '/orders', probe }))
    const eventId = await accept(world, node)
    await world.pass(60_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    expect(world.sent[1]).toMatchObject({
      url: 'https://api.eu.shop.example/v1/orders?ref=BOOK%3Ao1',
      headers: { authorization: `Bearer ${SECRET}` },
    })
  })

  test('[DR11] an upsert is one run of two exchanges, and locks its reference by the connection', async () => {
    const world = makeShop((request) => (request.method === 'GET' ? body([]) : CREATED))
    const { node } = await start(world, on({ ...UPSERT, timeoutMs: 5_000 }))
    const eventId = await accept(world, node)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', effectRef: 'v1' })
    expect(world.sent.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET https://api.eu.shop.example/v1/things?ref=o1',
      'POST https://api.eu.shop.example/v1/things',
    ])
    expect(world.sent.every(({ headers }) => headers.authorization === `Bearer ${SECRET}`)).toBe(true)
    const [run] = await runsOf(world)
    expect(run).toMatchObject({
      state: 'completed',
      operation: 'upsert /things?ref={{ extRef }}',
      attemptCount: 1,
    })
    expect(run?.attempts[0]?.request).toContain('POST https://api.eu.shop.example/v1/things')
    expect(await world.reads.ledger('millrace:lock:api.eu.shop.example:o1')).toMatchObject({
      state: 'released',
    })
  })

  test('[DR14] later exchanges of a call have the time of the call', async () => {
    const world = makeShop((request) =>
      request.url.includes('/things?') ? null : request.method === 'GET' ? body({}) : CREATED,
    )
    const { node } = await start(world, on({ ...UPSERT, timeoutMs: 20_000 }))
    const eventId = await accept(world, node)
    // Longer than a call may wait to begin.
    await world.pass(6_000)
    const look = world.calls.find(({ request }) => request.url.includes('/things?'))
    look?.answer(body([]))
    await world.pass(500)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
  })

  test('[DR2] an agent on a connection is authorized by its credential', async () => {
    const world = makeShop(() => body({ choices: [{ message: { content: '{"priority":"high"}' } }] }))
    const agent = {
      kind: 'Agent',
      name: 'prioritiser',
      description: null,
      connection: 'shop',
      baseUrl: '',
      secret: null,
      headers: { authorization: 'Bearer of-its-own' },
      model: 'small-1',
      system: null,
      user: 'Order {{ order }}',
      output: null,
      temperature: null,
      timeoutMs: 20_000,
      budget: null,
      repairs: 0,
    } as const
    const { node } = await start(world, on({ type: 'agent', agent, with: { order: '{{ payload.order }}' } }))
    const eventId = await accept(world, node)
    await world.pass(100)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    expect(world.sent).toMatchObject([
      {
        url: 'https://api.eu.shop.example/v1/chat/completions',
        headers: { authorization: `Bearer ${SECRET}` },
      },
    ])
    expect(await runsOf(world)).toMatchObject([{ state: 'completed', operation: 'agent prioritiser' }])
  })

  test('[CX5] a completed run is emitted if a route wants it', async () => {
    const world = makeShop(() => CREATED)
    const listener: RouteDocument = {
      ...ROUTE,
      name: 'hear',
      on: ['integration.run.completed', 'integration.connection.>'],
      key: null,
      do: { type: 'emit', subject: 'heard.it', data: '{{ payload }}' },
    }
    const { node } = await start(world, [...documents(), listener])
    const eventId = await accept(world, node)
    await world.pass(1_000)
    const { items } = await world.reads.events({ cursor: null, limit: 50, source: 'millrace' })
    expect(items.map(({ subject }) => subject).sort()).toEqual([
      'integration.connection.activated',
      'integration.run.completed',
    ])
    const told = items.find(({ subject }) => subject === 'integration.run.completed')
    expect(JSON.parse((await world.reads.event(told!.id))!.data)).toMatchObject({
      connection: 'shop',
      operation: 'shopware.book',
      eventId,
      externalRef: 'v1',
      attempts: 1,
    })
  })
})

describe('the record of an exchange', () => {
  test('[DR3] [DR4] contains no secret, whatever the other side responds, and is bounded', async () => {
    const basic = Buffer.from(`user:${SECRET}`).toString('base64')
    const said = `no: ${SECRET} ${encodeURIComponent(SECRET)} ${basic} ${'x'.repeat(5_000)}`
    const headers = { 'x-echo': `Bearer ${SECRET}`, 'set-cookie': 'session=1', 'x-plain': 'yes' }
    const outcomes: HttpOutcome[] = [
      { kind: 'response', status: 503, headers, body: said, durationMs: 1 },
      { kind: 'failed', sent: 'no', code: 'refused', message: `cannot reach ${SECRET}`, durationMs: 1 },
      {
        kind: 'response',
        status: 201,
        headers,
        body: JSON.stringify({ id: 'v1', echo: SECRET }),
        durationMs: 1,
      },
    ]
    const world = makeShop((_request, call) => outcomes[call - 1] ?? CREATED)
    const { node } = await start(world, documents({ operation: { result: null } }))
    const eventId = await accept(world, node)
    await world.pass(10_000)
    const work = await workOf(world, eventId)
    expect(work).toMatchObject({ state: 'done', attempts: 3 })
    const runs = await runsOf(world)
    const kept = JSON.stringify([
      runs,
      work,
      await world.reads.attempts(work.id),
      await world.reads.ledger('BOOK:o1'),
      (await world.reads.events({ cursor: null, limit: 50 })).items,
      (await world.reads.records({ kind: 'connection', cursor: null, limit: 50 })).items,
      node.log.messages,
      node.log.controls,
    ])
    for (const form of [
      SECRET,
      encodeURIComponent(SECRET),
      Buffer.from(SECRET).toString('base64').slice(0, -4),
      basic,
    ])
      expect(kept.includes(form), form).toBe(false)
    expect(kept).toContain('[redacted]')
    const [run] = runs
    for (const { request, response } of run!.attempts) {
      expect(request).not.toMatch(/authorization|cookie/i)
      expect(response ?? '').not.toMatch(/cookie/i)
      expect((request ?? '').length).toBeLessThanOrEqual(HEAD_LENGTH_MAX)
      expect((response ?? '').length).toBeLessThanOrEqual(HEAD_LENGTH_MAX)
    }
    expect(run!.attempts[0]?.response).toContain('x-plain: yes')
  })

  test('the operator API: providers, connections, tests and runs, and nothing of another tenant', async () => {
    const world = makeShop(() => answered(422))
    const { node } = await start(world, documents())
    const { integrations } = node.engine
    expect(integrations.providers(DEFAULT_TENANT)).toMatchObject([{ managedBy: 'folder', connections: 1 }])
    expect(() => integrations.provider(DEFAULT_TENANT, 'none')).toThrow('no provider')
    expect(await integrations.connections(DEFAULT_TENANT)).toMatchObject([
      { document: { name: 'shop' }, managedBy: 'folder', state: { status: 'active' } },
    ])
    const testing = integrations.test(DEFAULT_TENANT, 'shop', { by: 'ops', reason: null })
    await world.pass(100)
    const { ok, run } = await testing
    expect(ok).toBe(true)
    expect(run).toMatchObject({
      purpose: 'test',
      state: 'completed',
      workId: null,
      operation: 'shopware probe',
    })
    expect(await integrations.run(DEFAULT_TENANT, run.id)).toEqual({ ...run, via: 'connection' })
    const eventId = await accept(world, node, PAID)
    const { id } = await workOf(world, eventId)
    const page = { cursor: null, limit: 10 }
    expect((await integrations.runs(DEFAULT_TENANT, { ...page, workId: id })).items).toHaveLength(1)
    const other = 'other' as typeof DEFAULT_TENANT
    await expect(integrations.run(other, run.id)).rejects.toMatchObject({ code: 'not_found' })
    await expect(integrations.connection(other, 'shop')).rejects.toMatchObject({ code: 'not_found' })
    await expect(integrations.test(other, 'shop', { by: 'ops', reason: null })).rejects.toMatchObject({
      code: 'not_found',
    })
    expect((await integrations.runs(other, page)).items).toEqual([])
    await expect(
      integrations.retire(DEFAULT_TENANT, 'shop', { by: 'ops', reason: null }),
    ).rejects.toMatchObject({
      code: 'invalid_request',
    })
  })
})

describe('steps of workflows', () => {
  test('[CX6] [DR11] a step on a connection waits at its gate without using an attempt, and is a run', async () => {
    const world = makeShop(() => CREATED)
    const workflow: WorkflowDocument = {
      ...CASE,
      places: [place('open'), place('closed', 'final')],
      transitions: [
        transition('book', 'open', 'closed', { do: { ...ACTION, with: { order: '{{ data.order }}' } } }),
      ],
      triggers: [CREATE],
    }
    const { node, credentials } = await start(world, [
      ...documents({ route: { on: ['nothing.comes'] } }),
      workflow,
    ])
    credentials.closed = { is: 'closed', untilAt: null, why: 'it is being rotated' }
    const eventId = await accept(world, node, { kind: 'ordered', id: 'd1', order: 'o1' })
    await world.pass(20_000)
    expect(world.sent).toEqual([])
    const stepsOf = async () => (await world.reads.workOfEvent(eventId)).filter(({ kind }) => kind === 'step')
    expect(await stepsOf()).toMatchObject([{ state: 'ready', attempts: 0, lastError: 'it is being rotated' }])
    credentials.closed = null
    await world.pass(10_000)
    const [step] = await stepsOf()
    expect(step).toMatchObject({ state: 'done', attempts: 1 })
    expect(await runsOf(world)).toMatchObject([
      { state: 'completed', workId: step?.id, operation: 'shopware.book' },
    ])
  })
})
