// How many deliveries may be in flight to one endpoint, on one node. The limit begins small, doubles with successes, and falls
// to one with a pause when the endpoint is overloaded. Then one trial delivery decides how to continue. So an endpoint that is
// down costs one call per pause, and affects no other endpoint.
//
// Invariants: SB20 its size is at least 1 and at most its limit. SB21 while it pauses no delivery begins. SB22 a call that
// began before the pause neither ends nor doubles it: a hundred that fail together count once.

import { unreachable } from '../../foundation/errors/index.ts'
import { type Instant, MINUTE, SECOND } from '../../foundation/time/index.ts'
import { stretch } from '../../queue/retry/index.ts'
import { type EndpointSign, RETRY_AFTER_MS_MAX } from './classify-response.ts'

export interface ConcurrencyLimit {
  /** How many may be in flight when it does not pause. */
  readonly size: number
  /** Its upper bound. */
  readonly limit: number
  /** null: the endpoint accepted the last delivery. */
  readonly pause: {
    readonly since: Instant
    /** No delivery begins before this; the first one after it is a trial. */
    readonly until: Instant
    /** Consecutive pauses. */
    readonly count: number
  } | null
}

export type ConcurrencyLimitInput =
  | {
      /** A call has ended. */
      readonly type: 'ended'
      readonly startedAt: Instant
      readonly at: Instant
      readonly sign: EndpointSign
      readonly retryAfterMs: number | null
      /** In [0, 1). */
      readonly jitter: number
    }
  /** The subscription has changed. */
  | { readonly type: 'limit'; readonly limit: number | null }

const CONCURRENCY_START = 4
const CONCURRENCY_MAX = 64
const PAUSE_MS_MIN = SECOND
const PAUSE_MS_MAX = MINUTE

/** `limit`: of `concurrency`; null: adapted to what the endpoint can handle. */
export function newConcurrencyLimit(limit: number | null): ConcurrencyLimit {
  const most = Math.max(1, limit ?? CONCURRENCY_MAX)
  return { size: Math.min(CONCURRENCY_START, most), limit: most, pause: null }
}

export function stepConcurrencyLimit(
  window: ConcurrencyLimit,
  input: ConcurrencyLimitInput,
): ConcurrencyLimit {
  switch (input.type) {
    case 'limit': {
      const limit = Math.max(1, input.limit ?? CONCURRENCY_MAX)
      return { ...window, limit, size: Math.min(window.size, limit) }
    }
    case 'ended':
      return input.sign === 'overloaded' ? close(window, input) : open(window, input)
    default:
      return unreachable(input)
  }
}

type Ended = Extract<ConcurrencyLimitInput, { type: 'ended' }>

function open(window: ConcurrencyLimit, { startedAt, sign }: Ended): ConcurrencyLimit {
  const { size, limit, pause } = window
  // A call that began before says nothing about now.
  if (pause !== null && startedAt < pause.until) return window
  const grown = sign === 'well' ? Math.min(limit, size * 2) : size
  return grown === size && pause === null ? window : { size: grown, limit, pause: null }
}

function close(window: ConcurrencyLimit, { startedAt, at, retryAfterMs, jitter }: Ended): ConcurrencyLimit {
  const { limit, pause } = window
  const isNews = pause === null || startedAt >= pause.until
  const count = isNews ? (pause?.count ?? 0) + 1 : (pause?.count ?? 1)
  const ownMs = isNews ? Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** Math.min(count - 1, 16)) : 0
  const askedMs = Math.min(RETRY_AFTER_MS_MAX, Math.max(0, retryAfterMs ?? 0))
  const until = at + Math.round(stretch(Math.max(ownMs, askedMs), jitter))
  return {
    size: 1,
    limit,
    pause: { since: isNews ? at : (pause?.since ?? at), until: Math.max(until, pause?.until ?? 0), count },
  }
}

/** How many may be in flight at this moment; 0: it pauses, until `pause.until`. */
export function concurrencyAllows({ size, pause }: ConcurrencyLimit, now: Instant): number {
  return pause !== null && now < pause.until ? 0 : size
}
