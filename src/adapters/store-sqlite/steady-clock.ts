// The store's time: the wall clock once, at the start, and from then on a monotonic clock.
//
// Leases, windows and call timeouts are measured by it. By the wall clock, setting it forward would end a lease under a
// call that is still open, and setting it back would stop every retry.

import type { Instant } from '../../core/foundation/time/index.ts'

export function makeSteadyClock(sources: {
  /** The instant of the last durable group: time never goes behind it. */
  readonly notBefore: Instant
  wall(): Instant
  monotonic(): number
}): () => Instant {
  const base = Math.max(sources.notBefore, sources.wall()) - sources.monotonic()
  let last = sources.notBefore
  return () => {
    last = Math.max(last, Math.floor(base + sources.monotonic()))
    return last
  }
}
