// Edge cases of a route that drains its queue in slots.

import { expect, test } from 'vitest'
import { workOf } from '../../src/engine/engine.fixture.ts'
import {
  check,
  escalations,
  items,
  letters,
  makeVendor,
  paid,
  rules,
  type Scene,
  SHOP,
  start,
  states,
  T,
} from './scene.fixture.ts'

const MINUTE = 60_000

/** Six a minute: three, and three more when those are over. */
const FEED = `${SHOP}---
kind: Route
name: feed
on: [shop.events.paid]
drain: { every: 1m, events: 3, cycles: 2 }
key: "'FEED:' + payload.order"
do:
  http: { method: POST, url: "https://vendor.example/orders", keyTtl: 24h, body: { order: "{{ payload.order }}" } }
`
const many = (count: number, prefix = 'o') =>
  Array.from({ length: count }, (_, index) => paid(`${prefix}${index}`))

/** To the start of the next slot, and all that it takes. */
async function nextSlot({ world }: Scene): Promise<void> {
  await world.pass(MINUTE - (world.now() % MINUTE))
  await world.pass(5_000)
}

/** With nothing left of the slot in which it started. */
async function begin(text = FEED, vendor = makeVendor()): Promise<Scene> {
  const scene = await start(text, vendor)
  await nextSlot(scene)
  return scene
}

test('edge case: the queue grows faster than it is drained', async () => {
  const scene = await begin()
  const { world, node, vendor, send } = scene
  const seen: number[] = []
  for (let slot = 0; slot < 4; slot += 1) {
    await send(...many(10, `s${slot}-`))
    await nextSlot(scene)
    seen.push((await node.engine.flowControl.one(T, 'feed')).work.ready)
  }
  // Six of ten a slot; the rest is visible, and grows by four each time.
  expect(seen.map((waiting, slot) => waiting - (seen[0] ?? 0) - 4 * slot)).toEqual([0, 0, 0, 0])
  expect((await world.reads.overview()).oldestReadyAt).toBeLessThanOrEqual(world.now() - 2 * MINUTE)
  // Once it stops growing all of it is done, however long it waited: nothing is too old, nothing is done twice.
  for (let slot = 0; slot < 5; slot += 1) await nextSlot(scene)
  expect(new Set(await states(world))).toEqual(new Set(['done']))
  expect(new Set(vendor.keys()).size).toBe(40)
  expect(vendor.effects).toHaveLength(40)
})

test('edge case: events come out of order into a queue that is drained later', async () => {
  const scene = await begin(
    FEED.replace('key:', 'order: { by: payload.order, version: payload.v, stale: skip }\nkey:').replace(
      '+ payload.order"',
      "+ payload.order + ':' + payload.v\"",
    ),
  )
  const [, older] = await scene.send(paid('o1', { v: 2 }), paid('o1', { v: 1 }), paid('o2', { v: 1 }))
  await nextSlot(scene)
  await scene.send(paid('o1', { v: 10 }))
  await nextSlot(scene)
  // Each object only moves forward: 10 is newer than 2.
  const of = (order: string) => scene.vendor.keys().filter((key) => key.startsWith(`FEED:${order}:`))
  expect(of('o1')).toEqual(['FEED:o1:2', 'FEED:o1:10'])
  expect(of('o2')).toEqual(['FEED:o2:1'])
  expect(await workOf(scene.world, older!)).toMatchObject({
    state: 'skipped',
    lastError: expect.stringContaining('STALE'),
  })
})

test('edge case: an event is delivered again in a later cycle', async () => {
  const scene = await begin()
  const { world, send, vendor } = scene
  const event = paid('o1')
  const [first] = await send(event)
  await nextSlot(scene)
  expect(vendor.keys()).toEqual(['FEED:o1'])
  await world.pass(MINUTE)
  const [again] = await send(event)
  expect(again).not.toBe(first)
  await send(...many(2, 'p'))
  await nextSlot(scene)
  const done = await workOf(world, first!)
  expect(await workOf(world, again!)).toMatchObject({ state: 'skipped', effectRef: done.effectRef })
  expect(vendor.keys()).toEqual(['FEED:o1', 'FEED:p0', 'FEED:p1'])
})

test('edge case: a payload that can never succeed comes again and again', async () => {
  const vendor = makeVendor(({ body }) => (body?.includes('bad') ? 422 : 201))
  const scene = await begin(FEED, vendor)
  const { world, send } = scene
  for (let slot = 0; slot < 3; slot += 1) {
    await send(paid('bad'), ...many(2, `s${slot}-`))
    await nextSlot(scene)
  }
  // Each is tried once and takes no other job's slot; the neighbours of every slot are done.
  expect(world.calls).toHaveLength(9)
  expect(vendor.keys().toSorted()).toEqual(
    [0, 1, 2].flatMap((slot) => [`FEED:s${slot}-0`, `FEED:s${slot}-1`]),
  )
  expect(await letters(world)).toMatchObject(
    Array(3).fill({ class: 'validation', reason: 'rejected', attempts: 1, key: 'FEED:bad', state: 'open' }),
  )
  // Users see one cause that occurs three times.
  expect(await escalations(world)).toMatchObject([{ consumer: 'route:feed', class: 'validation', count: 3 }])
  expect((await world.reads.deadLetterGroups({ state: 'open' })).groups).toMatchObject([{ count: 3 }])
})

test('edge case: the queue is drained too rarely', async () => {
  const seldom = FEED.replace('every: 1m', 'every: 2h').replace('key:', 'maxWait: 30m\nkey:')
  const findings = check(seldom)
  expect(rules(findings)).toEqual(['DF8 warning'])
  expect(findings[0]?.message).toContain('`maxWait` and retries')
  // A job that was not tried yet does not grow old while it waits for its slot.
  const { world, node, send, vendor } = await start(seldom, makeVendor(), { config: { pollMs: 3_600_000 } })
  await world.pass(120 * MINUTE - (world.now() % (120 * MINUTE)) + 10_000)
  await send(...many(2))
  const { drain, work } = await node.engine.flowControl.one(T, 'feed')
  expect(work.ready).toBe(2)
  expect(drain?.nextAt).toBeGreaterThan(world.now() + 110 * MINUTE)
  await world.pass((drain?.nextAt ?? 0) - world.now() + 10_000)
  expect(await states(world)).toEqual(['done', 'done'])
  expect(vendor.effects).toHaveLength(2)
})

test('edge case: the depth of the queue is not visible', async () => {
  const scene = await begin(
    FEED,
    makeVendor((_request, call) => (call <= 3 ? 'hold' : 201)),
  )
  const { world, node, send } = scene
  await send(...many(8))
  await nextSlot(scene)
  const flowControl = await node.engine.flowControl.one(T, 'feed')
  expect(flowControl.work).toMatchObject({ ready: 5, leased: 3, waiting: 0 })
  expect(flowControl.drain).toMatchObject({ nextAt: expect.any(Number), left: expect.any(Number) })
  const overview = await world.reads.overview()
  expect(overview.counts).toMatchObject({ ready: 5, leased: 3 })
  expect(overview.oldestReadyAt).toBe(
    Math.min(...(await items(world)).filter(({ state }) => state === 'ready').map(({ dueAt }) => dueAt)),
  )
})
