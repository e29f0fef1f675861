// What every clock must do (docs/spec/ports.md).

import { describe, expect, test } from 'vitest'
import type { Clock } from './clock.ts'

export interface ClockHarness {
  readonly clock: Clock
  /** Lets this much of the clock's time pass. */
  advance(ms: number): Promise<void>
}

export function clockConformance(name: string, makeHarness: () => ClockHarness): void {
  describe(`clock: ${name}`, () => {
    test('[P1] now is whole milliseconds of the wall clock and moves', async () => {
      const { clock, advance } = makeHarness()
      const before = clock.now()
      await advance(5)
      expect(Number.isSafeInteger(before)).toBe(true)
      expect(clock.now()).toBeGreaterThanOrEqual(before + 4)
    })

    test('[P2] monotonic never goes back', async () => {
      const { clock, advance } = makeHarness()
      let last = clock.monotonic()
      for (let round = 0; round < 100; round += 1) {
        const next = clock.monotonic()
        expect(next).toBeGreaterThanOrEqual(last)
        last = next
      }
      await advance(5)
      expect(clock.monotonic()).toBeGreaterThanOrEqual(last + 4)
    })

    test('[P3] after calls back once, and not before its delay', async () => {
      const { clock, advance } = makeHarness()
      const calls: number[] = []
      const start = clock.monotonic()
      clock.after(10, () => calls.push(clock.monotonic() - start))
      expect(calls).toEqual([])
      await advance(15)
      expect(calls).toHaveLength(1)
      expect(calls[0]).toBeGreaterThanOrEqual(9)
      await advance(15)
      expect(calls).toHaveLength(1)
    })

    test('[P4] a cancelled callback never comes; cancelling again or late does nothing', async () => {
      const { clock, advance } = makeHarness()
      let calls = 0
      const cancel = clock.after(5, () => {
        calls += 1
      })
      cancel()
      cancel()
      const late = clock.after(1, () => {
        calls += 10
      })
      await advance(10)
      late()
      expect(calls).toBe(10)
    })

    test('[P5] deferred callbacks run after what is runnable now, in order', async () => {
      const { clock, advance } = makeHarness()
      const seen: string[] = []
      clock.defer(() => seen.push('first'))
      clock.defer(() => seen.push('second'))
      queueMicrotask(() => seen.push('microtask'))
      seen.push('now')
      await advance(5)
      expect(seen).toEqual(['now', 'microtask', 'first', 'second'])
    })
  })
}
