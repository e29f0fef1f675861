import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  applyResponse,
  bucketAllows,
  bucketOpensAt,
  enterBucket,
  leaveBucket,
  OPEN_BUCKET,
  readLimits,
} from './index.ts'

const NOW = 1_700_000_000_000
const POLICY = { perMinute: 60, burst: 5 }
const limits = (remaining: number, resetAt: number) => ({
  limit: null,
  remaining,
  resetAt,
  retryAfterMs: null,
})
const answer = (known: Partial<Parameters<typeof applyResponse>[2]> = {}) => ({
  at: NOW,
  by: 'a',
  isLimited: false,
  limits: null,
  jitter: 0,
  ...known,
})

describe('a response’s rate-limit headers', () => {
  test.each([
    [
      { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '12', 'x-ratelimit-reset': '30' },
      60,
      12,
      NOW + 30_000,
    ],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW / 1_000 + 90) }, null, 0, NOW + 90_000],
    [{ 'x-ratelimit-remaining': '3', 'x-ratelimit-reset': String(NOW + 5_000) }, null, 3, NOW + 5_000],
    [
      { 'ratelimit-limit': '600', 'ratelimit-remaining': '599', 'ratelimit-reset': String(NOW / 1_000 + 60) },
      600,
      599,
      NOW + 60_000,
    ],
    [{ 'ratelimit-remaining': '5', 'ratelimit-reset': '7' }, null, 5, NOW + 7_000],
    [{ ratelimit: 'limit=100, remaining=50, reset=5' }, 100, 50, NOW + 5_000],
    [{ ratelimit: '"default";r=50;t=30', 'ratelimit-policy': '"default";q=100;w=60' }, 100, 50, NOW + 30_000],
    [
      { ratelimit: '"a";r=50;t=30, "b";r=2;t=900', 'ratelimit-policy': '"a";q=9, "b";q=10' },
      10,
      2,
      NOW + 900_000,
    ],
    [{ 'x-ratelimit-remaining-requests': '9', 'x-ratelimit-reset-requests': '6m0s' }, null, 9, NOW + 360_000],
    [{ 'x-ratelimit-remaining-requests': '9', 'x-ratelimit-reset-requests': '120ms' }, null, 9, NOW + 120],
    [{ 'x-ratelimit-remaining': '4' }, null, 4, null],
  ])('[RB3] %j', (headers, limit, remaining, resetAt) => {
    expect(readLimits(headers as unknown as Record<string, string>, NOW)).toEqual({
      limit,
      remaining,
      resetAt,
      retryAfterMs: null,
    })
  })

  test('[RB3] headers that do not parse are ignored', () => {
    expect(readLimits({ ratelimit: 'soon', 'x-ratelimit-remaining': 'many' }, NOW)).toBeNull()
    expect(readLimits({ 'retry-after': '3' }, NOW)).toMatchObject({ retryAfterMs: 3_000, remaining: null })
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom('ratelimit', 'ratelimit-policy', 'x-ratelimit-remaining', 'x-ratelimit-reset'),
          fc.string(),
        ),
        (headers) => {
          const read = readLimits(headers, NOW)
          if (read !== null) expect(read.remaining === null || read.remaining >= 0).toBe(true)
        },
      ),
    )
  })
})

describe('a bucket', () => {
  test('[RB1] allows what its document allows', () => {
    let bucket = enterBucket(OPEN_BUCKET, POLICY, NOW, 'a')
    expect(bucketAllows(bucket, POLICY, NOW)).toBe(0)
    expect(bucketOpensAt(bucket, POLICY, NOW)).toBe(NOW + 1_000)
    expect(bucketAllows(bucket, POLICY, NOW + 60_000)).toBe(5)
    bucket = leaveBucket(bucket, POLICY, NOW, 'a')
    expect(bucketAllows(bucket, POLICY, NOW)).toBe(1)
    expect(bucketAllows(OPEN_BUCKET, null, NOW)).toBe(Number.POSITIVE_INFINITY)
  })

  test('[RB1] [RB3] allows no more than the other side has left, until its window ends', () => {
    const told = applyResponse(OPEN_BUCKET, null, answer({ limits: limits(2, NOW + 10_000) }))
    expect(bucketAllows(told, null, NOW)).toBe(2)
    const spent = enterBucket(enterBucket(told, null, NOW, 'a'), null, NOW, 'b')
    expect(bucketAllows(spent, null, NOW)).toBe(0)
    expect(bucketOpensAt(spent, null, NOW)).toBe(NOW + 10_000)
    // Responses arrive in any order.
    expect(
      bucketAllows(applyResponse(spent, null, answer({ limits: limits(1, NOW + 10_000) })), null, NOW),
    ).toBe(0)
    expect(bucketAllows(spent, null, NOW + 10_000)).toBe(Number.POSITIVE_INFINITY)
    const next = applyResponse(spent, null, answer({ limits: limits(9, NOW + 60_000) }))
    expect(bucketAllows(next, null, NOW)).toBe(9)
  })

  test('[RB2] a refusal closes it, and one trial follows', () => {
    const closed = applyResponse(
      OPEN_BUCKET,
      null,
      answer({ isLimited: true, limits: { ...limits(0, NOW + 7_000), retryAfterMs: null } }),
    )
    expect(bucketAllows(closed, null, NOW + 6_999)).toBe(0)
    expect(bucketOpensAt(closed, null, NOW)).toBe(NOW + 7_000)
    expect(bucketAllows(closed, null, NOW + 7_000)).toBe(1)
    const tried = enterBucket(closed, null, NOW + 7_000, 'b')
    expect(bucketAllows(tried, null, NOW + 7_000)).toBe(0)
    expect(
      bucketAllows(applyResponse(tried, null, answer({ at: NOW + 7_100, by: 'x' })), null, NOW + 7_100),
    ).toBe(0)
    expect(
      bucketAllows(applyResponse(tried, null, answer({ at: NOW + 7_100, by: 'b' })), null, NOW + 7_100),
    ).toBe(Number.POSITIVE_INFINITY)
    expect(bucketAllows(leaveBucket(tried, null, NOW + 7_100, 'b'), null, NOW + 7_100)).toBe(1)
  })

  test('[RB3] windows of different lengths are independent, and each ends by itself', () => {
    const hour = applyResponse(OPEN_BUCKET, null, answer({ limits: limits(4_000, NOW + 3_600_000) }))
    const both = applyResponse(hour, null, answer({ at: NOW + 1, limits: limits(0, NOW + 60_000) }))
    expect(bucketAllows(both, null, NOW + 2)).toBe(0)
    expect(bucketOpensAt(both, null, NOW + 2)).toBe(NOW + 60_000)
    expect(bucketAllows(both, null, NOW + 60_000)).toBe(4_000)
    const spent = enterBucket(both, null, NOW + 60_000, 'a')
    expect(bucketAllows(spent, null, NOW + 60_000)).toBe(3_999)
    // A sliding window replaces itself, and the hourly one stays.
    let sliding = applyResponse(OPEN_BUCKET, null, answer({ limits: limits(2, NOW + 3_600_000) }))
    for (let at = NOW; at < NOW + 30_000; at += 3_000)
      sliding = applyResponse(sliding, null, answer({ at, limits: limits(50, at + 60_000) }))
    expect(sliding.windows).toHaveLength(2)
    expect(bucketAllows(sliding, null, NOW + 30_000)).toBe(2)
  })

  test('[RB2] a call that bypasses the bucket before its time, such as a probe, opens nothing', () => {
    const asked = { ...limits(0, NOW), remaining: null, resetAt: null, retryAfterMs: 3_600_000 }
    const closed = applyResponse(OPEN_BUCKET, null, answer({ isLimited: true, limits: asked }))
    const passing = enterBucket(closed, null, NOW + 1_000, '')
    const passed = applyResponse(passing, null, answer({ at: NOW + 1_100, by: '' }))
    expect(bucketAllows(passed, null, NOW + 1_200)).toBe(0)
    expect(bucketOpensAt(passed, null, NOW + 1_200)).toBe(NOW + 3_600_000)
    expect(bucketAllows(passed, null, NOW + 3_600_000)).toBe(1)
  })

  test('[RB1] [RB2] over any calls: never more than the policy, none while it is closed', () => {
    const step = fc.record({
      gap: fc.nat(3_000),
      isLimited: fc.boolean(),
      remaining: fc.option(fc.nat(5), { nil: null }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        let at = NOW
        let bucket = OPEN_BUCKET
        let taken = 0
        let closedUntil = 0
        for (const [index, { gap, isLimited, remaining }] of steps.entries()) {
          at += gap
          if (bucketAllows(bucket, POLICY, at) < 1) {
            const opensAt = bucketOpensAt(bucket, POLICY, at)
            if (opensAt !== null) expect(opensAt).toBeGreaterThan(at - 1)
            continue
          }
          expect(at).toBeGreaterThanOrEqual(closedUntil)
          const by = `w${index}`
          bucket = enterBucket(bucket, POLICY, at, by)
          taken += 1
          const said = remaining === null ? null : limits(remaining, at + 2_000)
          bucket = applyResponse(bucket, POLICY, { at, by, isLimited, limits: said, jitter: 0 })
          if (isLimited) closedUntil = bucket.closed?.closedUntil ?? 0
          expect(taken).toBeLessThanOrEqual(POLICY.burst + ((at - NOW) * POLICY.perMinute) / 60_000 + 1e-3)
        }
      }),
    )
  })
})
