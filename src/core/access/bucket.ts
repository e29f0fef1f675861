// A token bucket as plain data: so many at once, then one per step.

import type { Instant } from '../time/index.ts'

export interface BucketPolicy {
  readonly capacity: number
  /** How long it takes until one token is there again. */
  readonly refillMs: number
}

export interface Bucket {
  readonly tokens: number
  readonly at: Instant
}

export function takeToken(
  bucket: Bucket | undefined,
  at: Instant,
  policy: BucketPolicy,
): { readonly bucket: Bucket; readonly taken: true } | { readonly taken: false; readonly waitMs: number } {
  const before = bucket ?? { tokens: policy.capacity, at }
  const gained = Math.max(0, at - before.at) / policy.refillMs
  const tokens = Math.min(policy.capacity, before.tokens + gained)
  if (tokens >= 1) return { bucket: { tokens: tokens - 1, at }, taken: true }
  return { taken: false, waitMs: Math.ceil((1 - tokens) * policy.refillMs) }
}
