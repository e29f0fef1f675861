// The bucket of a vendor's host. A single 429 concerns the call that got it: the host is suspected, and one other call is tried
// immediately. If that is refused too, the host closes for all callers until the requested time; then one call is tried again.
// So an isolated 429 costs one round trip, and a storm of refusals costs the vendor one call per opening, plus one at its
// start.
//
// Invariants: H1 while it is closed no call begins. H2 while it is suspected, and after it was closed, one call at a time until
// one is not refused. H3 a later refusal only extends the time.

import { unreachable } from '../../foundation/errors/index.ts'
import { DAY, type Instant, MINUTE, SECOND } from '../../foundation/time/index.ts'
import { stretch } from '../../queue/retry/index.ts'

/** null: open. */
export type HostBucket = {
  readonly closedUntil: Instant
  /** The job that makes the trial call. */
  readonly triedBy: string | null
  /** Refused once, and not closed: until when it closes if the trial call is refused as well. */
  readonly suspectedUntil?: Instant
} | null

interface Refusal {
  readonly at: Instant
  readonly retryAfterMs: number | null
  readonly jitter: number
}

export type HostEvent =
  /** A quota that the vendor names is exhausted: it closes immediately. */
  | (Refusal & { readonly type: 'limited' })
  /** One call was refused. */
  | (Refusal & { readonly type: 'refused'; readonly by: string })
  /** Any other response, or none. */
  | { readonly type: 'answered'; readonly at: Instant; readonly by: string }
  | { readonly type: 'tried'; readonly by: string }
  /** It made no call. */
  | { readonly type: 'let-go'; readonly by: string }

/** A refusal without a requested delay. */
const CLOSED_MS = MINUTE
const CLOSED_MS_MIN = SECOND
const CLOSED_MS_MAX = DAY

export function stepHost(bucket: HostBucket, event: HostEvent): HostBucket {
  switch (event.type) {
    case 'limited':
      return { closedUntil: Math.max(bucket?.closedUntil ?? 0, askedUntil(event)), triedBy: null }
    case 'refused': {
      const until = askedUntil(event)
      // After an earlier refusal whose time is over without another call, this one is a first refusal again.
      const isOver =
        bucket?.suspectedUntil !== undefined && bucket.triedBy === null && bucket.suspectedUntil <= event.at
      if (bucket === null || isOver) return { closedUntil: event.at, triedBy: null, suspectedUntil: until }
      const { closedUntil, suspectedUntil } = bucket
      // It began before the refusal that made the host suspected: it belongs to the same incident.
      if (suspectedUntil !== undefined && bucket.triedBy !== event.by)
        return { ...bucket, suspectedUntil: Math.max(suspectedUntil, until) }
      return { closedUntil: Math.max(closedUntil, suspectedUntil ?? 0, until), triedBy: null }
    }
    case 'answered':
      // A call that began before the refusal says nothing about it.
      return bucket === null || bucket.triedBy !== event.by ? bucket : null
    case 'tried':
      return bucket === null ? null : { ...bucket, triedBy: event.by }
    case 'let-go':
      return bucket === null || bucket.triedBy !== event.by ? bucket : { ...bucket, triedBy: null }
    default:
      return unreachable(event)
  }
}

function askedUntil({ at, retryAfterMs, jitter }: Refusal): Instant {
  const askedMs = Math.min(CLOSED_MS_MAX, Math.max(CLOSED_MS_MIN, retryAfterMs ?? CLOSED_MS))
  return at + Math.round(stretch(askedMs, jitter))
}

/** `one`: a single trial call. */
export function hostAllows(bucket: HostBucket, at: Instant): 'all' | 'one' | 'none' {
  if (bucket === null) return 'all'
  return at < bucket.closedUntil || bucket.triedBy !== null ? 'none' : 'one'
}
