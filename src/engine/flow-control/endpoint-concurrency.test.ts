import { expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { Route } from '../../core/routing/index.ts'
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
  const end = () => endpointConcurrency.end(DEFAULT_TENANT, CONSUMER)
  const room = () => endpointConcurrency.room(DEFAULT_TENANT, ROUTE)
  const fill = () => {
    for (let { max } = room(); max > 0; max -= 1) endpointConcurrency.begin(DEFAULT_TENANT, CONSUMER)
    endpointConcurrency.took(DEFAULT_TENANT, CONSUMER, false)
  }
  return {
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
