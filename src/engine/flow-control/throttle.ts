// Limits how often a repeatedly requested call runs.

import type { EngineDeps } from '../config.ts'

/** Calls at once, and then at most once per interval, the last time after the last request. */
export function makeThrottled(
  clock: Pick<EngineDeps['clock'], 'after'>,
  everyMs: number,
  call: () => void,
): () => void {
  let isResting = false
  let isAgain = false
  const rest = () => {
    isResting = true
    clock.after(everyMs, () => {
      isResting = false
      if (!isAgain) return
      isAgain = false
      call()
      rest()
    })
  }
  return () => {
    if (isResting) {
      isAgain = true
      return
    }
    call()
    rest()
  }
}
