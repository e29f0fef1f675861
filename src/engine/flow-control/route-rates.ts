// The rate guards of routes: tokens that claims take, and that come back when no call was made. A node that is alone has them in its
// memory; where nodes share a store they are drawn from the record that all of them share.

import type { RatePolicy } from '../../core/definitions/documents/index.ts'
import {
  giveBack,
  nextTokensAt,
  refill,
  type Tokens,
  take,
  whole,
} from '../../core/flow-control/rate/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { StoreTime } from '../commit/index.ts'
import { nameOf } from './consumer-names.ts'
import type { Token } from './node-permits.ts'
import type { Draws } from './shared-permits.ts'

export interface Rates {
  /** Tokens that are there. */
  room(tenant: TenantId, consumer: string, policy: RatePolicy): number
  /** The same, for people: also what is not drawn yet. */
  left(tenant: TenantId, consumer: string, policy: RatePolicy): number
  /** When none is: when it is worth to ask again; null: some have to be drawn first. */
  nextAt(tenant: TenantId, consumer: string, policy: RatePolicy): Instant | null
  /** `longerMs`: they may have to wait so much longer for their use. */
  draw(tenant: TenantId, consumer: string, policy: RatePolicy, longerMs: number): Promise<void>
  /** null: there is none. */
  take(tenant: TenantId, consumer: string, policy: RatePolicy): Token | null
  giveBack(tenant: TenantId, consumer: string, policy: RatePolicy, token: Token): void
}

/** `draws`: of all nodes; null: this one is alone. */
export function makeRates(deps: { readonly time: StoreTime; readonly draws: Draws | null }): Rates {
  return deps.draws === null ? makeOwnRates(deps.time) : makeSharedRates(deps.draws)
}

/** Nobody else can have it. */
const OWN: Token = { from: 0, until: Number.POSITIVE_INFINITY, tries: null }

function makeOwnRates(time: StoreTime): Rates {
  const all = new Map<string, Tokens>()

  const now = (name: string, policy: RatePolicy): Tokens => {
    // A node that starts again and again must not have a whole burst each time.
    const tokens = refill(all.get(name) ?? { count: 1, at: time.now() }, time.now(), policy)
    all.set(name, tokens)
    return tokens
  }

  return {
    room: (tenant, consumer, policy) => whole(now(nameOf(tenant, consumer), policy)),
    left: (tenant, consumer, policy) => whole(now(nameOf(tenant, consumer), policy)),
    nextAt: (tenant, consumer, policy) => nextTokensAt(now(nameOf(tenant, consumer), policy), policy),
    draw: () => Promise.resolve(),
    take(tenant, consumer, policy) {
      const name = nameOf(tenant, consumer)
      all.set(name, take(now(name, policy), 1))
      return OWN
    },
    giveBack(tenant, consumer, policy) {
      const name = nameOf(tenant, consumer)
      all.set(name, giveBack(now(name, policy), 1, policy))
    },
  }
}

function makeSharedRates(draws: Draws): Rates {
  const bucketOf = (tenant: TenantId, consumer: string) => ({ tenant, key: `consumer/${consumer}` })
  return {
    room: (tenant, consumer, policy) => draws.room(bucketOf(tenant, consumer), policy),
    left: (tenant, consumer, policy) => draws.left(bucketOf(tenant, consumer), policy),
    nextAt: (tenant, consumer, policy) => draws.waitsUntil(bucketOf(tenant, consumer), policy),
    draw: (tenant, consumer, policy, longerMs) =>
      draws.draw(bucketOf(tenant, consumer), policy, { isAhead: true, longerMs }),
    take: (tenant, consumer, policy) => draws.use(bucketOf(tenant, consumer), policy),
    giveBack: (tenant, consumer, _policy, token) => draws.giveBack(bucketOf(tenant, consumer), token),
  }
}
