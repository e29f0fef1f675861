import { expect, test } from 'vitest'
import { makeSteadyClock } from './steady-clock.ts'

function clockAt(start: { wall: number; notBefore?: number }) {
  const time = { wall: start.wall, monotonic: 500 }
  const now = makeSteadyClock({
    notBefore: start.notBefore ?? 0,
    wall: () => time.wall,
    monotonic: () => time.monotonic,
  })
  return { time, now }
}

test('[ST74] starts with the wall clock and continues at its own speed, whatever the wall clock is set to', () => {
  const { time, now } = clockAt({ wall: 1_000_000 })
  expect(now()).toBe(1_000_000)
  time.monotonic += 250.7
  time.wall += 120_000
  expect(now()).toBe(1_000_250)
  time.monotonic += 250
  time.wall = 3
  expect(now()).toBe(1_000_500)
})

test('[ST74] never goes behind what was written before', () => {
  const { time, now } = clockAt({ wall: 1_000, notBefore: 9_000 })
  expect(now()).toBe(9_000)
  time.monotonic += 10
  expect(now()).toBe(9_010)
})
