import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EMPTY_LOG, mergeLogs, RECENT_MAX, type Rejection, type RejectionLog } from './index.ts'

const rejection = fc.record<Rejection>({
  id: fc.uuid(),
  at: fc.nat(1_000),
  source: fc.constantFrom('shop', 'github'),
  reason: fc.constantFrom('signature_wrong', 'not_json', 'rate_limited'),
  status: fc.constant(400),
  address: fc.ipV4(),
  detail: fc.string(),
})
const logOf = (one: Rejection): RejectionLog => ({
  recent: [one],
  counts: [{ reason: one.reason, count: 1, latestAt: one.at }],
})

test('[GU21] the newest are stored and all are counted, in any order of merging', () => {
  fc.assert(
    fc.property(fc.array(rejection, { maxLength: 3 * RECENT_MAX }), fc.nat(), (all, cut) => {
      const half = all.length === 0 ? 0 : cut % all.length
      const join = (list: readonly Rejection[]) => list.map(logOf).reduce(mergeLogs, EMPTY_LOG)
      const one = mergeLogs(join(all.slice(0, half)), join(all.slice(half)))
      expect(mergeLogs(join(all.slice(half)), join(all.slice(0, half)))).toEqual(one)
      expect(one.recent).toHaveLength(Math.min(all.length, RECENT_MAX))
      const oldestKept = Math.min(...one.recent.map(({ at }) => at))
      const dropped = all.filter(({ id }) => !one.recent.some((kept) => kept.id === id))
      expect(dropped.every(({ at }) => at <= oldestKept)).toBe(true)
      expect(one.counts.reduce((sum, { count }) => sum + count, 0)).toBe(all.length)
      for (const { reason, count, latestAt } of one.counts) {
        const same = all.filter((other) => other.reason === reason)
        expect([count, latestAt]).toEqual([same.length, Math.max(...same.map(({ at }) => at))])
      }
    }),
    { numRuns: 30 },
  )
})

test('[GU21] one that is merged twice is listed once', () => {
  const log = logOf({ id: 'a', at: 1, source: 's', reason: 'r', status: 400, address: '', detail: '' })
  expect(mergeLogs(log, log).recent).toHaveLength(1)
})
