// The store's time as this node knows it: the last time the store reported, advanced by the node's own monotonic clock.
//
// Instants that the store wrote (the latest start of a call, the expiry of a job) are compared with this and never with
// the machine's wall clock, which may be minutes off or jump. Invariant: never ahead of the store's own clock, so that
// a vendor is not probed too early.

import type { Instant } from '../../core/foundation/time/index.ts'
import type { Clock } from '../../ports/clock.ts'

export interface StoreTime {
  now(): Instant
  /** The store reported that its clock is `at`. */
  heard(at: Instant): void
}

export function makeStoreTime(clock: Pick<Clock, 'now' | 'monotonic'>): StoreTime {
  let offset: number | null = null
  return {
    now: () => (offset === null ? clock.now() : Math.floor(clock.monotonic() + offset)),
    heard(at) {
      offset = at - clock.monotonic()
    },
  }
}
