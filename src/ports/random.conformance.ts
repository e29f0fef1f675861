// What every source of randomness must do (docs/spec/ports.md).

import { describe, expect, test } from 'vitest'
import type { Random } from './random.ts'

export function randomConformance(name: string, makeHarness: () => Random): void {
  describe(`random: ${name}`, () => {
    test('[P6] bytes has the requested length, also beyond any pool', () => {
      const random = makeHarness()
      for (const length of [0, 1, 16, 2_048, 4_097, 100_000])
        expect(random.bytes(length)).toHaveLength(length)
    })

    test('[P7] bytes are the caller’s own: later calls neither repeat nor change them', () => {
      const random = makeHarness()
      const seen = new Set<string>()
      const first = random.bytes(16)
      const copy = Buffer.from(first).toString('hex')
      for (let round = 0; round < 2_000; round += 1) seen.add(Buffer.from(random.bytes(16)).toString('hex'))
      expect(seen.size).toBe(2_000)
      expect(seen.has(copy)).toBe(false)
      expect(Buffer.from(first).toString('hex')).toBe(copy)
    })

    test('[P8] unit lies in [0, 1) and spreads over it', () => {
      const random = makeHarness()
      const buckets = new Array<number>(10).fill(0)
      for (let round = 0; round < 20_000; round += 1) {
        const value = random.unit()
        expect(value >= 0 && value < 1).toBe(true)
        buckets[Math.floor(value * 10)]! += 1
      }
      // 2,000 expected with a deviation of 42: twelve of them away is not chance.
      for (const count of buckets) expect(Math.abs(count - 2_000)).toBeLessThan(500)
    })
  })
}
