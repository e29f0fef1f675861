// The store's time: the wall clock once, at the start, and from then on a clock that cannot be set.
//
// Leases, windows and the time that a vendor is given are measured by it. Were it the wall clock, somebody who sets that
// forward would end a lease under a call that is still open, and set back would stop every retry.

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
