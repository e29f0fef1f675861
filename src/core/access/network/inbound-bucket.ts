// A token bucket as plain data: a burst at once, then one token per step. Time is an argument from a monotonic clock; if the
// clock steps back, no tokens are gained.

import type { Instant } from '../../foundation/time/index.ts'

export interface BucketPolicy {
  readonly capacity: number
  /** How long until one token is available again. */
  readonly refillMs: number
}

export interface Bucket {
  readonly tokens: number
  readonly at: Instant
}

/** Fractions of tokens do not add up exactly: a client that waited as long as instructed must not be asked to wait again. */
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
  // Also covers the time by which the clock is behind.
  const behindMs = Math.max(0, before.at - at)
  return { taken: false, waitMs: Math.ceil((1 - tokens) * policy.refillMs + behindMs) }
}
