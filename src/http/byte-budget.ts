// How many bytes of request bodies the node holds at once: received and not answered yet, whoever sent them. What would pass the
// limit is refused with 503, so that no number of senders fills the memory.
//
// Invariants: B1 `held` never passes the limit. B2 every byte that was taken is released once.

import { AppError } from '../core/errors/index.ts'

export interface ByteBudget {
  /** False: there is no room, and nothing was taken. */
  take(bytes: number): boolean
  release(bytes: number): void
  readonly held: number
}

export function makeByteBudget(bytesMax: number): ByteBudget {
  let held = 0
  return {
    take(bytes) {
      if (held + bytes > bytesMax) return false
      held += bytes
      return true
    },
    release(bytes) {
      held -= bytes
    },
    get held() {
      return held
    },
  }
}

export function overBudget(): AppError {
  return new AppError(
    'overloaded',
    'the node holds as many bytes of requests as `MILLRACE_BODIES_LIMIT` allows',
  )
}
