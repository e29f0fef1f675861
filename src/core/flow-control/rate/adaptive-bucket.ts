// A bucket of calls to one account at another side: tokens by its document, fewer where the other side's own headers say so,
// and none after a refusal until the requested time. Then one trial call is allowed.
//
// Invariants: RB1 no more calls begin than the document allows, nor than the other side reported as left. RB2 after a refusal
// no call begins before its time, and then one at a time, until one is not refused. RB3 what was learnt about a window ends
// with it.

import type { Bucket } from '../../definitions/documents/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import { type HostBucket, hostAllows, stepHost } from './host-bucket.ts'
import type { Limits } from './rate-limit-headers.ts'
import { giveBack, nextTokensAt, refill, type Tokens, take, whole } from './token-bucket.ts'

export interface AdaptiveBucket {
  /** null: the document sets no rate. */
  readonly tokens: Tokens | null
  /** The other side's own windows that have not ended, the one that ends first before the others. */
  readonly windows: readonly Window[]
  readonly closed: HostBucket
}

/** There may be one per hour and one per minute: the rest of one says nothing about the other. */
interface Window {
  readonly left: number
  readonly resetAt: Instant
}

export const OPEN_BUCKET: AdaptiveBucket = { tokens: null, windows: [], closed: null }

/** A node that restarts repeatedly must not get a whole burst each time. */
const FIRST_TOKENS = 1
/** Instants of the same window differ by rounding and clocks. */
const SLACK_MS = 2_000
/** A longer window is ignored: a clock must be off. */
const WINDOW_MS_MAX = 24 * 60 * 60 * 1_000
/** A server whose clock runs backwards must not fill the memory. */
const WINDOWS_MAX = 4

/** How many calls may begin now. */
export function bucketAllows(bucket: AdaptiveBucket, policy: Bucket | null, now: Instant): number {
  const allows = hostAllows(bucket.closed, now)
  if (allows === 'none') return 0
  const { tokens, windows } = at(bucket, policy, now)
  const most = Math.min(
    tokens === null ? Number.POSITIVE_INFINITY : whole(tokens),
    ...windows.map(({ left }) => Math.max(0, left)),
  )
  return allows === 'one' ? Math.min(1, most) : most
}

/** When to check again; null: it is open, or a trial is under way. */
export function bucketOpensAt(bucket: AdaptiveBucket, policy: Bucket | null, now: Instant): Instant | null {
  const { closed } = bucket
  if (closed !== null && hostAllows(closed, now) === 'none')
    return closed.triedBy === null ? closed.closedUntil : null
  const { tokens, windows } = at(bucket, policy, now)
  const windowAt = windows.findLast(({ left }) => left <= 0)?.resetAt ?? null
  const tokensAt =
    tokens !== null && policy !== null && whole(tokens) === 0 ? nextTokensAt(tokens, ruled(policy)) : null
  if (windowAt === null) return tokensAt
  return Math.max(windowAt, tokensAt ?? 0)
}

/** One call begins. A call that could not ask first is counted as well. */
export function enterBucket(
  bucket: AdaptiveBucket,
  policy: Bucket | null,
  now: Instant,
  by: string,
): AdaptiveBucket {
  const { tokens, windows, closed } = at(bucket, policy, now)
  return {
    tokens: tokens === null ? null : take(tokens, 1),
    windows: windows.map((window) => ({ ...window, left: window.left - 1 })),
    // Before its time no call is a trial: a probe that bypasses the bucket says nothing about the quota.
    closed: hostAllows(closed, now) === 'one' ? stepHost(closed, { type: 'tried', by }) : closed,
  }
}

/** It did not begin after all. */
export function leaveBucket(
  bucket: AdaptiveBucket,
  policy: Bucket | null,
  now: Instant,
  by: string,
): AdaptiveBucket {
  const { tokens, windows, closed } = at(bucket, policy, now)
  return {
    tokens: tokens === null || policy === null ? tokens : giveBack(tokens, 1, ruled(policy)),
    windows: windows.map((window) => ({ ...window, left: window.left + 1 })),
    closed: stepHost(closed, { type: 'let-go', by }),
  }
}

export interface BucketAnswer {
  readonly at: Instant
  readonly by: string
  /** It was refused for too many calls. */
  readonly isLimited: boolean
  readonly limits: Limits | null
  /** In [0, 1). */
  readonly jitter: number
}

/** One call got a response, or none. */
export function applyResponse(
  bucket: AdaptiveBucket,
  policy: Bucket | null,
  { at: now, by, isLimited, limits, jitter }: BucketAnswer,
): AdaptiveBucket {
  const { tokens, windows, closed } = at(bucket, policy, now)
  if (isLimited) {
    const resetMs = limits?.resetAt == null ? null : Math.max(0, limits.resetAt - now)
    const retryAfterMs = limits?.retryAfterMs ?? resetMs
    return { tokens, windows, closed: stepHost(closed, { type: 'limited', at: now, retryAfterMs, jitter }) }
  }
  return {
    tokens,
    windows: learn(windows, limits, now),
    closed: stepHost(closed, { type: 'answered', at: now, by }),
  }
}

function learn(
  windows: AdaptiveBucket['windows'],
  limits: Limits | null,
  now: Instant,
): AdaptiveBucket['windows'] {
  if (limits === null || limits.remaining === null || limits.resetAt === null) return windows
  const { remaining, resetAt } = limits
  if (resetAt <= now || resetAt > now + WINDOW_MS_MAX) return windows
  // Within the same window only a lower count is taken: responses arrive in any order, and other calls are in flight.
  const same = windows.findIndex((window) => Math.abs(resetAt - window.resetAt) <= SLACK_MS)
  if (same >= 0)
    return windows.map((window, index) =>
      index === same ? { ...window, left: Math.min(window.left, remaining) } : window,
    )
  // A window that ends later replaces the earlier ones: sliding windows move their end with every response.
  const longer = windows.filter((window) => window.resetAt > resetAt)
  return [{ left: remaining, resetAt }, ...longer].slice(0, WINDOWS_MAX)
}

/** Drops what has expired, and adds the new tokens. */
export function at(bucket: AdaptiveBucket, policy: Bucket | null, now: Instant): AdaptiveBucket {
  const windows = bucket.windows.some(({ resetAt }) => now >= resetAt)
    ? bucket.windows.filter(({ resetAt }) => now < resetAt)
    : bucket.windows
  if (policy === null) return { ...bucket, tokens: null, windows }
  const tokens = refill(
    bucket.tokens ?? { count: Math.min(FIRST_TOKENS, policy.burst), at: now },
    now,
    ruled(policy),
  )
  return { ...bucket, tokens, windows }
}

function ruled({ perMinute, burst }: Bucket) {
  return { profile: null, perMinute, burst }
}
