// A bucket that several nodes share. It is one record, changed under its version: a node takes permits out for good, including
// near-future ones, and uses each no sooner than its time. Permits that are taken and not used are lost.
//
// Invariants: K3 the permits usable until an instant are at most burst + rate × time since the first take, whichever node took
// them, whatever happened to them and whatever the nodes' clocks said. K4 of the other side's limits the stricter holds for all
// nodes, until its time is over.

import type { Bucket } from '../../definitions/documents/index.ts'
import { DAY, type Instant, MINUTE } from '../../foundation/time/index.ts'
import { type AdaptiveBucket, applyResponse, at, type BucketAnswer, OPEN_BUCKET } from './adaptive-bucket.ts'
import { hostAllows, stepHost } from './host-bucket.ts'
import { take, whole } from './token-bucket.ts'

export interface SharedBucket extends AdaptiveBucket {
  /** After this, a trial without a result is repeated. */
  readonly triedUntil: Instant
  /** The nodes that took permits, latest first. */
  readonly by: readonly string[]
}

export interface PermitRequest {
  readonly now: Instant
  readonly wanted: number
  /** Permits that accrue within this time may be taken in advance. */
  readonly aheadMs: number
  readonly by: string
  /** Identifies the trial, where this is one. */
  readonly tryBy: string
}

export type PermitResult =
  | {
      readonly is: 'drawn'
      readonly bucket: SharedBucket
      /** From when each may be used, in order; never empty. */
      readonly from: readonly Instant[]
      readonly isTry: boolean
    }
  /** `nextAt`: when to ask again. */
  | { readonly is: 'empty'; readonly nextAt: Instant }
  /** Another node makes the trial call: its result will be in the record. */
  | { readonly is: 'tried'; readonly until: Instant }

export const NEW_SHARED: SharedBucket = { ...OPEN_BUCKET, triedUntil: 0, by: [] }

/** Longer than most calls; a second trial beside one that hangs does no harm. */
const TRY_MS = 30_000
/** How many nodes are remembered. */
const DRAWERS_MAX = 8
/** No clock is ahead of another's by more than this. */
const SKEW_MS_MAX = MINUTE

export function acquirePermits(
  given: SharedBucket,
  policy: Bucket | null,
  request: PermitRequest,
): PermitResult {
  const { now, by } = request
  const bucket = withoutLostTry(believable(given, now), now)
  const allows = hostAllows(bucket.closed, now)
  if (allows === 'none' && bucket.closed !== null)
    return bucket.closed.triedBy === null
      ? { is: 'empty', nextAt: bucket.closed.closedUntil }
      : { is: 'tried', until: bucket.triedUntil }
  const { tokens, windows } = at(bucket, policy, now)
  const spent = windows.findLast(({ left }) => left <= 0)
  if (spent !== undefined) return { is: 'empty', nextAt: spent.resetAt }
  const isTry = allows === 'one'
  const most = Math.min(isTry ? 1 : Math.max(1, request.wanted), ...windows.map(({ left }) => left))
  const from: Instant[] = []
  for (let n = 0; n < most; n += 1) {
    // A node whose clock is behind that of the latest taker waits until the record's own time.
    const since = Math.max(now, tokens?.at ?? now)
    const inMs =
      tokens === null || policy === null ? 0 : waitMs(n + 1 - tokens.count, MINUTE / policy.perMinute)
    if (since + inMs > now + request.aheadMs) {
      if (n === 0) return { is: 'empty', nextAt: since + inMs - request.aheadMs }
      break
    }
    from.push(since + inMs)
  }
  const count = from.length
  return {
    is: 'drawn',
    from,
    isTry,
    bucket: {
      tokens: tokens === null ? null : take(tokens, count),
      windows: windows.map((window) => ({ ...window, left: window.left - count })),
      closed: isTry ? stepHost(bucket.closed, { type: 'tried', by: request.tryBy }) : bucket.closed,
      triedUntil: isTry ? now + TRY_MS : bucket.triedUntil,
      by: [by, ...bucket.by.filter((other) => other !== by)].slice(0, DRAWERS_MAX),
    },
  }
}

/**
 * From 0, for a node that has not taken permits for long, to 1 for the latest taker: recent takers leave the next permits to
 * the others.
 */
export function shyness({ by }: SharedBucket, who: string): number {
  const place = by.indexOf(who)
  return place < 0 ? 0 : 1 - place / DRAWERS_MAX
}

/** Calls that were made without asking. */
export function chargeTokens(
  bucket: SharedBucket,
  policy: Bucket | null,
  now: Instant,
  count: number,
): SharedBucket {
  if (count === 0) return bucket
  const { tokens, windows } = at(believable(bucket, now), policy, now)
  return {
    ...bucket,
    tokens: tokens === null ? null : take(tokens, count),
    windows: windows.map((window) => ({ ...window, left: window.left - count })),
  }
}

/** One call got a response, or none; `by` identifies the trial where it was one. */
export function applySharedResponse(
  bucket: SharedBucket,
  policy: Bucket | null,
  answer: BucketAnswer,
): SharedBucket {
  return { ...bucket, ...applyResponse(bucket, policy, answer) }
}

/** Whether permits are needed at all: where no document sets a rate, only while the other side's own limits are known. */
export function isLimiting(bucket: SharedBucket, policy: Bucket | null, now: Instant): boolean {
  return policy !== null || bucket.closed !== null || bucket.windows.some(({ resetAt }) => now < resetAt)
}

/**
 * How many one take may get: the flow of a second, or a part of the burst. So no node gets everything, and a crash costs
 * little.
 */
export function permitsMax(policy: Bucket | null): number {
  if (policy === null) return UNRULED_PERMITS_MAX
  return Math.max(1, Math.ceil(policy.perMinute / 60), Math.ceil(policy.burst / BURST_SHARE))
}

const BURST_SHARE = 8
const UNRULED_PERMITS_MAX = 16
/** Fractions do not add up exactly: a token that is whole within this tolerance counts. */
const EPSILON = 1e-6

function waitMs(missing: number, perTokenMs: number): number {
  return missing <= EPSILON ? 0 : Math.ceil((missing - EPSILON) * perTokenMs)
}

function withoutLostTry(bucket: SharedBucket, now: Instant): SharedBucket {
  const { closed } = bucket
  if (closed === null || closed.triedBy === null || now < bucket.triedUntil) return bucket
  return { ...bucket, closed: { ...closed, triedBy: null } }
}

/**
 * A record from a clock that was ahead must not block other nodes for long; permits taken by it cannot be used before their
 * time either.
 */
function believable(bucket: SharedBucket, now: Instant): SharedBucket {
  const { tokens, closed } = bucket
  return {
    ...bucket,
    tokens:
      tokens === null || tokens.at <= now + SKEW_MS_MAX
        ? tokens
        : { count: Math.min(0, tokens.count), at: now },
    windows: bucket.windows.filter(({ resetAt }) => resetAt <= now + DAY + SKEW_MS_MAX),
    // No refusal closes a bucket for longer, jitter included.
    closed: closed === null || closed.closedUntil <= now + 2 * DAY ? closed : null,
    triedUntil: Math.min(bucket.triedUntil, now + TRY_MS),
  }
}

/** Whole tokens, for display. */
export function sharedLeft(bucket: SharedBucket, policy: Bucket, now: Instant): number {
  const { tokens } = at(bucket, policy, now)
  return tokens === null ? 0 : whole(tokens)
}
