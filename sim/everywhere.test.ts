import { expect, test } from 'vitest'
import { runScript, tryEverywhere } from './everywhere.ts'
import type { Mishap } from './faults.ts'

// Here on memory, and the worst two; `everywhere.slow.test.ts` has all of them, on both stores, and twice.
test.each<Mishap>(['crash-after', 'unanswered'])(
  '[N1] [N2] [N3] [N4] [N5] [N6] [N12] every point of a run survives: %s',
  { timeout: 120_000 },
  async (mishap) => {
    const { points, runs, crashes, failures } = await tryEverywhere('memory', mishap, false)
    expect(failures).toEqual([])
    expect(points).toBeGreaterThan(100)
    // The last operations are asked for when the run is over.
    if (mishap.startsWith('crash')) expect(crashes).toBeGreaterThan(runs - 10)
  },
)

test('the scenario meets what a mishap can spoil', async () => {
  const { report } = await runScript('memory', new Map())
  const { effects, probes, parked, skipped, deadLetters, secondSends, replays, resolved } = report.counts
  for (const count of [effects, probes, parked, skipped, deadLetters, secondSends, replays, resolved]) {
    expect(count).toBeGreaterThan(0)
  }
})
