// How often one address may fail to sign in, or show a wrong key. In memory: a restart resets it, and each node counts for
// itself.

import { type Bucket, type BucketPolicy, takeToken } from '../../core/access/network/index.ts'
import { makeCache } from '../../core/foundation/cache/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import { HOUR, SECOND } from '../../core/foundation/time/index.ts'
import type { Clock } from '../../ports/clock.ts'

/** Users sign in. */
export const SIGN_INS: BucketPolicy = { capacity: 10, refillMs: 6 * SECOND }
/** Programs show keys, and a wrong one many times before an operator notices. */
export const BEARER_KEYS: BucketPolicy = { capacity: 20, refillMs: 3 * SECOND }
const ADDRESSES_MAX = 10_000

export interface Attempts {
  /** Throws if there were too many, after `onLimited`. The result takes the attempt back: it did not fail. */
  begin(address: string, onLimited?: () => void): () => void
}

export function makeAttempts(clock: Clock, policy: BucketPolicy, what: string): Attempts {
  // A bucket that was not used for an hour is full again.
  const buckets = makeCache<Bucket>({ entriesMax: ADDRESSES_MAX, ageMsMax: HOUR })
  return {
    begin(address, onLimited) {
      const now = clock.monotonic()
      const step = takeToken(buckets.get(address, now), now, policy)
      if (!step.taken) {
        onLimited?.()
        const retryAfterSeconds = Math.ceil(step.waitMs / SECOND)
        throw new AppError(
          'limited',
          `too many attempts ${what} failed; try again in ${retryAfterSeconds} s`,
          {
            details: { retryAfterSeconds },
          },
        )
      }
      buckets.reading()(address, step.bucket, now)
      return () => {
        const later = clock.monotonic()
        const bucket = buckets.get(address, later) ?? step.bucket
        buckets.reading()(address, { ...bucket, tokens: bucket.tokens + 1 }, later)
      }
    },
  }
}
