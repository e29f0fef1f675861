// core/flow-control/rate/host-bucket.ts — the bucket of a vendor's host. One 429 is about the call that got it: the host is suspected, and one other call is
// tried at once. If that is refused too, the host closes for all callers until the time that it asked for; then one call is tried again.
// So a stray 429 costs one round trip, and a storm of refusals costs the vendor one call per opening, and one more at its start.
//
// Invariants: H1 while it is closed nobody begins a call. H2 suspected, and after it was closed, one call at a time until one is not
// refused. H3 a later refusal only lengthens.

import { unreachable } from '../../foundation/errors/index.ts'
import { DAY, type Instant, MINUTE, SECOND } from '../../foundation/time/index.ts'
import { stretch } from '../../queue/retry/index.ts'

/** null: open. */
export type HostBucket = {
  readonly closedUntil: Instant
  /** The job that tries it. */
  readonly triedBy: string | null
  /** Refused once, and not closed: until when it closes if the call that is tried now is refused as well. */
  readonly suspectedUntil?: Instant
} | null

interface Refusal {
  readonly at: Instant
  readonly retryAfterMs: number | null
  readonly jitter: number
}

export type HostEvent =
  /** A quota that the vendor names is used up: it closes at once. */
  | (Refusal & { readonly type: 'limited' })
  /** One call was refused. */
  | (Refusal & { readonly type: 'refused'; readonly by: string })
  /** Any other answer, or none. */
  | { readonly type: 'answered'; readonly at: Instant; readonly by: string }
  | { readonly type: 'tried'; readonly by: string }
  /** It made no call. */
  | { readonly type: 'let-go'; readonly by: string }

/** A refusal that does not say how long. */
const CLOSED_MS = MINUTE
const CLOSED_MS_MIN = SECOND
const CLOSED_MS_MAX = DAY

export function stepHost(bucket: HostBucket, event: HostEvent): HostBucket {
  switch (event.type) {
    case 'limited':
      return { closedUntil: Math.max(bucket?.closedUntil ?? 0, askedUntil(event)), triedBy: null }
    case 'refused': {
      const until = askedUntil(event)
      // Of an earlier refusal whose time is over, and after which nobody called, this one says nothing.
      const isOver =
        bucket?.suspectedUntil !== undefined && bucket.triedBy === null && bucket.suspectedUntil <= event.at
      if (bucket === null || isOver) return { closedUntil: event.at, triedBy: null, suspectedUntil: until }
      const { closedUntil, suspectedUntil } = bucket
      // It began before the refusal that made the host suspect: it is part of the same.
      if (suspectedUntil !== undefined && bucket.triedBy !== event.by)
        return { ...bucket, suspectedUntil: Math.max(suspectedUntil, until) }
      return { closedUntil: Math.max(closedUntil, suspectedUntil ?? 0, until), triedBy: null }
    }
    case 'answered':
      // Of a call that began before the refusal it says nothing.
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

/** `one`: a single call, to try it. */
export function hostAllows(bucket: HostBucket, at: Instant): 'all' | 'one' | 'none' {
  if (bucket === null) return 'all'
  return at < bucket.closedUntil || bucket.triedBy !== null ? 'none' : 'one'
}
