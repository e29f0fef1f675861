// The rate guards of routes, in this node's memory: tokens that claims take, and that come back when no call was made.

import type { RatePolicy } from '../../core/definition/index.ts'
import type { TenantId } from '../../core/ids/index.ts'
import { giveBack, nextTokensAt, refill, type Tokens, take, whole } from '../../core/rate/index.ts'
import type { Instant } from '../../core/time/index.ts'
import type { StoreTime } from '../store-time.ts'
import { nameOf } from './names.ts'

export interface Rates {
  /** Tokens that are there. */
  room(tenant: TenantId, consumer: string, policy: RatePolicy): number
  /** When it is worth to ask again. */
  nextAt(tenant: TenantId, consumer: string, policy: RatePolicy): Instant
  take(tenant: TenantId, consumer: string, policy: RatePolicy): void
  giveBack(tenant: TenantId, consumer: string, policy: RatePolicy): void
}

export function makeRates(deps: { readonly time: StoreTime }): Rates {
  const { time } = deps
  const all = new Map<string, Tokens>()

  const now = (name: string, policy: RatePolicy): Tokens => {
    // A node that starts again and again must not have a whole burst each time.
    const tokens = refill(all.get(name) ?? { count: 1, at: time.now() }, time.now(), policy)
    all.set(name, tokens)
    return tokens
  }

  return {
    room: (tenant, consumer, policy) => whole(now(nameOf(tenant, consumer), policy)),
    nextAt: (tenant, consumer, policy) => nextTokensAt(now(nameOf(tenant, consumer), policy), policy),
    take(tenant, consumer, policy) {
      const name = nameOf(tenant, consumer)
      all.set(name, take(now(name, policy), 1))
    },
    giveBack(tenant, consumer, policy) {
      const name = nameOf(tenant, consumer)
      all.set(name, giveBack(now(name, policy), 1, policy))
    },
  }
}
