import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../foundation/time/index.ts'
import {
  acquirePermits,
  applySharedResponse,
  type BucketAnswer,
  chargeTokens,
  isLimiting,
  NEW_SHARED,
  type PermitRequest,
  type PermitResult,
  permitsMax,
  type SharedBucket,
  sharedLeft,
  shyness,
} from './index.ts'

const POLICY = { perMinute: 60, burst: 5 }
const NOW = 1_700_000_000_000
const FULL: SharedBucket = { ...NEW_SHARED, tokens: { count: 5, at: NOW } }

function draw(
  bucket: SharedBucket,
  over: Partial<PermitRequest> = {},
  policy: typeof POLICY | null = POLICY,
) {
  return acquirePermits(bucket, policy, {
    now: NOW,
    wanted: 1,
    aheadMs: 0,
    by: 'one',
    tryBy: 'one 1',
    ...over,
  })
}

function taken(drawn: PermitResult): Extract<PermitResult, { is: 'drawn' }> {
  if (drawn.is !== 'drawn') throw new Error(`it is ${drawn.is}`)
  return drawn
}

const answer = (over: Partial<BucketAnswer> = {}): BucketAnswer => ({
  at: NOW,
  by: '',
  isLimited: false,
  limits: null,
  jitter: 0,
  ...over,
})

const limits = (remaining: number, resetAt: number) => ({
  limit: null,
  remaining,
  resetAt,
  retryAfterMs: null,
})

describe('a batch of permits', () => {
  test('[PA19] takes the available tokens, and near-future ones for use at their time', () => {
    const drawn = taken(draw(FULL, { wanted: 7, aheadMs: 1_500 }))
    expect(drawn.from).toEqual([NOW, NOW, NOW, NOW, NOW, NOW + SECOND])
    expect(drawn.bucket).toMatchObject({ tokens: { count: -1, at: NOW }, by: ['one'] })
    expect(draw(drawn.bucket, { aheadMs: 500 })).toEqual({ is: 'empty', nextAt: NOW + 1_500 })
    expect(sharedLeft(drawn.bucket, POLICY, NOW + 3 * SECOND)).toBe(2)
  })

  test('[PA19] begins with one token, and not with a burst', () => {
    expect(taken(draw(NEW_SHARED, { wanted: 5 })).from).toEqual([NOW])
  })

  test('[PA19] a node whose clock is behind gets nothing before the time of the record', () => {
    const { bucket } = taken(draw(FULL, { wanted: 5 }))
    expect(draw(bucket, { now: NOW - 10 * SECOND })).toEqual({ is: 'empty', nextAt: NOW + SECOND })
    const ahead = taken(draw(FULL, { now: NOW + 2 * SECOND }))
    expect(draw(ahead.bucket, { wanted: 1, aheadMs: 2 * SECOND })).toMatchObject({ from: [NOW + 2 * SECOND] })
  })

  test('[PA19] a record from a clock that was an hour ahead does not block others for an hour', () => {
    const { bucket } = taken(draw(FULL, { now: NOW + 60 * MINUTE }))
    expect(draw(bucket)).toEqual({ is: 'empty', nextAt: NOW + SECOND })
    const closed = { closedUntil: NOW + 100 * 24 * 60 * MINUTE, triedBy: null }
    expect(draw({ ...FULL, closed })).toMatchObject({ is: 'drawn', isTry: false })
  })

  test('[PA20] takes no more than a second’s flow or an eighth of the burst', () => {
    expect(permitsMax({ perMinute: 6, burst: 1 })).toBe(1)
    expect(permitsMax({ perMinute: 6, burst: 80 })).toBe(10)
    expect(permitsMax({ perMinute: 6_000, burst: 80 })).toBe(100)
    expect(permitsMax(null)).toBeGreaterThan(1)
  })

  test('[PA20] the latest taker gets the smallest share, and a new node does not', () => {
    const by = (bucket: SharedBucket, who: string) => taken(draw(bucket, { by: who })).bucket
    const drawn = ['one', 'two', 'one', 'three'].reduce(by, FULL)
    const order = ['one', 'two', 'three', 'four'].sort((a, b) => shyness(drawn, a) - shyness(drawn, b))
    expect(order).toEqual(['four', 'two', 'one', 'three'])
    expect([shyness(drawn, 'four'), shyness(drawn, 'three')]).toEqual([0, 1])
  })

  test('[DR5] calls that could not ask are counted, and the next ones wait for them', () => {
    const owing = chargeTokens(NEW_SHARED, POLICY, NOW, 3)
    expect(draw(owing)).toEqual({ is: 'empty', nextAt: NOW + 3 * SECOND })
    expect(chargeTokens(FULL, POLICY, NOW, 0)).toBe(FULL)
  })
})

describe('the other side’s limits', () => {
  test('[RB5] permits are taken from what it has left, until its window ends', () => {
    const told = applySharedResponse(NEW_SHARED, null, answer({ limits: limits(2, NOW + 10_000) }))
    expect(isLimiting(NEW_SHARED, null, NOW)).toBe(false)
    expect(isLimiting(told, null, NOW)).toBe(true)
    const drawn = taken(draw(told, { wanted: 9 }, null))
    expect(drawn.from).toHaveLength(2)
    expect(draw(drawn.bucket, {}, null)).toEqual({ is: 'empty', nextAt: NOW + 10_000 })
    expect(isLimiting(drawn.bucket, null, NOW + 10_000)).toBe(false)
  })

  test('[RB5] after a refusal no node takes permits before its time, then one, until that call ends or times out', () => {
    const refusal = answer({ isLimited: true, limits: { ...limits(0, NOW + 7_000) } })
    const closed = applySharedResponse(FULL, POLICY, refusal)
    expect(draw(closed, { now: NOW + 6_999 })).toEqual({ is: 'empty', nextAt: NOW + 7_000 })
    const tried = taken(draw(closed, { now: NOW + 7_000, wanted: 5 }))
    expect(tried).toMatchObject({ isTry: true, from: [NOW + 7_000] })
    expect(draw(tried.bucket, { now: NOW + 7_000, by: 'two' })).toMatchObject({ is: 'tried' })
    const opened = applySharedResponse(tried.bucket, POLICY, answer({ at: NOW + 7_100, by: 'one 1' }))
    expect(draw(opened, { now: NOW + 7_100, wanted: 2 })).toMatchObject({ isTry: false })
    const other = applySharedResponse(tried.bucket, POLICY, answer({ at: NOW + 7_100, by: 'two 1' }))
    expect(draw(other, { now: NOW + 7_100 })).toMatchObject({ is: 'tried' })
    // The node that made the trial is gone.
    expect(draw(tried.bucket, { now: NOW + 60_000, wanted: 5 })).toMatchObject({ isTry: true })
  })

  test('[RB5] of two refusals the stricter holds, in either order', () => {
    const short = answer({ isLimited: true, limits: limits(0, NOW + 5_000) })
    const long = answer({ isLimited: true, limits: limits(0, NOW + 9_000) })
    const one = applySharedResponse(applySharedResponse(FULL, POLICY, short), POLICY, long)
    const other = applySharedResponse(applySharedResponse(FULL, POLICY, long), POLICY, short)
    expect(one.closed?.closedUntil).toBe(NOW + 9_000)
    expect(other.closed?.closedUntil).toBe(NOW + 9_000)
  })
})

describe('over any nodes', () => {
  const policies = fc.record({
    perMinute: fc.integer({ min: 1, max: 100_000 }),
    burst: fc.integer({ min: 1, max: 1_000 }),
  })
  const turns = fc.array(
    fc.record({
      gapMs: fc.nat(3_000),
      /** The offset of this node’s clock. */
      skewMs: fc.integer({ min: -30_000, max: 30_000 }),
      wanted: fc.nat(60),
      aheadMs: fc.constantFrom(0, 500, 60_000),
      owed: fc.constantFrom(0, 0, 0, 2),
    }),
    { minLength: 1, maxLength: 60 },
  )

  test('[PA19] whatever the clocks say, usable permits never exceed burst + rate × time', () => {
    fc.assert(
      fc.property(policies, turns, (policy, all) => {
        let bucket: SharedBucket = NEW_SHARED
        let at = NOW
        let first: number | null = null
        const usable: number[] = []
        for (const { gapMs, skewMs, wanted, aheadMs } of all) {
          at += gapMs
          const now = at + skewMs
          first ??= now
          const drawn = acquirePermits(bucket, policy, { now, wanted, aheadMs, by: 'x', tryBy: 'x 1' })
          if (drawn.is !== 'drawn') continue
          bucket = drawn.bucket
          usable.push(...drawn.from)
        }
        usable.sort((one, other) => one - other)
        usable.forEach((from, index) => {
          const most = policy.burst + ((from - (first ?? from)) * policy.perMinute) / MINUTE
          expect(index + 1).toBeLessThanOrEqual(most + 1e-3)
        })
      }),
    )
  })

  test('[PA19] [PA21] a node that asks again at the announced time gets a permit', () => {
    fc.assert(
      fc.property(policies, turns, (policy, all) => {
        let bucket: SharedBucket = NEW_SHARED
        let now = NOW
        for (const { gapMs, wanted, aheadMs, owed } of all) {
          now += gapMs
          bucket = chargeTokens(bucket, policy, now, owed)
          const request = { wanted, aheadMs, by: 'x', tryBy: 'x 1' }
          let drawn = acquirePermits(bucket, policy, { ...request, now })
          if (drawn.is === 'empty') {
            expect(drawn.nextAt).toBeGreaterThan(now)
            now = drawn.nextAt
            drawn = acquirePermits(bucket, policy, { ...request, now })
          }
          bucket = taken(drawn).bucket
        }
      }),
    )
  })

  test('[RB5] all nodes together take no more of a window than the other side reported as left', () => {
    const steps = fc.array(
      fc.oneof(fc.record({ remaining: fc.nat(50) }), fc.record({ wanted: fc.integer({ min: 1, max: 20 }) })),
      { maxLength: 40 },
    )
    fc.assert(
      fc.property(steps, (all) => {
        let bucket = applySharedResponse(NEW_SHARED, null, answer({ limits: limits(40, NOW + MINUTE) }))
        let left = 40
        for (const step of all) {
          if ('remaining' in step) {
            left = Math.min(left, step.remaining)
            bucket = applySharedResponse(
              bucket,
              null,
              answer({ limits: limits(step.remaining, NOW + MINUTE) }),
            )
            continue
          }
          const drawn = draw(bucket, { wanted: step.wanted }, null)
          const count = drawn.is === 'drawn' ? drawn.from.length : 0
          expect(count).toBeLessThanOrEqual(left)
          left -= count
          if (drawn.is === 'drawn') bucket = drawn.bucket
        }
      }),
    )
  })
})
