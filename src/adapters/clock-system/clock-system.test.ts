import { expect, test, vi } from 'vitest'
import { clockConformance } from '../../ports/clock.conformance.ts'
import { makeSystemClock } from './index.ts'

clockConformance('system clock', () => ({
  clock: makeSystemClock(),
  advance: (ms) => new Promise((resolve) => setTimeout(resolve, ms + 2)),
}))

test('a wait longer than a timer can hold consists of several', () => {
  vi.useFakeTimers()
  try {
    const day = 86_400_000
    const called = vi.fn()
    const cancelled = vi.fn()
    makeSystemClock().after(60 * day, called)
    const cancel = makeSystemClock().after(60 * day, cancelled)
    vi.advanceTimersByTime(59 * day)
    expect(called).not.toHaveBeenCalled()
    cancel()
    vi.advanceTimersByTime(day)
    expect(called).toHaveBeenCalledTimes(1)
    expect(cancelled).not.toHaveBeenCalled()
  } finally {
    vi.useRealTimers()
  }
})
