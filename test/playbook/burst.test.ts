// Edge cases of what smooths bursts: debounce, batches and rates.

import { expect, test } from 'vitest'
import { makeWorld, type Node, type World, workOf } from '../../src/engine/engine.fixture.ts'
import {
  ANNA,
  check,
  compile,
  items,
  letters,
  makeVendor,
  paid,
  rules,
  SHOP,
  start,
  states,
  T,
} from './scene.fixture.ts'

const SECOND = 1_000
const MINUTE = 60_000

const route = (
  more: string,
  {
    key = "'INDEX:' + payload.order + ':' + payload.revision",
    body = '{ v: "{{ payload.revision }}" }',
  } = {},
) => `${SHOP}---
kind: Route
name: index
on: [shop.events.paid]
${more}
key: ${JSON.stringify(key)}
do:
  http: { method: PUT, url: "https://vendor.example/index", idempotent: true, body: ${body} }
`

test('edge case: a debounce window is too large', async () => {
  const debounce = (rest: string) => route(`debounce: { by: payload.order, ${rest} }`)
  expect(rules(check(debounce('window: 1m, maxWait: 30s')))).toEqual(['DF6 error'])
  expect(rules(check(debounce('window: 12h')))).toEqual(['DF6 warning'])
  // An object that is never quiet: no event waits longer than `maxWait`, and the newest is not lost.
  const { world, send, vendor } = await start(debounce('window: 1m, maxWait: 3m'))
  for (let v = 1; v <= 14; v += 1) {
    await send(paid('o1', { revision: v }))
    await world.pass(30 * SECOND)
  }
  await world.pass(5 * MINUTE)
  expect(vendor.effects.length).toBeGreaterThanOrEqual(2)
  expect(vendor.effects.length).toBeLessThanOrEqual(4)
  expect(vendor.effects.at(-1)?.body).toEqual({ v: 14 })
  const all = await items(world)
  const first = all.find(({ state }) => state === 'done')
  expect((first?.processedAt ?? 0) - (all[0]?.createdAt ?? 0)).toBeLessThanOrEqual(3 * MINUTE + 2 * SECOND)
  expect(all.filter(({ state }) => state === 'done' || state === 'skipped')).toHaveLength(14)
})

test('edge case: a debounce key is too coarse', async () => {
  expect(rules(check(route(`debounce: { by: "'all'", window: 1m }`)))).toEqual(['DF3 warning'])
  // One that `check` cannot see: two objects of one customer are mistaken for one.
  const coarse = route('debounce: { by: payload.customer, window: 10s }')
  const { world, node, send, apply, heard, vendor } = await start(coarse)
  const of = (order: string) => paid(order, { customer: 'c1', revision: 1 })
  const [first, last] = await send(of('o1'), of('o2'))
  await world.pass(MINUTE)
  expect(vendor.keys()).toEqual(['INDEX:o2:1'])
  // The merged job is stored, with a pointer to the one that replaced it.
  const [survivor, passed] = [await workOf(world, last!), await workOf(world, first!)]
  expect(passed).toMatchObject({
    state: 'skipped',
    effectRef: survivor.id,
    lastError: expect.stringContaining('SUPERSEDED'),
  })
  // Fixed, it is replayed and done once.
  await apply(coarse.replace('payload.customer', 'payload.order'))
  await heard(node.engine.replays.beginEvents(T, { ids: [first!, last!] }, ANNA))
  await world.pass(2 * MINUTE)
  expect(vendor.keys()).toEqual(['INDEX:o2:1', 'INDEX:o1:1'])
})

test('edge case: runs of several workers overlap', async () => {
  const play = async (more: string, body?: string) => {
    const vendor = makeVendor()
    const world = makeWorld(vendor.serve)
    const documents = compile(route(more, body === undefined ? {} : { body }))
    const nodes = [await world.node({ documents }), await world.node({ name: 'two', documents })]
    await world.pass(MINUTE - (world.now() % MINUTE) + 5 * SECOND)
    for (let number = 0; number < 12; number += 1) await sendTo(world, nodes[number % 2]!, number)
    const calls = () => world.calls.length
    return { vendor, world, calls }
  }
  // A burst that arrives at two nodes is one call.
  const burst = await play('debounce: { by: payload.kind, window: 10s }')
  await burst.world.pass(MINUTE)
  expect(burst.vendor.effects).toMatchObject([{ body: { v: 11 } }])
  // Two draining nodes together take what one may.
  const drain = await play('drain: { every: 1m, events: 2, cycles: 2 }')
  await drain.world.pass(MINUTE)
  expect(drain.calls()).toBe(4)
  await drain.world.pass(2 * MINUTE)
  expect(new Set(drain.vendor.keys()).size).toBe(12)
  expect(drain.vendor.effects).toHaveLength(12)
  // Two batching nodes: every job is in one batch, and in one only.
  const batch = await play('batch: { size: 4, maxWait: 5s }', '{ keys: "{{ batch[*].key }}" }')
  await batch.world.pass(MINUTE)
  const members = batch.vendor.effects.flatMap(({ body }) => body.keys as string[])
  expect(members.toSorted()).toEqual(Array.from({ length: 12 }, (_, v) => `INDEX:o${v}:${v}`).toSorted())
  expect(batch.calls()).toBeLessThan(12)
})

async function sendTo(world: World, node: Node, number: number): Promise<void> {
  const sent = node.send(paid(`o${number}`, { revision: number }))
  await world.pass(10)
  await sent
}

test('edge case: a rate guard is so low that the queue never empties', async () => {
  const slow = (perMinute: number) =>
    `drain: { every: 1m, events: 10 }\nrateLimit: { perMinute: ${perMinute}, burst: 1 }`
  const findings = check(route(slow(2)))
  expect(rules(findings)).toEqual(['DF7 warning'])
  expect(findings[0]?.message).toContain('10 × 1 = 10 items every 1m')
  expect(check(route(slow(10)))).toEqual([])
  const guard = (perMinute: number) =>
    route(`rateLimit: { perMinute: ${perMinute}, burst: 1 }\nmaxWait: 5m\nretry: { attempts: 1 }`)
  const { world, node, send, apply, vendor } = await start(guard(2))
  await send(...Array.from({ length: 40 }, (_, v) => paid(`o${v}`, { revision: v })))
  await world.pass(10 * MINUTE)
  // The backlog and its rate are visible; no job grows too old to be tried, although `maxWait` is over.
  const { work, rate } = await node.engine.flowControl.one(T, 'index')
  expect(rate).toMatchObject({ perMinute: 2, burst: 1 })
  expect(work.ready).toBeGreaterThanOrEqual(18)
  expect(vendor.effects.length).toBeLessThanOrEqual(22)
  expect(await letters(world)).toEqual([])
  // Raised, it also applies to waiting jobs.
  await apply(guard(600))
  await world.pass(MINUTE)
  expect(new Set(await states(world))).toEqual(new Set(['done']))
  expect(new Set(vendor.keys()).size).toBe(40)
  expect(vendor.effects).toHaveLength(40)
})

test('edge case: the same payload has another hash each time', async () => {
  const source = SHOP.replace('dedup: { by: event.id, window: 1m }', 'dedup: { window: 1m }').replace(
    'id: payload.id, ',
    '',
  )
  const flows = route('', { key: "'INDEX:' + hash(payload.what)" }).replace(SHOP, source)
  const { world, send, vendor } = await start(flows)
  // In another order, and with other whitespace: not the same bytes, but the same value.
  const what = [
    { a: 1, b: { c: [1, 2], d: 'x' } },
    { b: { d: 'x', c: [1, 2] }, a: 1 },
    { a: 2, b: { c: [1, 2], d: 'x' } },
  ]
  const ids = await send(...what.map((one) => ({ kind: 'paid', order: 'o1', what: one })))
  expect(new Set(ids).size).toBe(3)
  expect(await states(world)).toEqual(['done', 'skipped', 'done'])
  expect(new Set(vendor.keys()).size).toBe(2)
  expect(vendor.effects).toHaveLength(2)
  // A list in another order is another value.
  await send({ kind: 'paid', order: 'o1', what: { a: 1, b: { c: [2, 1], d: 'x' } } })
  expect(vendor.effects).toHaveLength(3)
})
