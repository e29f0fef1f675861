// core/access/network/inbound-bucket.ts — a token bucket as plain data: so many at once, then one per step.
// Time is an argument, of a clock that does not go back; should one do so, nothing is gained by it.

import type { Instant } from '../../foundation/time/index.ts'

export interface BucketPolicy {
  readonly capacity: number
  /** How long it takes until one token is there again. */
  readonly refillMs: number
}

export interface Bucket {
  readonly tokens: number
  readonly at: Instant
}

/** Fractions of tokens do not add up exactly: whoever waited as long as told must not be told to wait again. */
const EPSILON = 1e-6

export function takeToken(
  bucket: Bucket | undefined,
  at: Instant,
  policy: BucketPolicy,
): { readonly bucket: Bucket; readonly taken: true } | { readonly taken: false; readonly waitMs: number } {
  const before = bucket ?? { tokens: policy.capacity, at }
  const gained = Math.max(0, at - before.at) / policy.refillMs
  const tokens = Math.min(policy.capacity, before.tokens + gained)
  if (tokens >= 1 - EPSILON) {
    return { bucket: { tokens: Math.max(0, tokens - 1), at: Math.max(at, before.at) }, taken: true }
  }
  // Also for the time by which the clock is behind.
  const behindMs = Math.max(0, before.at - at)
  return { taken: false, waitMs: Math.ceil((1 - tokens) * policy.refillMs + behindMs) }
}
