// The machine's clock and timers. Timers do not keep the process alive.

import type { Clock } from '../../ports/clock.ts'

/** Node fires at once when asked for more, so a longer wait consists of several. */
const TIMER_MS_MAX = 2_147_483_647

export function makeSystemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after: (delayMs, callback) => {
      let timer: NodeJS.Timeout
      const wait = (leftMs: number) => {
        const sliceMs = Math.min(leftMs, TIMER_MS_MAX)
        timer = setTimeout(() => (leftMs > sliceMs ? wait(leftMs - sliceMs) : callback()), sliceMs).unref()
      }
      wait(delayMs)
      return () => clearTimeout(timer)
    },
    defer: (callback) => {
      setImmediate(callback)
    },
  }
}
