import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY, MINUTE, SECOND } from '../../foundation/time/index.ts'
import {
  type ConcurrencyLimit,
  concurrencyAllows,
  type EndpointSign,
  newConcurrencyLimit,
  stepConcurrencyLimit,
} from './index.ts'

function ended(
  window: ConcurrencyLimit,
  sign: EndpointSign,
  at: number,
  rest: { startedAt?: number; retryAfterMs?: number; jitter?: number } = {},
): ConcurrencyLimit {
  const { startedAt = at, retryAfterMs = null, jitter = 0 } = rest
  return stepConcurrencyLimit(window, { type: 'ended', startedAt, at, sign, retryAfterMs, jitter })
}

describe('the concurrency limit of an endpoint', () => {
  test('[SB20] doubles from 4 to 64', () => {
    const sizes = [newConcurrencyLimit(null)]
    for (let at = 1; at <= 5; at++) sizes.push(ended(sizes.at(-1) as ConcurrencyLimit, 'well', at))
    expect(sizes.map(({ size }) => size)).toEqual([4, 8, 16, 32, 64, 64])
    expect(sizes[5]).toBe(sizes[4])
  })

  test('[SB20] or to the configured limit', () => {
    const grown = (limit: number) => {
      let window = newConcurrencyLimit(limit)
      for (let at = 0; at < 20; at++) window = ended(window, 'well', at)
      return window.size
    }
    expect([1, 3, 20, 200].map((limit) => [newConcurrencyLimit(limit).size, grown(limit)])).toEqual([
      [1, 1],
      [3, 3],
      [4, 20],
      [4, 200],
    ])
    const large = { ...newConcurrencyLimit(null), size: 64 }
    expect(stepConcurrencyLimit(large, { type: 'limit', limit: 10 })).toMatchObject({ size: 10, limit: 10 })
    expect(stepConcurrencyLimit(newConcurrencyLimit(2), { type: 'limit', limit: null })).toMatchObject({
      size: 2,
      limit: 64,
    })
  })

  test('[SB20] other failures leave it unchanged', () => {
    const window = newConcurrencyLimit(null)
    expect(ended(window, 'answers', 1)).toBe(window)
  })

  test('[SB21] falls to 1 and pauses, a second, then twice as long up to a minute', () => {
    let window: ConcurrencyLimit = { ...newConcurrencyLimit(null), size: 64 }
    let at = 0
    const pauses: number[] = []
    for (let count = 0; count < 9; count++) {
      window = ended(window, 'overloaded', at)
      const until = window.pause?.until as number
      pauses.push(until - at)
      expect([window.size, concurrencyAllows(window, until - 1), concurrencyAllows(window, until)]).toEqual([
        1, 0, 1,
      ])
      at = until
    }
    expect(pauses.map((ms) => ms / SECOND)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
  })

  test('[SB21] pauses as long as requested, a day at most, and jitter adds to it', () => {
    const pause = (retryAfterMs: number, jitter = 0) =>
      ended(newConcurrencyLimit(null), 'overloaded', 0, { retryAfterMs, jitter }).pause?.until
    expect([pause(0), pause(500), pause(90 * SECOND), pause(9 * DAY), pause(-5)]).toEqual([
      SECOND,
      SECOND,
      90 * SECOND,
      DAY,
      SECOND,
    ])
    expect(pause(0, 0.5)).toBe(1_050)
  })

  test('[SB22] a hundred calls that fail together count once', () => {
    let window: ConcurrencyLimit = { ...newConcurrencyLimit(null), size: 64 }
    for (let at = 0; at < 100; at++) window = ended(window, 'overloaded', 10_000 + at, { startedAt: 0 })
    expect(window).toEqual({ size: 1, limit: 64, pause: { since: 10_000, until: 11_000, count: 1 } })
    expect(ended(window, 'well', 10_500, { startedAt: 0 })).toBe(window)
    expect(ended(window, 'answers', 12_000, { startedAt: 0 })).toBe(window)
    const asked = ended(window, 'overloaded', 10_500, { startedAt: 0, retryAfterMs: 30_000 })
    expect(asked.pause).toEqual({ since: 10_000, until: 40_500, count: 1 })
  })

  test('[SB23] a call that begins after the pause decides how to continue', () => {
    const paused = ended({ ...newConcurrencyLimit(null), size: 64 }, 'overloaded', 0)
    const until = paused.pause?.until as number
    expect(ended(paused, 'well', until + 5, { startedAt: until })).toEqual({
      size: 2,
      limit: 64,
      pause: null,
    })
    expect(ended(paused, 'answers', until + 5, { startedAt: until })).toEqual({
      size: 1,
      limit: 64,
      pause: null,
    })
    expect(ended(paused, 'overloaded', until + 5, { startedAt: until }).pause).toMatchObject({ count: 2 })
  })

  test('[SB20] [SB21] [SB22] over any history: between 1 and its limit, never paused for longer than requested or a minute', () => {
    const step = fc.record({
      sign: fc.constantFrom<EndpointSign>('well', 'answers', 'overloaded'),
      afterMs: fc.integer({ min: 0, max: 5_000 }),
      lastedMs: fc.integer({ min: 0, max: 30_000 }),
      jitter: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      limit: fc.option(fc.option(fc.integer({ min: 1, max: 300 }), { nil: null }), {
        nil: undefined,
        freq: 6,
      }),
    })
    fc.assert(
      fc.property(
        fc.option(fc.integer({ min: 1, max: 300 }), { nil: null }),
        fc.array(step),
        (first, steps) => {
          let window = newConcurrencyLimit(first)
          let at = 1_000_000
          for (const { sign, afterMs, lastedMs, jitter, limit } of steps) {
            at += afterMs
            if (limit !== undefined) window = stepConcurrencyLimit(window, { type: 'limit', limit })
            const before = window
            window = ended(window, sign, at, { startedAt: at - lastedMs, jitter })
            expect(window.size).toBeGreaterThanOrEqual(1)
            expect(window.size).toBeLessThanOrEqual(window.limit)
            expect([0, window.size]).toContain(concurrencyAllows(window, at))
            expect((window.pause?.until ?? at) - at).toBeLessThanOrEqual(MINUTE * 1.1)
            if (sign === 'overloaded') expect(window.size).toBe(1)
            if (before.pause !== null && at - lastedMs < before.pause.until) {
              expect(window.pause?.count).toBe(before.pause.count)
            }
          }
        },
      ),
    )
  })
})
