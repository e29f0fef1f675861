import { describe, expect, test } from 'vitest'
import { crashAt, crashEverywhere } from './crash-everywhere.ts'
import type { StoreKind } from './data.ts'

describe.each<StoreKind>(['memory', 'sqlite'])('on %s', (store) => {
  test.each([
    [false, 'once'],
    [true, 'and again while it recovers'],
  ])(
    '[N1] [N2] [N3] [N4] [N5] [N12] the node may die anywhere, %s (%s)',
    { timeout: 120_000 },
    async (twice) => {
      const { points, runs, crashes, failures } = await crashEverywhere(store, twice)
      expect(failures).toEqual([])
      expect(points).toBeGreaterThan(100)
      // Every point was a crash of its own, but for the last claims: the run is over before they are made.
      expect(crashes).toBeGreaterThan(runs - 10)
    },
  )

  test('the scenario meets what a crash can spoil', async () => {
    const { report } = await crashAt(store, [])
    const { effects, probes, parked, skipped, deadLetters, secondSends } = report.counts
    for (const count of [effects, probes, parked, skipped, deadLetters, secondSends]) {
      expect(count).toBeGreaterThan(0)
    }
  })
})
