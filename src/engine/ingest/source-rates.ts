// The rate limit of a source: a burst, and then a rate per minute. A single node has its buckets in memory, and they
// survive changes other than the rate; several nodes share theirs through the store.

import { type Bucket, type BucketPolicy, takeToken } from '../../core/access/network/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { MINUTE } from '../../core/foundation/time/index.ts'
import type { Source } from '../../core/ingest/source/index.ts'
import type { EngineDeps } from '../config.ts'
import type { BucketName, SharedPermits } from '../flow-control/index.ts'

export interface SourceRates {
  /** 0: a token was taken, or there is no rate. Otherwise how long until one is available. */
  take(tenant: string, source: Source): number | Promise<number>
}

/** Other nodes may take the permits acquired here; this bounds the attempts. */
const ACQUIRES_MAX = 20
/** A source without a record may use its whole burst. */
const FULL = { isFull: true }

export function makeSourceRates(
  deps: Pick<EngineDeps, 'clock'> & {
    /** Rate permits shared by all nodes; null: this is the only node. */
    readonly sharedPermits: SharedPermits | null
  },
): SourceRates {
  const { clock, sharedPermits } = deps
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
      if (sharedPermits === null) return takeOwn(`${tenant}/${document.name}`, guards.rate)
      return takeShared(
        sharedPermits,
        { tenant: tenant as TenantId, key: `source/${document.name}` },
        guards.rate,
      )
    },
  }
}

/** If the bucket is empty, the caller waits until the next token without asking the store. */
async function takeShared(
  sharedPermits: SharedPermits,
  name: BucketName,
  { capacity, refillMs }: BucketPolicy,
): Promise<number> {
  const policy = { perMinute: MINUTE / refillMs, burst: capacity }
  const mustAcquire = () =>
    sharedPermits.room(name, policy) === 0 && sharedPermits.waitsUntil(name, policy) === null
  for (let tries = 0; tries < ACQUIRES_MAX && mustAcquire(); tries += 1)
    await sharedPermits.acquire(name, policy, FULL)
  // While the store is down no event is stored, and the caller learns that: a rate limit error would be wrong.
  if (sharedPermits.use(name, policy) !== null || sharedPermits.isAway(name)) return 0
  return Math.max(1, (sharedPermits.waitsUntil(name, policy) ?? 0) - sharedPermits.now())
}
