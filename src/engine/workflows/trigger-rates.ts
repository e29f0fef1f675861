// The rate limits of triggers. Over it an event waits for a token that is booked for it: the tokens go below nothing, and whoever comes
// later waits behind. Nothing is dropped, and nobody asks twice. A node that is alone has the tokens in its memory; where nodes share a
// store they are booked in a record that all of them share.

import type { RatePolicy } from '../../core/definitions/documents/index.ts'
import { refill, type Tokens, take, whole } from '../../core/flow-control/rate/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { MINUTE } from '../../core/foundation/time/index.ts'
import type { StoreTime } from '../commit/index.ts'
import type { Draws } from '../flow-control/index.ts'

export interface TriggerRates {
  /** Takes a token, or books one. 0: it is there; otherwise so long until it is. */
  book(tenant: TenantId, trigger: string, policy: RatePolicy): number | Promise<number>
}

/** `draws`: of all nodes; null: this one is alone. */
export function makeTriggerRates(deps: {
  readonly time: StoreTime
  readonly draws: Draws | null
}): TriggerRates {
  const { draws } = deps
  if (draws !== null)
    return { book: (tenant, trigger, policy) => draws.book({ tenant, key: `trigger/${trigger}` }, policy) }
  const all = new Map<string, Tokens>()
  return {
    book(tenant, trigger, policy) {
      const name = `${tenant}/${trigger}`
      const now = deps.time.now()
      // A node that starts again and again must not have a whole burst each time.
      const tokens = refill(all.get(name) ?? { count: 1, at: now }, now, policy)
      all.set(name, take(tokens, 1))
      if (whole(tokens) >= 1) return 0
      return Math.ceil(((1 - tokens.count) * MINUTE) / policy.perMinute) + Math.max(0, tokens.at - now)
    },
  }
}
