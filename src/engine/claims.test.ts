// Which consumers a claim asks for, and when it is made.

import { describe, expect, test } from 'vitest'
import type { RouteDocument } from '../core/definition/index.ts'
import { accept, answered, CREATED, makeWorld, ROUTE, SOURCE, workOf } from './world.fixture.ts'

const strangers = Array.from(
  { length: 70 },
  (_, index): RouteDocument => ({ ...ROUTE, name: `stranger-${index}`, on: [`shop.events.other${index}`] }),
)

describe('with many routes', () => {
  test('what is due later is found again, also of a route that is no longer defined', async () => {
    let isDown = true
    const world = makeWorld(() => (isDown ? answered(503) : CREATED))
    const documents = [
      SOURCE,
      { ...ROUTE, do: { ...ROUTE.do, idempotent: true } } as RouteDocument,
      ...strangers,
    ]
    const node = await world.node({ documents })
    const first = await accept(world, node)
    expect(await workOf(world, first)).toMatchObject({ state: 'ready', attempts: 1 })
    isDown = false
    await world.pass(2_000)
    expect(await workOf(world, first)).toMatchObject({ state: 'done' })
    isDown = true
    const second = await accept(world, node, { kind: 'paid', id: 'd2', order: 'o2' })
    const applied = node.engine.apply('default' as never, [SOURCE, ...strangers])
    await world.pass()
    await applied
    isDown = false
    await world.pass(3_000)
    expect(await workOf(world, second)).toMatchObject({ state: 'done' })
  })
})
