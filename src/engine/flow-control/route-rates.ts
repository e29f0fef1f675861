// The rate limits of routes: claims take tokens, and tokens without a call come back. A single node has them in memory;
// nodes that share a store acquire permits from a shared record.

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
import { nameOf } from './consumer-keys.ts'
import type { Token } from './node-permits.ts'
import type { SharedPermits } from './shared-permits.ts'

export interface Rates {
  /** Tokens that are available. */
  room(tenant: TenantId, consumer: string, policy: RatePolicy): number
  /** The same for display: includes what is not acquired yet. */
  left(tenant: TenantId, consumer: string, policy: RatePolicy): number
  /** If none is available: when to ask again; null: permits have to be acquired first. */
  nextAt(tenant: TenantId, consumer: string, policy: RatePolicy): Instant | null
  /** `longerMs`: how much longer they may have to wait for their use. */
  acquire(tenant: TenantId, consumer: string, policy: RatePolicy, longerMs: number): Promise<void>
  /** null: there is none. */
  take(tenant: TenantId, consumer: string, policy: RatePolicy): Token | null
  giveBack(tenant: TenantId, consumer: string, policy: RatePolicy, token: Token): void
}

/** `sharedPermits`: permits shared by all nodes; null: this is the only node. */
export function makeRates(deps: {
  readonly time: StoreTime
  readonly sharedPermits: SharedPermits | null
}): Rates {
  return deps.sharedPermits === null ? makeOwnRates(deps.time) : makeSharedRates(deps.sharedPermits)
}

/** Held by this node alone. */
const OWN: Token = { from: 0, until: Number.POSITIVE_INFINITY, tries: null }

function makeOwnRates(time: StoreTime): Rates {
  const all = new Map<string, Tokens>()

  const now = (name: string, policy: RatePolicy): Tokens => {
    // A node that restarts repeatedly must not get a whole burst each time.
    const tokens = refill(all.get(name) ?? { count: 1, at: time.now() }, time.now(), policy)
    all.set(name, tokens)
    return tokens
  }

  return {
    room: (tenant, consumer, policy) => whole(now(nameOf(tenant, consumer), policy)),
    left: (tenant, consumer, policy) => whole(now(nameOf(tenant, consumer), policy)),
    nextAt: (tenant, consumer, policy) => nextTokensAt(now(nameOf(tenant, consumer), policy), policy),
    acquire: () => Promise.resolve(),
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

function makeSharedRates(sharedPermits: SharedPermits): Rates {
  const bucketOf = (tenant: TenantId, consumer: string) => ({ tenant, key: `consumer/${consumer}` })
  return {
    room: (tenant, consumer, policy) => sharedPermits.room(bucketOf(tenant, consumer), policy),
    left: (tenant, consumer, policy) => sharedPermits.left(bucketOf(tenant, consumer), policy),
    nextAt: (tenant, consumer, policy) => sharedPermits.waitsUntil(bucketOf(tenant, consumer), policy),
    acquire: (tenant, consumer, policy, longerMs) =>
      sharedPermits.acquire(bucketOf(tenant, consumer), policy, { isAhead: true, longerMs }),
    take: (tenant, consumer, policy) => sharedPermits.use(bucketOf(tenant, consumer), policy),
    giveBack: (tenant, consumer, _policy, token) => sharedPermits.giveBack(bucketOf(tenant, consumer), token),
  }
}
