// The rate limits of triggers. Beyond it an event waits for a permit reserved for it: the token count goes below zero,
// and later events wait behind, unless the trigger rejects them. Nothing is dropped, and no event asks twice. A single node has the tokens in memory;
// nodes that share a store reserve them in a shared record.

import type { RatePolicy } from '../../../core/definitions/documents/index.ts'
import { refill, type Tokens, take, whole } from '../../../core/flow-control/rate/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { MINUTE } from '../../../core/foundation/time/index.ts'
import type { StoreTime } from '../../commit/index.ts'
import type { SharedPermits } from '../../flow-control/index.ts'

export interface TriggerRates {
  /**
   * Takes a token, or reserves one. 0: it is available; otherwise the delay until it is. null: that is longer than
   * `withinMs`, and none is reserved.
   */
  book(
    tenant: TenantId,
    trigger: string,
    policy: RatePolicy,
    withinMs: number,
  ): number | null | Promise<number | null>
}

/** `sharedPermits`: permits shared by all nodes; null: this is the only node. */
export function makeTriggerRates(deps: {
  readonly time: StoreTime
  readonly sharedPermits: SharedPermits | null
}): TriggerRates {
  const { sharedPermits } = deps
  if (sharedPermits !== null)
    return {
      book(tenant, trigger, policy, withinMs) {
        const name = { tenant, key: `trigger/${trigger}` }
        if (withinMs === Number.POSITIVE_INFINITY) return sharedPermits.book(name, policy)
        return sharedPermits.bookWithin(name, policy, withinMs)
      },
    }
  const all = new Map<string, Tokens>()
  return {
    book(tenant, trigger, policy, withinMs) {
      const name = `${tenant}/${trigger}`
      const now = deps.time.now()
      // A node that restarts repeatedly must not get a whole burst each time.
      const tokens = refill(all.get(name) ?? { count: 1, at: now }, now, policy)
      const delayMs =
        whole(tokens) >= 1
          ? 0
          : Math.ceil(((1 - tokens.count) * MINUTE) / policy.perMinute) + Math.max(0, tokens.at - now)
      if (delayMs > withinMs) return null
      all.set(name, take(tokens, 1))
      return delayMs
    },
  }
}
