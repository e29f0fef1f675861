import { expect, test } from 'vitest'
import { runningBytesOf } from './heap-share.ts'

const MIB = 1_048_576

test('[O4] a small heap leaves room for what a node needs besides events in memory, and a large one for an eighth of itself', () => {
  // `--max-old-space-size=128` and smaller: a few events of 1 MB, with five times their size for what is made of them.
  for (const heap of [96, 128, 176]) expect(runningBytesOf(heap * MIB)).toBe(4 * MIB)
  for (const heap of [256, 304, 560, 2_096, 4_144]) {
    const bytes = runningBytesOf(heap * MIB)
    expect(bytes).toBeGreaterThan(4 * MIB)
    expect(bytes * 5).toBeLessThan((heap - 100) * MIB)
  }
  expect(runningBytesOf(4_144 * MIB)).toBe(500 * MIB)
})
