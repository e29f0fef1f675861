// Which consumers a claim asks for, and when the loop claims.

import { describe, expect, test } from 'vitest'
import type { RouteDocument } from '../../core/definitions/documents/index.ts'
import { accept, answered, CREATED, makeWorld, ROUTE, SOURCE, workOf } from '../engine.fixture.ts'
import { makeClaims } from './claims.ts'

const strangers = Array.from(
  { length: 70 },
  (_, index): RouteDocument => ({ ...ROUTE, name: `stranger-${index}`, on: [`shop.events.other${index}`] }),
)

describe('with many routes', () => {
  test('jobs due later are found again, also those of a removed route', async () => {
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

/** A claim loop with one endpoint of at most 128 concurrent calls, and a route without jobs; the test answers its claims. */
function makeLoop({ hasRoute = true } = {}) {
  let asked = 0
  let now = 0
  const timers: { readonly at: number; run(): void }[] = []
  const open: ((count: number) => void)[] = []
  let inFlight = 0
  const claims = makeClaims(
    {
      store: {
        system: () => ({ readyConsumers: async () => [] }),
        claim: ({ slots, max }: { slots: readonly { consumer: string; max: number }[]; max: number }) =>
          new Promise((resolve) => {
            asked += 1
            open.push((waiting) => {
              const room = slots.find(({ consumer }) => consumer === 'subscription:crm')?.max ?? 0
              const count = Math.min(room, max, waiting)
              const work = { tenant: 'default', consumer: 'subscription:crm', kind: 'delivery' }
              const items = Array.from({ length: count }, () => ({ work, event: {} }))
              resolve({ items, nextDueAt: waiting > count && room > 0 ? 0 : null, now: 1 })
            })
          }),
      },
      clock: {
        monotonic: () => now,
        after(delayMs: number, run: () => void) {
          const timer = { at: now + delayMs, run }
          timers.push(timer)
          return () => timers.splice(timers.indexOf(timer), timers.includes(timer) ? 1 : 0)
        },
      },
      code: { hashes: () => [] },
      log: { warn: (...args: unknown[]) => expect(args).toBeUndefined() },
      registry: {
        consumers: () => [
          { tenant: 'default', consumer: 'subscription:crm', paused: false },
          ...(hasRoute ? [{ tenant: 'default', consumer: 'route:idle', paused: false }] : []),
        ],
        knows: () => true,
        isHeld: () => false,
        isUnusable: () => false,
        needsNewerVersion: () => false,
        route: () => null,
        tenantCount: () => 1,
      },
      jobSlots: {
        free: () => 192,
        canRunIsolated: () => true,
        roomForBytes: () => 1_000,
        tenants: () => new Map(),
        takeAnyway: () => {},
        start: () => {},
      },
      flowControl: {
        offer: (_: string, consumer: string) => {
          if (consumer === 'route:idle') return { is: 'open', max: 1 }
          return inFlight < 128 ? { is: 'open', max: 128 - inFlight } : { is: 'closed', untilAt: null }
        },
        claimed: () => {
          inFlight += 1
        },
        took: () => {},
      },
      time: { now: () => 1, heard: () => {} },
      lostClaims: { collect: async () => [], suspect: () => {} },
      runs: () => true,
      leaveWork: () => {},
      owner: () => 1,
      refresh: async () => {},
    } as never,
    { pollMs: 1_000, concurrency: 256 },
  )
  /** Runs everything that is due within `ms`. */
  const pass = async (ms: number) => {
    for (let turns = 0; turns < 20; turns += 1) {
      await Promise.resolve()
      const due = timers.toSorted((a, b) => a.at - b.at)[0]
      if (due === undefined || due.at > now + ms) continue
      ms -= Math.max(0, due.at - now)
      now = Math.max(now, due.at)
      timers.splice(timers.indexOf(due), 1)
      due.run()
    }
  }
  const endCalls = () => {
    for (; inFlight > 0; inFlight -= 1) claims.room(0)
  }
  return { claims, asked: () => asked, open, pass, endCalls }
}

test('[DY20] capacity freed during a claim is claimed at once, not at the next poll', async () => {
  const { claims, open, pass, endCalls } = makeLoop()
  claims.start()
  await pass(0)
  // The first claim fills every slot that one claim may fill.
  open.shift()?.(1_000)
  await pass(5)
  // The second claim asks only for the route: the endpoint is at its limit. Meanwhile all calls end.
  expect(open.length).toBe(1)
  endCalls()
  open.shift()?.(1_000)
  await pass(5)
  expect(open.length).toBe(1)
})

test('the store is not asked while every consumer is at its limit', async () => {
  const { claims, asked, open, pass, endCalls } = makeLoop({ hasRoute: false })
  claims.start()
  await pass(0)
  open.shift()?.(1_000)
  await pass(900)
  expect([asked(), open.length]).toEqual([1, 0])
  endCalls()
  await pass(5)
  expect([asked(), open.length]).toEqual([2, 1])
})
