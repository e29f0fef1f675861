// Virtual time. It moves only when nothing is runnable, from timer to timer, in a fixed order: by time, then by the
// order in which the timers were set.
//
// After each timer all promises settle that can: a tick runs when no promise is left to settle. Nothing in a simulation waits for
// anything real, so that this is quiescence, and the same every time. An iteration of the real event loop would do the same at several
// times the cost; one is taken now and then, so that messages between processes and signals get through.

import type { Instant } from '../src/core/foundation/time/index.ts'
import type { Clock } from '../src/ports/clock.ts'

export interface VirtualTime {
  /** The true time, which only the store can read inside the simulation. */
  now(): Instant
  after(delayMs: number, callback: () => void): () => void
  /** Fires timers until `isOver`, until the next one is later than `until`, or until there are none. */
  run(until: Instant, isOver: () => boolean): Promise<void>
  /** Timers fired so far. */
  steps(): number
}

const STEPS_PER_TURN = 1_000
const SETTLED = Promise.resolve()

interface Timer {
  readonly at: Instant
  readonly order: number
  callback: (() => void) | null
}

export function makeVirtualTime(startAt: Instant): VirtualTime {
  const heap: Timer[] = []
  let now = startAt
  let order = 0
  let steps = 0

  return {
    now: () => now,
    steps: () => steps,
    after(delayMs, callback) {
      const timer: Timer = { at: now + Math.max(0, Math.ceil(delayMs)), order: order++, callback }
      push(heap, timer)
      return () => {
        timer.callback = null
      }
    },
    run: (until, isOver) =>
      new Promise((resolve, reject) => {
        /** Fires the next timer; false: there is nothing more to do. */
        const step = (): boolean => {
          while (!isOver()) {
            const next = heap[0]
            if (next === undefined || next.at > until) {
              now = Math.max(now, until)
              return false
            }
            pop(heap)
            if (next.callback === null) continue
            now = next.at
            steps += 1
            next.callback()
            return true
          }
          return false
        }
        const stepOn = () => {
          try {
            if (step()) turn()
            else resolve()
          } catch (error) {
            reject(error)
          }
        }
        // A tick that set the next one by itself would come before the promises of its timer: each is set by a promise.
        const inPromise = () => void SETTLED.then(stepOn)
        const turn = () => {
          if (steps % STEPS_PER_TURN === 0) setImmediate(inPromise)
          else process.nextTick(inPromise)
        }
        turn()
      }),
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

function push(heap: Timer[], timer: Timer): void {
  let index = heap.push(timer) - 1
  while (index > 0) {
    const parent = (index - 1) >> 1
    if (!isBefore(timer, heap[parent]!)) break
    heap[index] = heap[parent]!
    index = parent
  }
  heap[index] = timer
}

function pop(heap: Timer[]): void {
  const last = heap.pop()!
  if (heap.length === 0) return
  let index = 0
  for (;;) {
    let child = 2 * index + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1
    if (!isBefore(heap[child]!, last)) break
    heap[index] = heap[child]!
    index = child
  }
  heap[index] = last
}

/** What stands between the world and one life of a node: after a crash nothing passes, in a pause everything waits. */
export interface Gate {
  pass(callback: () => void): void
}

/** A machine's own clock: its wall clock may be wrong and jump, its monotonic one only grows. */
export interface MachineClock {
  jump(ms: number): void
  clockFor(gate: Gate): Clock
}

/** `drift`: by how much its wall clock gains on every millisecond. */
export function makeMachineClock(time: VirtualTime, skewMs: number, drift = 0): MachineClock {
  const since = time.now()
  let skew = skewMs
  return {
    jump(ms) {
      skew += ms
    },
    clockFor(gate) {
      const bootedAt = time.now()
      const after = (delayMs: number, callback: () => void) => {
        let isCancelled = false
        const cancel = time.after(delayMs, () =>
          gate.pass(() => {
            if (!isCancelled) callback()
          }),
        )
        return () => {
          isCancelled = true
          cancel()
        }
      }
      return {
        now: () => time.now() + skew + Math.round((time.now() - since) * drift),
        monotonic: () => time.now() - bootedAt,
        after,
        defer: (callback) => void after(0, callback),
      }
    },
  }
}
