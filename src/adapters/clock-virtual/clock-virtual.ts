// A clock whose time moves only when it is told to, from timer to timer, in a fixed order: by time, then by the order in which they were
// set. Between two timers everything runs that can, so that what happens depends on no machine's speed.

import type { Instant } from '../../core/foundation/time/index.ts'
import type { Clock } from '../../ports/clock.ts'

export interface VirtualClock extends Clock {
  /**
   * Lets everything run that can, and then this much time pass. Ends early as soon as `isOver` says so: it is asked whenever nothing more
   * can run without time.
   */
  advance(ms: number, isOver?: () => boolean | Promise<boolean>): Promise<void>
}

export interface VirtualClockOptions {
  readonly startAt: Instant
  /**
   * Resolves when no promise is left that settles by itself, or as soon as something is deferred. Left out: one turn of the event loop,
   * which suits code without I/O.
   */
  settle?(isDeferred: () => boolean): Promise<void>
}

interface Timer {
  readonly at: Instant
  readonly order: number
  readonly fire: () => void
}

export function makeVirtualClock({ startAt, settle = turn }: VirtualClockOptions): VirtualClock {
  let now = startAt
  let order = 0
  let deferred: (() => void)[] = []
  const timers = new Set<Timer>()

  const isDeferred = () => deferred.length > 0

  const calm = async () => {
    await settle(isDeferred)
    while (isDeferred()) {
      const callbacks = deferred
      deferred = []
      for (const callback of callbacks) callback()
      await settle(isDeferred)
    }
  }

  const next = (): Timer | null => {
    let first: Timer | null = null
    for (const timer of timers)
      if (first === null || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer
    return first
  }

  return {
    now: () => now,
    monotonic: () => now - startAt,
    after(delayMs, callback) {
      const timer: Timer = { at: now + Math.max(0, Math.ceil(delayMs)), order: order++, fire: callback }
      timers.add(timer)
      return () => {
        timers.delete(timer)
      }
    },
    defer: (callback) => {
      deferred.push(callback)
    },
    async advance(ms, isOver = () => false) {
      const end = now + ms
      for (;;) {
        await calm()
        if (await isOver()) return
        const timer = next()
        if (timer === null || timer.at > end) break
        timers.delete(timer)
        now = Math.max(now, timer.at)
        timer.fire()
      }
      now = Math.max(now, end)
    },
  }
}

/** One turn of the real loop runs every promise that is settled. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
