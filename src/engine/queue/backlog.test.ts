import { expect, test } from 'vitest'
import type { RouteDocument } from '../../core/definitions/documents/index.ts'
import type { Role } from '../../core/queue/node-role/index.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  makeWorld,
  type Node,
  ROUTE,
  SOURCE,
  type World,
} from '../engine.fixture.ts'
import { HOOK } from '../webhooks/deliveries/deliveries.fixture.ts'
import { heard } from '../workflows/order-workflow.fixture.ts'

const FRONT: ReadonlySet<Role> = new Set(['ingest', 'schedule'])
const route = (over: Partial<RouteDocument> = {}): RouteDocument => ({
  ...ROUTE,
  do: { ...HTTP, idempotent: true, url: 'https://vendor.example/orders' },
  ...over,
})
const flood = async (world: World, node: Node, count: number) => {
  for (let index = 0; index < count; index += 1)
    await accept(world, node, { kind: 'paid', id: `d${index}`, order: `o${index}` })
}
const agesOf = (world: World, node: Node) => heard(world, node.engine.backlog())

test('[DE1] due jobs that no node claims count toward the backlog of the role that could run them', async () => {
  const world = makeWorld(() => CREATED)
  const config = { roles: FRONT, isShared: true }
  const node = await world.node({ documents: [SOURCE, route()], config })
  expect(await agesOf(world, node)).toEqual({ work: 0, deliver: 0 })
  await flood(world, node, 1)
  await world.pass(30_000)
  const ages = await agesOf(world, node)
  expect(ages?.work).toBeGreaterThanOrEqual(30_000)
  expect(ages?.deliver).toBe(0)
})

test('[DE1] deliveries are counted separately', async () => {
  const world = makeWorld(() => CREATED)
  const config = { roles: FRONT, isShared: true }
  const node = await world.node({ documents: [SOURCE, HOOK], config })
  await flood(world, node, 1)
  await world.pass(30_000)
  const ages = await agesOf(world, node)
  expect(ages?.deliver).toBeGreaterThanOrEqual(30_000)
  expect(ages?.work).toBe(0)
})

test.each([
  ['is paused', { status: 'paused' }],
  ['is at its limit', { concurrency: { limit: 1 } }],
  ['is at its rate', { rateLimit: { profile: null, perMinute: 1, burst: 1 } }],
] as const)('[DE8] jobs that wait because their consumer %s are not counted', async (_, over) => {
  // The call of the first job gets no response.
  const world = makeWorld()
  const node = await world.node({ documents: [SOURCE, route(over)] })
  await flood(world, node, 3)
  await world.pass(5_000)
  const ready = await world.reads.workList({ state: 'ready', cursor: null, limit: 10 })
  expect(ready.items.length).toBeGreaterThanOrEqual(2)
  expect(await agesOf(world, node)).toEqual({ work: 0, deliver: 0 })
})

test('[DE1] jobs within a shared rate limit are counted by the nodes that run them', async () => {
  // The call that has the only slot gets no response.
  const world = makeWorld()
  const rateLimit = { profile: null, perMinute: 6_000, burst: 1_000 }
  const config = { isShared: true, concurrency: 1 }
  const node = await world.node({ documents: [SOURCE, route({ rateLimit })], config })
  await flood(world, node, 3)
  await world.pass(20_000)
  expect((await agesOf(world, node))?.work).toBeGreaterThanOrEqual(19_000)
})

test('[DE8] jobs behind an open circuit are not counted', async () => {
  const world = makeWorld(() => answered(503))
  const retry = { profile: null, attempts: 50, delaysMs: Array.from({ length: 49 }, () => 1_000) }
  const node = await world.node({ documents: [SOURCE, route({ retry })] })
  await flood(world, node, 20)
  await world.pass(10_000)
  const circuits = await world.reads.records({ kind: 'circuit', cursor: null, limit: 10 })
  expect(circuits.items).toHaveLength(1)
  expect(await agesOf(world, node)).toEqual({ work: 0, deliver: 0 })
})
