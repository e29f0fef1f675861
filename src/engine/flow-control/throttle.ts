// What may be asked for again and again, and is done no more often than so.

import type { EngineDeps } from '../config.ts'

/** Calls at once, and then at most every so often, the last time after the last call. */
export function makePaced(
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
