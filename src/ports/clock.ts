// Time for all code that may not read it by itself.

import type { Instant } from '../core/foundation/time/index.ts'

export interface Clock {
  /** Wall clock. */
  now(): Instant
  /** Milliseconds that only grow; for measuring, never for storing. */
  monotonic(): number
  /** Calls back once after `delayMs`; the result cancels it. */
  after(delayMs: number, callback: () => void): () => void
  /** Calls back after what is runnable now. */
  defer(callback: () => void): void
}
