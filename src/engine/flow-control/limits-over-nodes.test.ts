// Limits over nodes that share a store: concurrency, lanes, debounce and batches, each on two nodes. Events arrive at
// both alternately.

import { expect, test } from 'vitest'
import type { RouteDocument } from '../../core/definitions/documents/index.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  makeWorld,
  type Node,
  type NodeOptions,
  ROUTE,
  SOURCE,
  type World,
} from '../engine.fixture.ts'
import { HOOK, SECRET } from '../webhooks/deliveries/deliveries.fixture.ts'
import { SETUP } from '../workflows/saga.fixture.ts'

const FIXED = { ...HTTP, idempotent: true, url: 'https://vendor.example/orders' }
const route = (over: Partial<RouteDocument>): RouteDocument => ({ ...ROUTE, do: FIXED, ...over })

async function pair(
  world: World,
  documents: NonNullable<NodeOptions['documents']>,
): Promise<readonly Node[]> {
  const start = (name: string) => world.node({ name, documents, config: { isShared: true } })
  return [await start('one'), await start('two')]
}

async function flood(world: World, nodes: readonly Node[], payloads: readonly object[]) {
  for (const [index, payload] of payloads.entries())
    await accept(world, nodes[index % nodes.length] as Node, payload)
}

const orders = (count: number, order = (index: number) => `o${index}`) =>
  Array.from({ length: count }, (_, index) => ({
    kind: 'paid',
    id: `d${index}`,
    order: order(index),
    at: index,
  }))

/** Answers open calls step by step, and returns the highest number open at once. */
async function answerAll(world: World, outcome = CREATED): Promise<number> {
  let most = 0
  let done = 0
  for (let round = 0; round < 60; round += 1) {
    await world.pass(1_000)
    most = Math.max(most, world.calls.length - done)
    const open = world.calls.slice(done)
    done = world.calls.length
    for (const call of open) call.answer(outcome)
  }
  return most
}

test('[PA14] deliveries of a subscription with a limit: no more at once over both nodes, and all arrive', async () => {
  const world = makeWorld(() => null, [SECRET])
  const nodes = await pair(world, [SOURCE, { ...HOOK, concurrency: { limit: 3 } }])
  await flood(world, nodes, orders(20))
  expect(await answerAll(world, answered(204))).toBe(3)
  expect(world.calls).toHaveLength(20)
  expect(new Set(world.calls.map((call) => call.node))).toEqual(new Set(['one', 'two']))
})

test('[PA14] a limit per value holds over both nodes', async () => {
  const world = makeWorld()
  const nodes = await pair(world, [
    SOURCE,
    route({ concurrency: { limit: 2, by: 'payload.order' }, key: "'K:' + payload.id" }),
  ])
  await flood(
    world,
    nodes,
    orders(10, () => 'same'),
  )
  expect(await answerAll(world)).toBe(2)
  expect(world.calls).toHaveLength(10)
})

test('[LN1] jobs of one lane run one after another, whichever node accepts or runs them', async () => {
  const world = makeWorld()
  const ordered = route({
    order: { by: 'payload.order' },
    key: "'K:' + payload.id",
    do: { ...FIXED, body: { at: '{{ payload.at }}' } },
  })
  const nodes = await pair(world, [SOURCE, ordered])
  await flood(
    world,
    nodes,
    orders(10, () => 'same'),
  )
  expect(await answerAll(world)).toBe(1)
  const sent = world.calls.map(({ request }) => (JSON.parse(request.body ?? '{}') as { at: number }).at)
  expect(sent).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('[DB1] events that reach both nodes within the window are one call', async () => {
  const world = makeWorld(() => CREATED)
  const debounced = route({
    debounce: { by: 'payload.order', windowMs: 2_000, maxWaitMs: 10_000 },
    key: "'K:' + payload.id",
    do: { ...FIXED, body: { at: '{{ payload.at }}' } },
  })
  const nodes = await pair(world, [SOURCE, debounced])
  await flood(
    world,
    nodes,
    orders(6, () => 'same'),
  )
  await world.pass(30_000)
  expect(world.calls.map(({ request }) => request.body)).toEqual(['{"at":5}'])
})

test('[SG8] a limit of workflow instances holds, whichever node starts or runs them', async () => {
  const world = makeWorld()
  const nodes = await pair(world, [SOURCE, { ...SETUP, maxConcurrent: 2 }])
  await flood(world, nodes, orders(6))
  expect(await answerAll(world)).toBe(2)
  const { items } = await world.reads.instances({ cursor: null, limit: 10 })
  expect(items.map(({ state }) => state)).toEqual(Array(6).fill('completed'))
})

test('[BA5] each job is in one batch, however many nodes collect', async () => {
  const body = { items: '{{ batch.map(b, b.key) }}' }
  const world = makeWorld(() => CREATED)
  const batched = route({ batch: { size: 4, maxWaitMs: 3_000 }, do: { ...FIXED, body } })
  const nodes = await pair(world, [SOURCE, batched])
  await flood(world, nodes, orders(18))
  await world.pass(30_000)
  const keys = world.calls.flatMap(
    ({ request }) => (JSON.parse(request.body ?? '{}') as { items: string[] }).items,
  )
  expect([...keys].sort()).toEqual(
    orders(18)
      .map(({ order }) => `BOOK:${order}`)
      .sort(),
  )
})
