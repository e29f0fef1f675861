// A set-up in steps at a vendor: what begins it twice, interrupts it, or changes under it.

import { expect, test } from 'vitest'
import { decodeInstance } from '../../src/core/workflows/machine/index.ts'
import type { World } from '../../src/engine/engine.fixture.ts'
import type { HttpRequest } from '../../src/ports/http-client.ts'
import { ANNA, compile, type Fate, letters, makeVendor, paid, SHOP, start, T } from './scene.fixture.ts'

const step = (name: string, from: string, to: string) => `
  ${name}:
    from: ${from}
    to: ${to}
    do: { http: { method: POST, url: "https://vendor.example/${name}", body: { order: "{{ data.order }}" }, timeout: 5s,
                  probe: { url: "https://vendor.example/${name}?ref={{ key }}", found: result.body.found, after: 1s } } }
    retry: { attempts: 3, delays: [1s, 1s] }`

const STEPS = [
  step('wbs', 'begun', 'has_wbs'),
  step('design', 'has_wbs', 'has_design'),
  step('plan', 'has_design', 'ready'),
]

const setup = (steps: readonly string[] = STEPS, version = '1.0.0') => `${SHOP}---
kind: Workflow
name: setup
version: ${version}
start: begun
lock: { by: data.area, ttl: 30m, whenHeld: wait }
triggers:
  - { on: shop.events.paid, action: create, correlate: { order: payload.order }, unique: live,
      map: { order: payload.order, area: payload.area } }
places: { begun: {}, has_wbs: {}, has_design: {}, ready: { final: true } }
transitions:${steps.join('')}
`

/** What the other side does with each step, once; afterwards it works. */
const once = (fates: Readonly<Record<string, Fate>>) => {
  const left = new Map(Object.entries(fates))
  return ({ url }: HttpRequest): Fate => {
    const name = new URL(url).pathname.slice(1)
    const fate = left.get(name) ?? 201
    left.delete(name)
    return fate
  }
}

const project = (order: string) => paid(order, { area: 'north' })
const states = async (world: World) =>
  (await world.reads.instances({ cursor: null, limit: 9 })).items.map(({ state }) => state)
const stepsOf = (vendor: { readonly effects: readonly { readonly path: string; readonly body: object }[] }) =>
  vendor.effects.map(({ path, body }) => `${(body as { order: string }).order}${path}`)
const WHOLE = ['o1/wbs', 'o1/design', 'o1/plan']

test('edge case: one project triggers its set-up twice', async () => {
  const { world, send, vendor } = await start(setup(), makeVendor(once({ wbs: 'hold' })))
  await send(project('o1'), project('o1'))
  const { items } = await world.reads.instances({ cursor: null, limit: 9 })
  expect(items).toHaveLength(1)
  const request = world.calls[0]!.request
  vendor.do(request)
  world.calls[0]!.answer({ kind: 'response', status: 201, headers: {}, body: '{}', durationMs: 1 })
  await world.pass(60_000)
  expect(await states(world)).toEqual(['completed'])
  expect(stepsOf(vendor)).toEqual(WHOLE)
})

test('edge case: the structure is created in part before a time-out', async () => {
  const { world, send, vendor } = await start(setup(), makeVendor(once({ design: 'lose' })))
  await send(project('o1'))
  await world.pass(600_000)
  // It goes on with the part that is missing: the vendor was asked, and what is there is not made again.
  expect(await states(world)).toEqual(['completed'])
  expect(stepsOf(vendor)).toEqual(WHOLE)
  expect(world.calls.filter(({ request }) => request.method === 'GET')).toHaveLength(1)
})

test('edge case: the plan is posted, and its response is lost', async () => {
  const { world, send, vendor } = await start(setup(), makeVendor(once({ plan: 'drop' })))
  await send(project('o1'))
  await world.pass(600_000)
  expect(await states(world)).toEqual(['completed'])
  expect(stepsOf(vendor)).toEqual(WHOLE)
})

test('edge case: the lock is left behind by a crash', async () => {
  const { world, node, send, vendor } = await start(setup(), makeVendor(once({ wbs: 'hold' })))
  await send(project('o1'), project('o2'))
  // The second one waits for the area's lock.
  expect(world.calls).toHaveLength(1)
  node.crash()
  await world.node({ documents: compile(setup()) })
  await world.pass(600_000)
  expect(await states(world)).toEqual(['completed', 'completed'])
  expect(stepsOf(vendor)).toEqual([...WHOLE, 'o2/wbs', 'o2/design', 'o2/plan'])
})

test('edge case: a replay comes out of the order of the steps', async () => {
  const { world, node, send, heard, vendor } = await start(setup(), makeVendor(once({ design: 422 })))
  await send(project('o1'))
  await world.pass(60_000)
  expect(stepsOf(vendor)).toEqual(['o1/wbs'])
  const [letter] = await letters(world)
  expect(letter).toMatchObject({ consumer: 'workflow:setup' })
  await heard(node.engine.replay(T, letter!.id, { force: false, ...ANNA }))
  await world.pass(60_000)
  // It resumes at the step that failed; those before it are not repeated, those after it come after it.
  expect(await states(world)).toEqual(['completed'])
  expect(stepsOf(vendor)).toEqual(WHOLE)
})

test('edge case: the definition changes during a saga', async () => {
  const { world, send, apply, vendor } = await start(setup(), makeVendor(once({ design: 'hold' })))
  await send(project('o1'))
  const renamed = STEPS.map((text) => text.replaceAll('vendor.example/plan', 'vendor.example/plan-2'))
  await apply(setup(renamed, '1.1.0'))
  const held = world.calls.at(-1)!
  vendor.do(held.request)
  held.answer({ kind: 'response', status: 201, headers: {}, body: '{}', durationMs: 1 })
  await world.pass(60_000)
  await send(project('o2'))
  await world.pass(60_000)
  // What had begun ends by the version it began with.
  expect(stepsOf(vendor)).toEqual([...WHOLE, 'o2/wbs', 'o2/design', 'o2/plan-2'])
  const { items } = await world.reads.instances({ cursor: null, limit: 9 })
  expect(
    items
      .map(decodeInstance)
      .map(({ version, state }) => [version, state])
      .toSorted(),
  ).toEqual([
    ['1.0.0', 'completed'],
    ['1.1.0', 'completed'],
  ])
})
