import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../foundation/time/index.ts'
import {
  giveBack,
  type HostBucket,
  hostAllows,
  nextTokensAt,
  refill,
  stepHost,
  take,
  whole,
} from './index.ts'

const POLICY = { profile: null, perMinute: 60, burst: 5 }

describe('tokens', () => {
  test('[PA7] accrue evenly, up to the burst', () => {
    expect(whole(refill({ count: 0, at: 0 }, 999, POLICY))).toBe(0)
    expect(whole(refill({ count: 0, at: 0 }, 1_000, POLICY))).toBe(1)
    expect(whole(refill({ count: 0, at: 0 }, 60_000, POLICY))).toBe(5)
    expect(refill({ count: 2, at: 5_000 }, 1_000, POLICY)).toEqual({ count: 2, at: 5_000 })
  })

  test('[PA7] unused tokens are returned, and calls that could not ask are owed', () => {
    expect(giveBack({ count: 4.5, at: 0 }, 1, POLICY).count).toBe(5)
    const owing = take({ count: 0, at: 0 }, 2)
    expect(whole(owing)).toBe(0)
    expect(nextTokensAt(owing, POLICY)).toBe(3_000)
  })

  test('[PA7] in any time at most burst + rate × time are taken, and a caller that waits as instructed gets one', () => {
    const policy = fc.record({
      profile: fc.constant(null),
      perMinute: fc.integer({ min: 1, max: 100_000 }),
      burst: fc.integer({ min: 1, max: 1_000 }),
    })
    fc.assert(
      fc.property(policy, fc.array(fc.tuple(fc.nat(5_000), fc.nat(50)), { maxLength: 60 }), (one, asks) => {
        let at = 0
        let tokens = { count: one.burst, at }
        let taken = 0
        for (const [gap, wanted] of asks) {
          at += gap
          tokens = refill(tokens, at, one)
          const got = Math.min(wanted, whole(tokens))
          tokens = take(tokens, got)
          taken += got
          expect(taken).toBeLessThanOrEqual(one.burst + (at * one.perMinute) / MINUTE + 1e-3)
        }
        const later = Math.max(at, nextTokensAt(tokens, one))
        expect(whole(refill(tokens, later, one))).toBeGreaterThanOrEqual(1)
      }),
    )
  })

  test('[PA18] tokens that accrue quickly are waited for in groups', () => {
    expect(nextTokensAt({ count: 0, at: 0 }, { profile: null, perMinute: 60_000, burst: 1_000 })).toBe(50)
    expect(nextTokensAt({ count: 0, at: 0 }, { profile: null, perMinute: 60_000, burst: 1 })).toBe(1)
  })
})

describe('the bucket of a host', () => {
  const limited = (at: number, retryAfterMs: number | null) =>
    ({ type: 'limited', at, retryAfterMs, jitter: 0 }) as const
  const CLOSED: HostBucket = { closedUntil: 10_000, triedBy: null }

  test.each([
    [null, MINUTE],
    [0, SECOND],
    [7_000, 7_000],
    [400 * 24 * 60 * MINUTE, 24 * 60 * MINUTE],
  ])('[PA8] a refusal that asks for %s ms closes it for %i', (asked, ms) => {
    expect(stepHost(null, limited(5, asked))).toEqual({ closedUntil: 5 + ms, triedBy: null })
  })

  test('[PA8] a later refusal only extends the time', () => {
    expect(stepHost(CLOSED, limited(1_000, 2_000))).toEqual(CLOSED)
    expect(stepHost(CLOSED, limited(9_000, 2_000))).toEqual({ closedUntil: 11_000, triedBy: null })
  })

  test('[PA9] when its time is over one call is tried, and the others continue after its response', () => {
    expect(hostAllows(null, 0)).toBe('all')
    expect(hostAllows(CLOSED, 9_999)).toBe('none')
    expect(hostAllows(CLOSED, 10_000)).toBe('one')
    const tried = stepHost(CLOSED, { type: 'tried', by: 'w1' })
    expect(hostAllows(tried, 10_000)).toBe('none')
    expect(stepHost(tried, { type: 'answered', at: 10_001, by: 'w0' })).toBe(tried)
    expect(stepHost(tried, { type: 'answered', at: 10_001, by: 'w1' })).toBeNull()
    expect(hostAllows(stepHost(tried, { type: 'let-go', by: 'w1' }), 10_000)).toBe('one')
    expect(stepHost(tried, { type: 'let-go', by: 'w0' })).toBe(tried)
    expect(hostAllows(stepHost(tried, limited(10_001, 1_000)), 10_500)).toBe('none')
  })

  test('[PA8] one refusal closes nothing: another call is tried immediately', () => {
    const refused = (at: number, by: string) =>
      ({ type: 'refused', at, retryAfterMs: 5_000, jitter: 0, by }) as const
    const suspected = stepHost(null, refused(100, 'w1'))
    expect(hostAllows(suspected, 100)).toBe('one')
    // A concurrent call extends the requested delay, and closes nothing.
    const more = stepHost(suspected, refused(200, 'w2'))
    expect(hostAllows(more, 200)).toBe('one')
    const tried = stepHost(more, { type: 'tried', by: 'w3' })
    expect(hostAllows(tried, 210)).toBe('none')
    expect(stepHost(tried, { type: 'answered', at: 220, by: 'w3' })).toBeNull()
    const closed = stepHost(tried, refused(220, 'w3'))
    expect(closed).toEqual({ closedUntil: 5_220, triedBy: null })
    expect(hostAllows(closed, 5_219)).toBe('none')
    expect(hostAllows(closed, 5_220)).toBe('one')
    // Long after the first refusal, another one counts as first again.
    const later = stepHost(suspected, refused(600_000, 'w9'))
    expect(hostAllows(later, 600_000)).toBe('one')
    expect(stepHost(later, { type: 'tried', by: 'w10' })).toMatchObject({ suspectedUntil: 605_000 })
  })

  test('[PA9] a storm costs one call per opening, for any number of callers', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3_000), { maxLength: 100 }), (gaps) => {
        let at = 0
        let bucket: HostBucket = null
        let calls = 0
        let opening = -1
        for (const [index, gap] of gaps.entries()) {
          at += gap
          if (hostAllows(bucket, at) === 'none') continue
          const until: number = bucket?.closedUntil ?? 0
          expect(until).not.toBe(opening)
          opening = until
          calls += 1
          bucket = stepHost(stepHost(bucket, { type: 'tried', by: `w${index}` }), limited(at, 2_000))
        }
        expect(calls).toBeLessThanOrEqual(1 + at / 2_000)
      }),
    )
  })
})
