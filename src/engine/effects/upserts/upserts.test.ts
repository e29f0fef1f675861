// Upserts through the engine, against a vendor that stores objects by their reference.
import { describe, expect, test } from 'vitest'
import type { UpsertActionDocument } from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import type { HttpOutcome, HttpRequest } from '../../../ports/http-client.ts'
import { accept, LOST, makeWorld, ROUTE, SOURCE, type World, workOf } from '../../engine.fixture.ts'

const UPSERT: UpsertActionDocument = {
  type: 'upsert',
  baseUrl: 'https://vendor.example/',
  headers: { 'x-team': 'a' },
  extRef: '{{ payload.order }}',
  find: {
    method: 'GET',
    path: '/invoices?ref={{ extRef }}',
    found: 'result.body.items.size()',
    id: 'result.body.items[0].id',
    afterMs: 1_000,
  },
  create: {
    method: 'POST',
    path: '/invoices',
    body: { ref: '{{ extRef }}', by: '{{ payload.id }}' },
    idempotent: false,
    keyTtlMs: null,
  },
  update: {
    method: 'PUT',
    path: '/invoices/{{ found.id }}',
    body: { ref: '{{ extRef }}', by: '{{ payload.id }}' },
    idempotent: true,
    keyTtlMs: null,
  },
  lock: 'single',
  timeoutMs: 10_000,
  classify: {},
}
const upserting = (known: Partial<UpsertActionDocument> = {}) => [
  SOURCE,
  { ...ROUTE, key: "'INV:' + payload.order + ':' + payload.id", do: { ...UPSERT, ...known } },
]
const PATCH = { ...UPSERT.update!, method: 'PATCH', idempotent: false }
const order = (id: string, name = 'o1') => ({ kind: 'paid', id, order: name })
const ANN = { actor: 'ann', reason: 'looked' }
const LOCK = 'millrace:lock:vendor.example:o1'

interface Thing {
  readonly id: string
  readonly ref: string
  by: string
}

/** Stores what it receives; `drops` selects the calls whose response is lost. */
function makeVendor(drops: (request: HttpRequest) => boolean = () => false) {
  const things: Thing[] = []
  const answer = (status: number, body: unknown): HttpOutcome => ({
    kind: 'response',
    status,
    headers: {},
    body: JSON.stringify(body),
    durationMs: 1,
  })
  const serve = (request: HttpRequest): HttpOutcome => {
    const url = new URL(request.url)
    if (request.method === 'GET') {
      const ref = url.searchParams.get('ref')
      return answer(200, { items: things.filter((thing) => thing.ref === ref) })
    }
    const body = JSON.parse(request.body ?? '{}') as { ref: string; by: string }
    if (request.method === 'POST') {
      const thing = { id: `i${things.length + 1}`, ...body }
      things.push(thing)
      return answer(201, { id: thing.id })
    }
    const thing = things.find(({ id }) => id === url.pathname.split('/').at(-1))
    if (thing === undefined) return answer(404, {})
    thing.by = body.by
    return answer(200, { id: thing.id })
  }
  return {
    things,
    serve(request: HttpRequest): HttpOutcome {
      const outcome = serve(request)
      return drops(request) ? LOST : outcome
    },
  }
}

const methods = (world: World) => world.calls.map(({ request }) => request.method)

describe('an upsert', () => {
  test('[UP6] creates a missing object with the reference on it, and updates an existing one', async () => {
    const vendor = makeVendor()
    const world = makeWorld(vendor.serve)
    const node = await world.node({ documents: upserting() })
    const first = await accept(world, node, order('v1'))
    expect(vendor.things).toEqual([{ id: 'i1', ref: 'o1', by: 'v1' }])
    expect(await workOf(world, first)).toMatchObject({ state: 'done', effectRef: 'i1', attempts: 1 })
    expect(world.calls[1]!.request).toMatchObject({
      url: 'https://vendor.example/invoices',
      headers: { 'x-team': 'a', 'idempotency-key': 'INV:o1:v1' },
    })
    const second = await accept(world, node, order('v2'))
    expect(vendor.things).toEqual([{ id: 'i1', ref: 'o1', by: 'v2' }])
    expect(await workOf(world, second)).toMatchObject({ state: 'done', effectRef: 'i1' })
    expect(methods(world)).toEqual(['GET', 'POST', 'GET', 'PUT'])
    expect(node.log.controls.filter(({ action }) => action === 'DONE')).toMatchObject([
      { idempotencyKey: 'INV:o1:v1', externalRef: 'o1', filterHash: expect.any(String) },
      { idempotencyKey: 'INV:o1:v2', externalRef: 'o1' },
    ])
    expect(await world.reads.ledger(LOCK)).toMatchObject({ state: 'released' })
  })

  test('[UP6] leaves an existing object unchanged without `update`', async () => {
    const vendor = makeVendor()
    const world = makeWorld(vendor.serve)
    const node = await world.node({ documents: upserting({ update: null }) })
    await accept(world, node, order('v1'))
    const second = await accept(world, node, order('v2'))
    expect(vendor.things).toEqual([{ id: 'i1', ref: 'o1', by: 'v1' }])
    expect(await workOf(world, second)).toMatchObject({ state: 'done', effectRef: 'i1' })
    expect(methods(world)).toEqual(['GET', 'POST', 'GET'])
  })

  test('[UP7] a lookup that fails is repeated, and nothing was done', async () => {
    const vendor = makeVendor()
    const busy: HttpOutcome = { kind: 'response', status: 503, headers: {}, body: '', durationMs: 1 }
    const world = makeWorld((request, call) => (call === 1 ? busy : vendor.serve(request)))
    const node = await world.node({ documents: upserting() })
    const id = await accept(world, node, order('v1'))
    expect(await workOf(world, id)).toMatchObject({ state: 'ready', class: 'transient', attempts: 1 })
    expect(await world.reads.ledger('INV:o1:v1')).toMatchObject({ state: 'released' })
    expect(await world.reads.ledger(LOCK)).toMatchObject({ state: 'released' })
    await world.pass(5_000)
    expect(await workOf(world, id)).toMatchObject({ state: 'done' })
    expect(vendor.things).toHaveLength(1)
  })

  test('[UP1] found twice is a validation failure, and nothing is called', async () => {
    const vendor = makeVendor()
    vendor.things.push({ id: 'i1', ref: 'o1', by: 'x' }, { id: 'i2', ref: 'o1', by: 'y' })
    const world = makeWorld(vendor.serve)
    const node = await world.node({ documents: upserting() })
    const id = await accept(world, node, order('v1'))
    expect(await workOf(world, id)).toMatchObject({
      state: 'dead',
      class: 'validation',
      lastError: expect.stringContaining('2 objects have this reference'),
    })
    expect(methods(world)).toEqual(['GET'])
    expect(await world.reads.ledger(LOCK)).toMatchObject({ state: 'released' })
  })

  test('[UP1] so is a response that does not say whether the object exists', async () => {
    const world = makeWorld(() => ({
      kind: 'response',
      status: 200,
      headers: {},
      body: '<html>',
      durationMs: 1,
    }))
    const node = await world.node({
      documents: upserting({ find: { ...UPSERT.find, found: 'result.body.there' } }),
    })
    const id = await accept(world, node, order('v1'))
    expect(await workOf(world, id)).toMatchObject({ state: 'dead', class: 'validation' })
    expect(methods(world)).toEqual(['GET'])
  })

  test('[UP8] without a reference dies, and looks nothing up', async () => {
    const world = makeWorld(makeVendor().serve)
    const node = await world.node({ documents: upserting({ extRef: '{{ payload.none }}' }) })
    const id = await accept(world, node, order('v1'))
    expect(await workOf(world, id)).toMatchObject({ state: 'dead', class: 'validation' })
    expect(world.calls).toHaveLength(0)
  })
})

describe('the search-then-create race', () => {
  test('[UP2] two nodes on one reference create one object: the second waits for the first', async () => {
    const vendor = makeVendor()
    let open = false
    const world = makeWorld((request) => (open ? vendor.serve(request) : null))
    const one = await world.node({ name: 'one', documents: upserting() })
    const two = await world.node({ name: 'two', documents: upserting() })
    const first = await accept(world, one, order('v1'))
    const second = await accept(world, two, order('v2'))
    // The first looks it up, and the second, which would find nothing either, waits.
    expect(methods(world)).toEqual(['GET'])
    expect(await workOf(world, second)).toMatchObject({
      state: 'ready',
      lastError: 'another item works on the same reference',
    })
    open = true
    world.calls[0]!.answer(vendor.serve(world.calls[0]!.request))
    await world.pass(10_000)
    expect(vendor.things).toHaveLength(1)
    expect(await workOf(world, first)).toMatchObject({ state: 'done' })
    expect(await workOf(world, second)).toMatchObject({ state: 'done' })
  })

  test('[UP2] with `lock: none` they race, as the definition says', async () => {
    const vendor = makeVendor()
    const world = makeWorld(() => null)
    const one = await world.node({ name: 'one', documents: upserting({ lock: 'none' }) })
    await accept(world, one, order('v1'))
    await accept(world, one, order('v2'))
    for (const call of [...world.calls]) call.answer(vendor.serve(call.request))
    await world.pass()
    expect(methods(world)).toEqual(['GET', 'GET', 'POST', 'POST'])
  })

  test('[UP5] a lock whose holder’s outcome is unknown is held until that is resolved', async () => {
    const vendor = makeVendor()
    const isLost = (request: HttpRequest) => request.method === 'PATCH'
    const world = makeWorld((request) => (isLost(request) ? LOST : vendor.serve(request)))
    const node = await world.node({ documents: upserting({ update: PATCH }) })
    await accept(world, node, order('v1'))
    const doubted = await accept(world, node, order('v2'))
    await world.pass(60_000)
    expect(await workOf(world, doubted)).toMatchObject({ state: 'parked' })
    expect(await world.reads.ledger(LOCK)).toMatchObject({ state: 'reserved' })
    const waiting = await accept(world, node, order('v3'))
    expect(await workOf(world, waiting)).toMatchObject({ state: 'ready', waits: 1 })
    const resolved = node.engine.resolve(DEFAULT_TENANT, (await workOf(world, doubted)).id, {
      ...ANN,
      as: 'done',
    })
    await world.pass()
    await resolved
    expect(await world.reads.ledger(LOCK)).toMatchObject({ state: 'released' })
  })

  test('[UP5] a holder that is cancelled when its outcome is settled releases the lock', async () => {
    const vendor = makeVendor()
    const full: HttpOutcome = {
      kind: 'response',
      status: 429,
      headers: { 'retry-after': '300' },
      body: '',
      durationMs: 1,
    }
    const world = makeWorld((request) => {
      if (request.url.includes('o2')) return full
      return request.method === 'POST' ? LOST : vendor.serve(request)
    })
    const baseUrl = 'https://{{ payload.host }}/'
    const node = await world.node({ documents: upserting({ baseUrl }) })
    const id = await accept(world, node, { ...order('v1'), host: 'vendor.example' })
    for (const version of ['v2', 'v3'])
      await accept(world, node, { ...order(version, 'o2'), host: 'vendor.example' })
    // The lookup found nothing; before the create, the host sends a 429.
    await world.pass(60_000)
    const waiting = await workOf(world, id)
    expect(waiting).toMatchObject({ state: 'ready' })
    expect(await world.reads.ledger('INV:o1:v1')).toMatchObject({ state: 'released', proof: 'probe' })
    const cancelled = node.engine.cancel(DEFAULT_TENANT, waiting.id, ANN)
    await world.pass()
    await cancelled
    expect(await world.reads.ledger(LOCK)).toMatchObject({ state: 'released' })
  })

  test('[UP5] a lock whose holder has ended is free once another job with its key settled the outcome', async () => {
    const vendor = makeVendor()
    let isDown = true
    const world = makeWorld((request) => (isDown && request.method === 'POST' ? LOST : vendor.serve(request)))
    const node = await world.node({ documents: upserting() })
    const id = await accept(world, node, order('v1'))
    const cancelled = node.engine.cancel(DEFAULT_TENANT, (await workOf(world, id)).id, ANN)
    await world.pass()
    await cancelled
    expect(await world.reads.ledger('INV:o1:v1')).toMatchObject({ state: 'unknown' })
    isDown = false
    const replay = node.engine.replays.beginEvents(DEFAULT_TENANT, { ids: [id] }, ANN)
    await world.pass(60_000)
    await replay
    expect(vendor.things).toHaveLength(1)
    expect(await world.reads.ledger('INV:o1:v1')).toMatchObject({ state: 'done' })
    expect(await world.reads.ledger(LOCK)).toMatchObject({ state: 'released' })
  })

  test('[UP5] also when the holder was cancelled with an unknown outcome', async () => {
    const vendor = makeVendor()
    const world = makeWorld((request) => (request.method === 'PATCH' ? LOST : vendor.serve(request)))
    const node = await world.node({ documents: upserting({ update: PATCH }) })
    await accept(world, node, order('v1'))
    const doubted = await accept(world, node, order('v2'))
    await world.pass(60_000)
    const { id } = await workOf(world, doubted)
    const cancelled = node.engine.cancel(DEFAULT_TENANT, id, ANN)
    await world.pass()
    await cancelled
    expect(await workOf(world, doubted)).toMatchObject({ state: 'cancelled', key: 'INV:o1:v2' })
    expect(await world.reads.ledger(LOCK)).toMatchObject({ state: 'reserved' })
    const resolved = node.engine.resolve(DEFAULT_TENANT, id, { ...ANN, as: 'released' })
    await world.pass()
    await resolved
    expect(await world.reads.ledger(LOCK)).toMatchObject({ state: 'released' })
  })
})

test('[UP2] a process suspended during the lookup does not act on its result', async () => {
  const vendor = makeVendor()
  let open = false
  const world = makeWorld((request) => (open ? vendor.serve(request) : null))
  const node = await world.node({ documents: upserting() })
  const id = await accept(world, node, order('v1'))
  expect(methods(world)).toEqual(['GET'])
  await world.pass(20_000)
  open = true
  world.calls[0]!.answer(vendor.serve(world.calls[0]!.request))
  await world.pass()
  expect(methods(world)).toEqual(['GET'])
  await world.pass(60_000)
  expect(methods(world)).toEqual(['GET', 'GET', 'POST'])
  expect(await workOf(world, id)).toMatchObject({ state: 'done' })
})

describe('an upsert without a response', () => {
  test('[UP3] a vendor that creates and drops the response has one object after the lookup', async () => {
    const vendor = makeVendor(({ method }) => method === 'POST')
    const world = makeWorld(vendor.serve)
    const node = await world.node({ documents: upserting({ update: null }) })
    const id = await accept(world, node, order('v1'))
    await world.pass(60_000)
    expect(vendor.things).toHaveLength(1)
    expect(await workOf(world, id)).toMatchObject({ state: 'done', effectRef: 'i1' })
    expect(await world.reads.ledger('INV:o1:v1')).toMatchObject({ state: 'done', proof: 'probe' })
    expect(await world.reads.ledger(LOCK)).toMatchObject({ state: 'released' })
  })

  test('[UP3] if nothing was created, the lookup shows that, and the object is created', async () => {
    const vendor = makeVendor()
    let lost = 0
    const world = makeWorld((request) => {
      if (request.method !== 'POST' || lost > 0) return vendor.serve(request)
      lost += 1
      return LOST
    })
    const node = await world.node({ documents: upserting({ update: null }) })
    const id = await accept(world, node, order('v1'))
    await world.pass(60_000)
    expect(vendor.things).toHaveLength(1)
    expect(await workOf(world, id)).toMatchObject({ state: 'done' })
  })

  test('[UP4] a repeatable update is repeated', async () => {
    let drops = true
    const vendor = makeVendor(({ method }) => drops && method === 'PUT')
    const world = makeWorld(vendor.serve)
    const node = await world.node({ documents: upserting() })
    await accept(world, node, order('v1'))
    const id = await accept(world, node, order('v2'))
    drops = false
    await world.pass(60_000)
    expect(vendor.things).toEqual([{ id: 'i1', ref: 'o1', by: 'v2' }])
    expect(await workOf(world, id)).toMatchObject({ state: 'done' })
    expect(methods(world).filter((method) => method === 'PUT')).toHaveLength(2)
  })

  test('[UP4] an unknown create is distinguished from an update that may not be repeated', async () => {
    const vendor = makeVendor(({ method }) => method === 'POST')
    const world = makeWorld(vendor.serve)
    const node = await world.node({ documents: upserting({ update: PATCH }) })
    const id = await accept(world, node, order('v1'))
    await world.pass(60_000)
    expect(vendor.things).toHaveLength(1)
    expect(await workOf(world, id)).toMatchObject({ state: 'done' })
    expect(methods(world)).not.toContain('PATCH')
  })

  test('[UP4] after a crash before any call nothing is unknown: it is done, once', async () => {
    const vendor = makeVendor()
    let isOpen = false
    const world = makeWorld((request) => (isOpen ? vendor.serve(request) : null))
    const first = await world.node({ name: 'one', documents: upserting({ update: PATCH }) })
    const id = await accept(world, first, order('v1'))
    expect(methods(world)).toEqual(['GET'])
    first.crash()
    isOpen = true
    await world.node({ name: 'one', documents: upserting({ update: PATCH }) })
    await world.pass(60_000)
    expect(vendor.things).toHaveLength(1)
    expect(await workOf(world, id)).toMatchObject({ state: 'done' })
    expect(await world.reads.ledger(LOCK)).toMatchObject({ state: 'released' })
  })
})
