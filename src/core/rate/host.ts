// core/rate/host.ts — the bucket of another side's host: a 429 closes it for all who call there, until the time that it asked for.
// Then one call is tried; only when that is not refused the same way the others go on. So a storm of refusals costs the other
// side one call per opening.
//
// Invariants: H1 while it is closed nobody begins a call. H2 after that one at a time, until one is not refused. H3 a later
// refusal only lengthens.

import { unreachable } from '../errors/index.ts'
import { stretch } from '../retry/index.ts'
import { DAY, type Instant, MINUTE, SECOND } from '../time/index.ts'

/** null: open. */
export type HostBucket = {
  readonly closedUntil: Instant
  /** The work item that tries it. */
  readonly triedBy: string | null
} | null

export type HostEvent =
  | {
      readonly type: 'limited'
      readonly at: Instant
      readonly retryAfterMs: number | null
      readonly jitter: number
    }
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
    case 'limited': {
      const askedMs = Math.min(CLOSED_MS_MAX, Math.max(CLOSED_MS_MIN, event.retryAfterMs ?? CLOSED_MS))
      const until = event.at + Math.round(stretch(askedMs, event.jitter))
      return { closedUntil: Math.max(bucket?.closedUntil ?? 0, until), triedBy: null }
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

/** `one`: a single call, to try it. */
export function hostAllows(bucket: HostBucket, at: Instant): 'all' | 'one' | 'none' {
  if (bucket === null) return 'all'
  return at < bucket.closedUntil || bucket.triedBy !== null ? 'none' : 'one'
}
