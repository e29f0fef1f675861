import { expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { JobSlot } from '../leases/index.ts'
import { makeEndpointConcurrency } from './endpoint-concurrency.ts'

const CONSUMER = 'subscription:crm'
const ROUTE = { consumer: CONSUMER, hash: 'h', document: {} } as Route

function makeWorld() {
  let now = 1_000
  const rooms: number[] = []
  const endpointConcurrency = makeEndpointConcurrency({
    time: { now: () => now, heard: () => {} },
    random: { unit: () => 0.5 },
    wake: () => {},
    room: (delayMs) => rooms.push(delayMs),
  })
  const end = () => endpointConcurrency.end(DEFAULT_TENANT, CONSUMER, null)
  const room = () => endpointConcurrency.room(DEFAULT_TENANT, ROUTE)
  const fill = () => {
    for (let { max } = room(); max > 0; max -= 1) endpointConcurrency.begin(DEFAULT_TENANT, CONSUMER)
    endpointConcurrency.took(DEFAULT_TENANT, CONSUMER, false)
  }
  const calls: JobSlot[] = []
  return {
    ahead: () => endpointConcurrency.room(DEFAULT_TENANT, ROUTE, true),
    /** The response of a claim: so many jobs, each of which wants to call. */
    claim: (count: number, isDry = false) => {
      const jobs = Array.from({ length: count }, () => {
        const slot: JobSlot & { entered?: boolean | Promise<boolean> } = { isHeld: true, call: 'waits' }
        endpointConcurrency.begin(DEFAULT_TENANT, CONSUMER)
        slot.entered = endpointConcurrency.enter(DEFAULT_TENANT, CONSUMER, slot)
        calls.push(slot)
        return slot
      })
      endpointConcurrency.took(DEFAULT_TENANT, CONSUMER, isDry)
      return jobs
    },
    endCalls: (count: number) => {
      for (let n = 0; n < count; n += 1) {
        const at = calls.findIndex(({ call }) => call === 'runs')
        endpointConcurrency.end(DEFAULT_TENANT, CONSUMER, calls.splice(at, 1)[0] as JobSlot)
      }
    },
    inFlight: () => endpointConcurrency.view(DEFAULT_TENANT, CONSUMER)?.inFlight,
    overload: () =>
      endpointConcurrency.reportResult(DEFAULT_TENANT, CONSUMER, {
        startedAt: now,
        sign: 'overloaded',
        retryAfterMs: null,
      }),
    endpointConcurrency,
    rooms,
    end,
    room,
    fill,
    grow: () => {
      const ended = { startedAt: now, sign: 'well', retryAfterMs: null } as const
      for (let n = 0; n < 4; n += 1) endpointConcurrency.reportResult(DEFAULT_TENANT, CONSUMER, ended)
    },
    pass: (ms: number) => {
      now += ms
    },
  }
}

test('[DY20] a small concurrency limit is refilled at once, and one without waiting jobs sends no signal', () => {
  const world = makeWorld()
  expect(world.room()).toEqual({ max: 4, until: null })
  world.fill()
  world.end()
  expect([world.room(), world.rooms]).toEqual([{ max: 1, until: null }, [0]])
  world.endpointConcurrency.took(DEFAULT_TENANT, CONSUMER, true)
  world.end()
  expect([world.room(), world.rooms]).toEqual([{ max: 2, until: null }, [0]])
})

test('[DY20] a large concurrency limit is refilled when a quarter of it is free, or after a moment', () => {
  const world = makeWorld()
  world.grow()
  world.fill()
  expect(world.room()).toEqual({ max: 0, until: null })
  for (let n = 0; n < 15; n += 1) world.end()
  expect(world.room()).toEqual({ max: 0, until: 1_005 })
  world.end()
  expect(world.room()).toEqual({ max: 16, until: null })
  expect(world.rooms).toEqual([...Array.from({ length: 15 }, () => 5), 0])
  world.fill()
  world.pass(100)
  world.end()
  expect(world.room()).toEqual({ max: 0, until: 1_105 })
  world.pass(5)
  expect(world.room()).toEqual({ max: 1, until: null })
})

test('[DY33] jobs are claimed ahead of the limit, as many as end during two claims, and one leaves when a call ends', async () => {
  const world = makeWorld()
  world.grow()
  world.claim(64)
  expect([world.room(), world.ahead()]).toEqual([
    { max: 0, until: null },
    { max: 0, until: null },
  ])
  // While the next claim is under way 20 more calls end.
  world.endCalls(16)
  expect(world.ahead()).toEqual({ max: 16, until: null })
  world.endCalls(20)
  const refilled = world.claim(16)
  expect(refilled.every(({ call }) => call === 'runs')).toBe(true)
  // 44 are in flight: 20 more fit the limit, and twice as many as ended during the claim may wait.
  expect([world.room().max, world.ahead().max]).toEqual([20, 60])
  const more = world.claim(60)
  expect(more.map(({ call }) => call)).toEqual([
    ...Array.from({ length: 20 }, () => 'runs'),
    ...Array.from({ length: 40 }, () => 'waits'),
  ])
  expect(world.inFlight()).toBe(64)
  world.endCalls(1)
  expect(world.inFlight()).toBe(64)
  expect(more.filter(({ call }) => call === 'waits')).toHaveLength(39)
})

test('[DY33] nothing is claimed ahead for an endpoint whose calls outlast a claim, and nothing when all due jobs are claimed', () => {
  const world = makeWorld()
  world.grow()
  world.claim(64)
  world.endCalls(16)
  world.ahead()
  world.claim(16)
  expect(world.ahead()).toEqual({ max: 0, until: null })
  world.endCalls(20)
  world.ahead()
  world.endCalls(20)
  world.claim(20, true)
  expect(world.ahead().max).toBe(20)
})

test('[DY21] [DY33] jobs that wait for an endpoint may not call it when it is paused, and none waits any more', async () => {
  const world = makeWorld()
  world.grow()
  world.claim(64)
  world.endCalls(16)
  world.ahead()
  world.endCalls(20)
  world.claim(16)
  const waiting = world.claim(60).filter(({ call }) => call === 'waits')
  expect(waiting).toHaveLength(40)
  world.overload()
  expect(await Promise.all(waiting.map(({ entered }) => entered))).toEqual(waiting.map(() => false))
  expect(world.ahead()).toEqual({ max: 0, until: expect.any(Number) })
})
