// The store's time, as this node knows it: what the store said last, carried on by the node's own monotonic clock.
//
// Instants that the store wrote (when a call may last have begun, when an item expires) are compared with this and never
// with the wall clock of this machine, which may be minutes off or jump. Invariant: never ahead of the store's own
// clock, so that nobody asks a vendor before it had its time.

import type { Instant } from '../../core/foundation/time/index.ts'
import type { Clock } from '../../ports/clock.ts'

export interface StoreTime {
  now(): Instant
  /** The store said that its clock is `at`. */
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
