// How much a source takes: so many at once, and then so many a minute. Buckets of a node that is alone are in its memory, and stay
// while the source's rate stays, whatever else is applied; others are shared by all nodes.

import { type Bucket, type BucketPolicy, takeToken } from '../../core/access/network/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { MINUTE } from '../../core/foundation/time/index.ts'
import type { Source } from '../../core/ingest/source/index.ts'
import type { EngineDeps } from '../config.ts'
import type { BucketName, Draws } from '../flow-control/index.ts'

export interface Shares {
  /** 0: it took one, or there is no rate. Else how long until there is one. */
  take(tenant: string, source: Source): number | Promise<number>
}

/** Others may take what was drawn here; nobody waits for ever. */
const DRAWS_MAX = 20
/** A source that was never heard of may send all at once. */
const FULL = { isFull: true }

export function makeShares(
  deps: Pick<EngineDeps, 'clock'> & {
    /** Tokens of all nodes; null: this one is alone. */
    readonly draws: Draws | null
  },
): Shares {
  const { clock, draws } = deps
  const buckets = new Map<string, { readonly policy: BucketPolicy; readonly bucket: Bucket }>()

  const takeOwn = (id: string, policy: BucketPolicy): number => {
    const held = buckets.get(id)
    const isSame = held?.policy.capacity === policy.capacity && held.policy.refillMs === policy.refillMs
    const step = takeToken(isSame ? held?.bucket : undefined, clock.monotonic(), policy)
    if (!step.taken) return Math.max(1, step.waitMs)
    buckets.set(id, { policy, bucket: step.bucket })
    return 0
  }

  return {
    take(tenant, { document, guards }) {
      if (guards.rate === null) return 0
      if (draws === null) return takeOwn(`${tenant}/${document.name}`, guards.rate)
      return takeShared(draws, { tenant: tenant as TenantId, key: `source/${document.name}` }, guards.rate)
    },
  }
}

/** Whoever finds the bucket empty waits without a question to the store, until the next token comes. */
async function takeShared(
  draws: Draws,
  name: BucketName,
  { capacity, refillMs }: BucketPolicy,
): Promise<number> {
  const policy = { perMinute: MINUTE / refillMs, burst: capacity }
  const mustDraw = () => draws.room(name, policy) === 0 && draws.waitsUntil(name, policy) === null
  for (let tries = 0; tries < DRAWS_MAX && mustDraw(); tries += 1) await draws.draw(name, policy, FULL)
  // While the store is away nothing is kept, and whoever asks hears so: that is no reason to hear of a rate.
  if (draws.use(name, policy) !== null || draws.isAway(name)) return 0
  return Math.max(1, (draws.waitsUntil(name, policy) ?? 0) - draws.now())
}
