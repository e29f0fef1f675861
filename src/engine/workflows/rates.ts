// The rate limits of triggers, in this node's memory. Over it an event waits for a token that is booked for it: the tokens go
// below nothing, and whoever comes later waits behind. Nothing is dropped, and nobody asks twice.

import type { RatePolicy } from '../../core/definition/index.ts'
import { refill, type Tokens, take, whole } from '../../core/rate/index.ts'
import { MINUTE } from '../../core/time/index.ts'
import type { StoreTime } from '../store-time.ts'

export interface TriggerRates {
  /** Takes a token, or books one. 0: it is there; otherwise so long until it is. */
  book(name: string, policy: RatePolicy): number
}

export function makeTriggerRates(deps: { readonly time: StoreTime }): TriggerRates {
  const all = new Map<string, Tokens>()
  return {
    book(name, policy) {
      const now = deps.time.now()
      // A node that starts again and again must not have a whole burst each time.
      const tokens = refill(all.get(name) ?? { count: 1, at: now }, now, policy)
      all.set(name, take(tokens, 1))
      if (whole(tokens) >= 1) return 0
      return Math.ceil(((1 - tokens.count) * MINUTE) / policy.perMinute) + Math.max(0, tokens.at - now)
    },
  }
}
