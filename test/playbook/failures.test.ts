// Edge cases of failure classes, dead letters and replay.

import { expect, test } from 'vitest'
import { workOf } from '../../src/engine/engine.fixture.ts'
import {
  ANNA,
  compile,
  escalations,
  hashOf,
  items,
  letters,
  makeVendor,
  paid,
  type Scene,
  SHOP,
  start,
  T,
  told,
} from './scene.fixture.ts'

const route = (more = '', path = 'orders') => `${SHOP}---
kind: Route
name: book
on: [shop.events.paid]
retry: { attempts: 4, delays: [1s, 1s, 1s] }
${more}
key: "'BOOK:' + payload.order"
do:
  http: { method: POST, url: "https://vendor.example/${path}", keyTtl: 24h, body: { order: "{{ payload.order }}", total: "{{ payload.total }}" } }
`
/** A sweep publishes escalations, which other tests do without. */
const SWEEPING = { config: { sweepEveryMs: 60_000 } }
const many = (count: number) => Array.from({ length: count }, (_, index) => paid(`o${index}`))
const replay = ({ node, heard }: Scene, id: Parameters<typeof node.engine.replay>[1], force = false) =>
  heard(node.engine.replay(T, id, { force, ...ANNA }))

test('edge case: a permanent failure is classified as transient', async () => {
  // The author of the route declares a permanent refusal as transient.
  const wrong = route('circuit: off').replace('do:', 'do:\n  classify: { 422: transient }')
  let isMended = false
  const vendor = makeVendor(() => (isMended ? 201 : 422))
  const scene = await start(wrong, vendor)
  const { world, send } = scene
  await send(paid('o1'))
  await world.pass(600_000)
  // It ends at the limit of its profile, and a user sees why.
  expect(world.calls).toHaveLength(4)
  const [letter] = await letters(world)
  expect(letter).toMatchObject({
    class: 'transient',
    reason: 'cap_reached',
    attempts: 4,
    lastError: 'answered 422',
  })
  expect(await escalations(world)).toMatchObject([{ reason: 'cap_reached', count: 1 }])
  // Nor do failed replays go on for ever: after three of them a user has to insist.
  for (let times = 1; times <= 3; times += 1) {
    await replay(scene, letter!.id)
    await world.pass(60_000)
    expect(world.calls).toHaveLength(4 + 4 * times)
  }
  await expect(replay(scene, letter!.id)).rejects.toMatchObject({ code: 'replays_exhausted' })
  isMended = true
  await replay(scene, letter!.id, true)
  await world.pass(60_000)
  expect(vendor.keys()).toEqual(['BOOK:o1'])
  expect(await world.reads.deadLetter(letter!.id)).toMatchObject({ state: 'resolved' })
})

test('edge case: a vendor that responds 429 for ever is not called for ever', async () => {
  const vendor = makeVendor(() => ({ status: 429, retryAfter: '60' }))
  const { world, send } = await start(route('maxWait: 10m'), vendor)
  const [id] = await send(paid('o1'))
  await world.pass(3_600_000)
  // Waiting uses no attempt, and has its own limit.
  expect(await workOf(world, id!)).toMatchObject({ state: 'dead', class: 'rate_limited' })
  expect(await letters(world)).toMatchObject([{ reason: 'expired', key: 'BOOK:o1' }])
  expect(world.calls.length).toBeLessThanOrEqual(12)
  expect(vendor.effects).toEqual([])
})

test('edge case: a wrong address floods the dead letters', async () => {
  const vendor = makeVendor((request) => (request.url.endsWith('/wrong') ? 404 : 201))
  const scene = await start(route('', 'wrong'), vendor, SWEEPING)
  const { world, node, send, apply, heard } = scene
  await send(...many(40))
  // The route pauses itself: five dead letters instead of forty, and the rest is stored.
  const dead = await letters(world)
  expect(dead).toMatchObject(Array(5).fill({ class: 'config', lastError: 'answered 404', state: 'open' }))
  expect((await world.reads.deadLetterGroups({ state: 'open' })).groups).toMatchObject([{ count: 5 }])
  expect((await node.engine.flowControl.one(T, 'book')).circuit).toMatchObject({ state: 'open' })
  expect((await items(world)).filter(({ state }) => state === 'ready')).toHaveLength(35)
  // Two things to look at: the cause, and that the route is paused. Each is reported once.
  await world.pass(2_000)
  expect((await escalations(world)).map(({ reason, count }) => `${reason} ${count}`).toSorted()).toEqual([
    'circuit_open 1',
    'rejected 5',
  ])
  expect(await told(world, 'integration.escalation.raised')).toHaveLength(2)
  expect(await told(world, 'integration.route.paused')).toHaveLength(1)
  // Fixed: new events use the right address. Waiting jobs started with the wrong address, and their dead letters are
  // replayed at once.
  await apply(route())
  await heard(node.engine.flowControl.closeCircuit(T, 'book', { by: 'anna', reason: 'mended' }))
  for (let round = 0; round < 10; round += 1) {
    await world.pass(60_000)
    if ((await items(world)).every(({ state }) => state !== 'ready')) break
    const { circuit } = await node.engine.flowControl.one(T, 'book')
    if (circuit.state !== 'closed')
      await heard(node.engine.flowControl.closeCircuit(T, 'book', { by: 'anna', reason: 'go on' }))
  }
  await heard(node.engine.replays.begin(T, { state: 'open' }, { force: false, ...ANNA }))
  await world.pass(60_000)
  expect(vendor.keys().toSorted()).toEqual(
    many(40)
      .map((_, index) => `BOOK:o${index}`)
      .toSorted(),
  )
  expect((await letters(world)).every(({ state }) => state === 'resolved')).toBe(true)
})

test('edge case: a replay brings the throttling back', async () => {
  // The vendor accepts one a second; it counts and refuses the rest.
  let isDown = true
  let refused = 0
  const taken: number[] = []
  const vendor = makeVendor(() => {
    if (isDown) return 422
    const at = scene.world.now()
    if (taken.filter((before) => before > at - 10_000).length >= 12) {
      refused += 1
      return { status: 429, retryAfter: '10' }
    }
    taken.push(at)
    return 201
  })
  const scene = await start(route('circuit: off\nrateLimit: { perMinute: 60, burst: 2 }'), vendor)
  const { world, node, send, heard } = scene
  await send(...many(20))
  await world.pass(30_000)
  expect(await letters(world)).toHaveLength(20)
  isDown = false
  // The preview says how long it takes.
  const preview = await heard(node.engine.replays.preview(T, {}, { force: false }))
  expect(preview).toMatchObject({
    calls: { 'vendor.example': 20 },
    cost: [{ host: 'vendor.example', route: 'book', calls: 20, perMinute: 60 }],
  })
  await heard(node.engine.replays.begin(T, {}, { force: false, perSecond: 1_000, ...ANNA }))
  await world.pass(5_000)
  expect(vendor.effects.length).toBeLessThanOrEqual(8)
  await world.pass(60_000)
  expect(refused).toBe(0)
  expect(new Set(vendor.keys()).size).toBe(20)
  expect(vendor.effects).toHaveLength(20)
})

test('edge case: a replay is throttled by the vendor all the same', async () => {
  let says: 'down' | 'limited' | 'up' = 'down'
  const vendor = makeVendor(() =>
    says === 'down' ? 422 : says === 'limited' ? { status: 429, retryAfter: '20' } : 201,
  )
  const { world, node, send, heard } = await start(route('circuit: off'), vendor)
  await send(...many(10))
  says = 'limited'
  const before = world.calls.length
  await heard(node.engine.replays.begin(T, {}, { force: false, ...ANNA }))
  await world.pass(30_000)
  // A few call and have to wait; no dead letter returns, no attempt is used.
  expect(world.calls.length - before).toBeLessThanOrEqual(12)
  expect((await letters(world)).every(({ state }) => state === 'replaying')).toBe(true)
  says = 'up'
  await world.pass(120_000)
  expect((await letters(world)).every(({ state }) => state === 'resolved')).toBe(true)
  expect(new Set(vendor.keys()).size).toBe(10)
  expect(vendor.effects).toHaveLength(10)
})

test('edge case: the payload differs when it is replayed', async () => {
  const vendor = makeVendor(({ body }) => (body?.includes('-5') ? 422 : 201))
  const scene = await start(route(), vendor)
  const { world, node, send, heard } = scene
  const [id] = await send({ kind: 'paid', id: 'd1', order: 'o1', total: -5 })
  const [letter] = await letters(world)
  const data = { kind: 'paid', id: 'd1', order: 'o1-mended', total: 5 }
  const edited = await heard(node.engine.edit(T, letter!.id, { data, ...ANNA }))
  // The original is unchanged; the dead letter knows its present payload.
  const original = await world.reads.event(id!)
  expect(JSON.parse(original?.data ?? '')).toMatchObject({ order: 'o1', total: -5 })
  expect(letter?.payloadHash).toBe(original?.payloadHash)
  expect(await world.reads.deadLetter(letter!.id)).toMatchObject({
    eventId: edited.eventId,
    payloadHash: hashOf(JSON.stringify(data)),
    key: 'BOOK:o1',
  })
  expect(node.log.controls.filter(({ action }) => action === 'EDITED')).toMatchObject([
    { message: expect.stringMatching(/anna.*sha256:.* became sha256:/) },
  ])
  const preview = await heard(node.engine.replays.preview(T, { ids: [letter!.id] }, { force: false }))
  expect(preview.items).toMatchObject([
    {
      verdict: 'would-differ',
      diff: [{ of: 'payload', changes: [{ path: 'order' }, { path: 'total', before: '-5', after: '5' }] }],
    },
  ])
  await replay(scene, letter!.id)
  await world.pass(5_000)
  // It is the same effect, under the same key: repeated by the original, it is recognised.
  expect(vendor.effects).toMatchObject([{ key: 'BOOK:o1', body: { total: 5 } }])
  await send({ kind: 'paid', id: 'd2', order: 'o1', total: 7 })
  expect(vendor.effects).toHaveLength(1)
})

test('edge case: endless alerts for one cause', async () => {
  const vendor = makeVendor(({ body }) => (body?.includes('gone') ? 410 : 422))
  const { world, node, send, heard } = await start(route('circuit: off'), vendor, SWEEPING)
  await send(...many(30))
  await world.pass(5_000)
  expect(await escalations(world)).toMatchObject([{ class: 'validation', count: 30, state: 'raised' }])
  expect(await told(world, 'integration.escalation.raised')).toHaveLength(1)
  // Another cause is another alert, and not hidden behind the first.
  await send(paid('gone'))
  await world.pass(5_000)
  const [first, second] = await escalations(world)
  expect(second).toMatchObject({ class: 'config', count: 1 })
  expect(await told(world, 'integration.escalation.raised')).toHaveLength(2)
  // Acknowledged, it is silent; if it continues afterwards, that is reported.
  await heard(node.engine.escalations.acknowledge(T, first!.id, { actor: 'anna', note: 'asked the vendor' }))
  expect(await world.reads.escalation(first!.id)).toMatchObject({
    state: 'acknowledged',
    acknowledgedBy: 'anna',
  })
  await send(paid('again'))
  await world.pass(5_000)
  expect(await told(world, 'integration.escalation.raised')).toHaveLength(3)
})

test('edge case: a payload crashes its node each time, and its neighbours are done', async () => {
  const flows = `${route().split('do:')[0]}do: { function: crunch }\n`
  const done: string[] = []
  const functions = {
    crunch: (input: unknown) => {
      const { order } = input as { order: string }
      if (order !== 'bad') done.push(order)
      // The bad one never ends: the node is killed while it runs.
      return order === 'bad' ? new Promise<null>(() => {}) : null
    },
  }
  const { world, node, send } = await start(flows, makeVendor(), { functions })
  const [bad] = await send(paid('bad'), paid('o1'))
  let living = node
  const restart = async () => {
    living.crash()
    living = await world.node({ documents: compile(flows), functions })
    await world.pass()
  }
  for (let life = 1; life <= 4; life += 1) {
    const arrived = living.send(paid(`o${life + 1}`))
    await world.pass()
    await arrived
    await restart()
  }
  expect(await workOf(world, bad!)).toMatchObject({ state: 'dead', class: 'poison', losses: 3 })
  expect(await letters(world)).toMatchObject([{ eventId: bad, reason: 'crash_loop' }])
  await world.pass(60_000)
  expect(done.toSorted()).toEqual(['o1', 'o2', 'o3', 'o4', 'o5'])
  expect((await items(world)).map(({ state }) => state).toSorted()).toEqual([
    'dead',
    'done',
    'done',
    'done',
    'done',
    'done',
  ])
})

test('edge case: an expression takes too many steps', async () => {
  const source = SHOP.replace('dedup:', 'sensitive: [payload.numbers]\ndedup:')
  const { world, send, vendor } = await start(
    route()
      .replace(SHOP, source)
      .replace(
        "'BOOK:' + payload.order",
        "'BOOK:' + payload.order + ':' + payload.numbers.filter(n, payload.numbers.exists(m, m == n * 2)).size()",
      ),
  )
  const [fine] = await send(paid('o1', { numbers: [1, 2] }))
  expect(await workOf(world, fine!)).toMatchObject({ state: 'done', key: 'BOOK:o1:1' })
  const secret = 918_273
  const [endless] = await send(paid('o2', { numbers: Array.from({ length: 1_500 }, () => secret) }))
  // Stopped before any call, at a bounded cost, and reported without a value of the payload.
  const dead = await workOf(world, endless!)
  expect(dead).toMatchObject({
    state: 'dead',
    class: 'validation',
    lastError: expect.stringContaining('too many steps'),
  })
  expect(dead.lastError).not.toContain(String(secret))
  expect(await letters(world)).toMatchObject([{ step: 'key', class: 'validation', eventId: endless }])
  // A value of the wrong type is reported by its position and its type.
  const [wrong] = await send(paid('o3', { numbers: 'swordfish' }))
  const told = (await workOf(world, wrong!)).lastError
  expect(told).toMatch(/payload\.numbers/)
  expect(told).toMatch(/string|text/)
  expect(told).not.toContain('swordfish')
  expect(vendor.keys()).toEqual(['BOOK:o1:1'])
})
