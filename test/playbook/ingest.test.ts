// Edge cases of ingest: what senders, vendors and colleagues do to events that come by webhook.

import { expect, test } from 'vitest'
import { workOf } from '../../src/engine/engine.fixture.ts'
import { ANNA, compile, items, letters, makeVendor, paid, SHOP, start, states, T } from './scene.fixture.ts'

const BOOK = `
kind: Route
name: book
on: [shop.events.paid]
key: "'BOOK:' + payload.order"
do:
  http: { method: POST, url: "https://vendor.example/orders", body: { order: "{{ payload.order }}" } }
`

test('edge case: an event is delivered more than once', async () => {
  const { world, node, send, vendor } = await start(`${SHOP}---${BOOK}`)
  const event = paid('o1')
  const [first] = await send(event)
  // Again, and two at once.
  const again = [node.send(event), node.send(event)]
  await world.pass()
  expect(await Promise.all(again)).toMatchObject([
    { eventId: first, duplicate: true },
    { eventId: first, duplicate: true },
  ])
  expect(await states(world)).toEqual(['done'])
  // After the window it is an event of its own; the ledger still knows the effect, and the job points to it.
  await world.pass(61_000)
  const [late] = await send(event)
  expect(late).not.toBe(first)
  const entry = await world.reads.ledger('BOOK:o1')
  expect(entry).toMatchObject({ state: 'done', work: (await workOf(world, first!)).id })
  expect(await workOf(world, late!)).toMatchObject({ state: 'skipped', effectRef: entry?.effectRef })
  expect(node.log.controls.map(({ action }) => action)).toContain('DEDUPE_HIT')
  expect(vendor.keys()).toEqual(['BOOK:o1'])
})

test('edge case: events of one object come out of order', async () => {
  const { world, send, vendor } = await start(`${SHOP}---
kind: Route
name: customer_sync
on: [shop.events.paid]
order: { by: payload.order, version: payload.at, stale: skip }
key: "'SYNC:' + payload.order + ':' + payload.at"
do:
  http: { method: PUT, url: "https://vendor.example/orders/{{ payload.order }}", idempotent: true, body: { at: "{{ payload.at }}" } }
`)
  const at = (time: string) => paid('o1', { at: `2026-03-01T${time}:00Z` })
  const [, newest, older, other] = await send(at('09:00'), at('09:20'), at('09:10'), paid('o2', { at: '1' }))
  await world.pass(1_000)
  expect(vendor.effects.map(({ path, body }) => `${path} ${body.at}`)).toEqual([
    '/orders/o1 2026-03-01T09:00:00Z',
    '/orders/o1 2026-03-01T09:20:00Z',
    '/orders/o2 1',
  ])
  expect(await workOf(world, newest!)).toMatchObject({ state: 'done' })
  expect(await workOf(world, older!)).toMatchObject({
    state: 'skipped',
    lastError: expect.stringContaining('STALE'),
  })
  expect(await workOf(world, other!)).toMatchObject({ state: 'done' })
})

test('edge case: a storm of 429', async () => {
  let isLimited = true
  const vendor = makeVendor(() => (isLimited ? { status: 429, retryAfter: '10' } : 201))
  const { world, node, send } = await start(
    `${SHOP}---${BOOK}---${BOOK.replace('name: book', 'name: ship').replace('BOOK:', 'SHIP:')}`,
    vendor,
  )
  const ids = await send(...Array.from({ length: 12 }, (_, index) => paid(`o${index}`)))
  await world.pass(35_000)
  // 24 jobs, and only the first and one per opening have called.
  expect(world.calls.length).toBeLessThanOrEqual(6)
  const [flowControl] = node.engine.flowControl.list(T)
  expect(flowControl?.host).toMatchObject({ name: 'vendor.example', closedUntil: expect.any(Number) })
  isLimited = false
  await world.pass(60_000)
  expect(vendor.keys().toSorted()).toEqual(
    ids.flatMap((_id, index) => [`BOOK:o${index}`, `SHIP:o${index}`]).toSorted(),
  )
  // No attempts were used up, and no one was alerted.
  expect((await items(world)).every(({ state, attempts }) => state === 'done' && attempts === 1)).toBe(true)
  expect(await letters(world)).toEqual([])
})

test('edge case: a node crashes in the middle of a batch', async () => {
  const route = `${SHOP}---
kind: Route
name: hours
on: [shop.events.paid]
key: "'HOURS:' + payload.order"
batch: { size: 3, maxWait: 5s }
do:
  http: { method: POST, url: "https://vendor.example/many", keyTtl: 24h, body: { orders: "{{ batch[*].key }}" } }
`
  // It carries out the first batch, and the node is gone before it gets the response.
  let isFirst = true
  const vendor = makeVendor(() => (isFirst ? 'hold' : 201), { remembers: true })
  const { world, node, send } = await start(route, vendor)
  const ids = await send(paid('o1'), paid('o2'), paid('o3'))
  await world.pass(1_000)
  expect(world.calls).toHaveLength(1)
  vendor.do(world.calls[0]!.request)
  isFirst = false
  node.crash()
  await world.node({ name: 'two', documents: compile(route) })
  await world.pass(60_000)
  // Called again under the same key, with the same members.
  expect(world.calls.map(({ request }) => [request.headers['idempotency-key'], request.body])).toEqual(
    Array(2).fill([vendor.keys()[0], world.calls[0]?.request.body]),
  )
  expect(vendor.effects).toMatchObject([{ body: { orders: ['HOURS:o1', 'HOURS:o2', 'HOURS:o3'] } }])
  for (const id of ids) {
    const members = await world.reads.workOfEvent(id)
    expect(members.filter(({ kind }) => kind === 'route')).toMatchObject([{ state: 'done' }])
  }
  for (const order of ['o1', 'o2', 'o3']) {
    expect(await world.reads.ledger(`HOURS:${order}`)).toMatchObject({ state: 'done' })
  }
})

test('edge case: an event has no id', async () => {
  const source = SHOP.replace('dedup: { by: event.id, window: 1m }', 'dedup: { window: 1m }')
  for (const text of [source, source.replace('id: payload.id, ', '')]) {
    const { world, node, send, vendor } = await start(
      `${text}---${BOOK.replace("'BOOK:' + payload.order", "'BOOK:' + payload.order + ':' + payload.part")}`,
    )
    const nameless = (part: number) => ({ kind: 'paid', order: 'o1', part })
    const [first, second] = await send(nameless(1), nameless(2))
    expect(second).not.toBe(first)
    // The same text of the same object is the same event.
    const again = node.send(nameless(1))
    await world.pass()
    expect(await again).toMatchObject({ eventId: first, duplicate: true })
    expect(vendor.keys()).toEqual(['BOOK:o1:1', 'BOOK:o1:2'])
  }
})

test('edge case: the definition changes while a job runs', async () => {
  const vendor = makeVendor((_request, call) => (call === 1 ? 503 : 201))
  const { world, node, send, apply } = await start(`${SHOP}---${BOOK}`, vendor)
  const [before] = await send(paid('o1'))
  const begun = await workOf(world, before!)
  expect(begun).toMatchObject({ state: 'ready', attempts: 1 })
  await apply(`${SHOP}---${BOOK.replace('/orders"', '/bookings"')}`)
  const [after] = await send(paid('o2'))
  await world.pass(600_000)
  expect(vendor.effects.map(({ key, path }) => `${key} ${path}`)).toEqual([
    'BOOK:o2 /bookings',
    'BOOK:o1 /orders',
  ])
  const [old, fresh] = [await workOf(world, before!), await workOf(world, after!)]
  expect([old.state, old.definition]).toEqual(['done', begun.definition])
  expect(fresh.definition).not.toBe(old.definition)
  // Every execution says by which definition it ran.
  const ran = node.log.controls.filter(({ point }) => point === 'effect')
  expect(new Set(ran.map(({ configHash }) => configHash))).toEqual(
    new Set([old.definition, fresh.definition]),
  )
})

test('edge case: the schema of a payload drifts', async () => {
  const flows = (total: string) => `${SHOP}catalog:
  mismatch: quarantine
  subjects:
    - subject: shop.events.paid
      schema: { type: object, required: [total], properties: { total: { type: ${total} } } }
---${BOOK}`
  const { world, node, send, apply, heard, vendor } = await start(flows('number'))
  const [, drifted] = await send(paid('o1', { total: 5 }), paid('o2', { total: '5.00' }))
  await world.pass(10_000)
  // The event of the new shape is stored whole, calls nobody, and says which field no longer fits.
  expect(vendor.keys()).toEqual(['BOOK:o1'])
  const [letter] = await letters(world)
  expect(letter).toMatchObject({ eventId: drifted, class: 'validation' })
  expect(letter?.lastError).toContain('total')
  await apply(flows('[number, string]'))
  await heard(node.engine.replay(T, letter!.id, { force: false, ...ANNA }))
  await world.pass(10_000)
  expect(vendor.keys()).toEqual(['BOOK:o1', 'BOOK:o2'])
  expect(await world.reads.deadLetter(letter!.id)).toMatchObject({ state: 'resolved' })
})
