import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RetryPolicy } from '../../definitions/documents/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../foundation/time/index.ts'
import { backoffDelays, nextDelay, RETRY_PROFILES } from './index.ts'

const jitter = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const policy: fc.Arbitrary<RetryPolicy> = fc
  .array(fc.integer({ min: 0, max: 7 * DAY }), { maxLength: 20 })
  .map((delaysMs) => ({ profile: null, attempts: delaysMs.length + 1, delaysMs }))

describe('profiles', () => {
  test.each(Object.values(RETRY_PROFILES))(
    '[T1] $profile has a delay between any two attempts',
    (profile) => {
      expect(profile.delaysMs).toHaveLength(profile.attempts - 1)
    },
  )

  test('[T7] the table of the specification is the table of the code', () => {
    const units: Record<string, number> = { s: SECOND, m: MINUTE, h: HOUR }
    const text = readFileSync(new URL('../../../../docs/spec/retries.md', import.meta.url), 'utf8')
    const rows = [...text.matchAll(/^\| *`(\w+)` *\| *(\d+) *\| *(.+?) *\|$/gm)].map((row) => ({
      profile: row[1],
      attempts: Number(row[2]),
      delaysMs: row[3]!.split(', ').map((delay) => Number(delay.slice(0, -1)) * units[delay.slice(-1)]!),
    }))
    expect(rows).toEqual(Object.values(RETRY_PROFILES))
    expect(Object.keys(RETRY_PROFILES)).toEqual(rows.map((row) => row.profile))
  })
})

describe('nextDelay', () => {
  test.each([
    [1, 0, 54_000],
    [1, 0.5, 60_000],
    [5, 0.5, 900_000],
  ])('[T3] STANDARD after attempt %i with jitter %d waits %i ms', (attempt, chance, expected) => {
    expect(nextDelay(RETRY_PROFILES.STANDARD, attempt, chance)).toBe(expected)
  })

  test('[T2] after the last attempt there is no next, whatever delay is requested', () => {
    fc.assert(
      fc.property(policy, fc.nat(5), jitter, fc.nat(DAY), (one, beyond, chance, asked) => {
        expect(nextDelay(one, one.attempts + beyond, chance, asked)).toBeNull()
      }),
    )
  })

  test('[T3] a delay stays within 10 % of the plan', () => {
    fc.assert(
      fc.property(policy, fc.nat(19), jitter, (one, index, chance) => {
        const planned = one.delaysMs[index]
        if (planned === undefined) return
        const delay = nextDelay(one, index + 1, chance)!
        expect(Number.isInteger(delay)).toBe(true)
        expect(Math.abs(delay - planned)).toBeLessThanOrEqual(planned * 0.1 + 0.5)
      }),
    )
  })

  test('[T4] [T5] the other side’s requested delay extends the wait up to a day, and never shortens it', () => {
    fc.assert(
      fc.property(policy, fc.nat(19), jitter, fc.nat(3 * DAY), (one, index, chance, asked) => {
        const without = nextDelay(one, index + 1, chance)
        const delay = nextDelay(one, index + 1, chance, asked)
        if (without === null || delay === null) return
        expect(delay).toBeGreaterThanOrEqual(without)
        expect(delay).toBeGreaterThanOrEqual(Math.min(asked, DAY))
        expect(delay).toBeLessThanOrEqual(Math.max(without, Math.round(DAY * 1.1)))
      }),
    )
  })

  test.each([-1, Number.NaN, 0, null, undefined])('[T4] %s requests nothing', (asked) => {
    expect(nextDelay(RETRY_PROFILES.STEP, 1, 0.5, asked)).toBe(1_000)
  })

  test('[T6] the same arguments give the same delay', () => {
    fc.assert(
      fc.property(policy, fc.nat(19), jitter, (one, index, chance) => {
        expect(nextDelay(one, index + 1, chance)).toBe(nextDelay(one, index + 1, chance))
      }),
    )
  })
})

describe('backoffDelays', () => {
  test.each([
    ['exponential', 2, 15 * MINUTE, 6, [1_000, 2_000, 4_000, 8_000, 16_000]],
    ['exponential', 1.5, 15 * MINUTE, 5, [1_000, 1_500, 2_250, 3_375]],
    ['exponential', 10, MINUTE, 5, [1_000, 10_000, 60_000, 60_000]],
    ['linear', 2, 3_000, 6, [1_000, 2_000, 3_000, 3_000, 3_000]],
    ['fixed', 2, HOUR, 4, [1_000, 1_000, 1_000]],
    ['fixed', 2, HOUR, 1, []],
  ] as const)('[T8] %s by %d up to %i ms, %i attempts', (shape, factor, maxMs, attempts, delays) => {
    expect(backoffDelays({ shape, firstMs: 1_000, factor, maxMs }, attempts)).toEqual(delays)
  })

  test('[T8] delays are whole, never shrink and never exceed the largest', () => {
    const backoff = fc.record({
      shape: fc.constantFrom('exponential' as const, 'linear' as const, 'fixed' as const),
      firstMs: fc.integer({ min: 1, max: DAY }),
      factor: fc.double({ min: 1, max: 100, noNaN: true }),
      maxMs: fc.integer({ min: DAY, max: 7 * DAY }),
    })
    fc.assert(
      fc.property(backoff, fc.integer({ min: 1, max: 100 }), (one, attempts) => {
        const delays = backoffDelays(one, attempts)
        expect(delays).toHaveLength(attempts - 1)
        expect(delays.every((delay) => Number.isInteger(delay) && delay <= one.maxMs)).toBe(true)
        expect(delays.toSorted((a, b) => a - b)).toEqual(delays)
      }),
    )
  })
})
