// The speed of a bulk replay: how much of it fits into the next piece, and when the piece after that may follow. Pure.
//
// The instant is stored with the replay, so that neither a restart nor a second node makes it faster. Dead letters of a
// route with a rate limit go no faster than the route may call: they would only delay new events.

import type { Instant } from '../../../core/foundation/time/index.ts'

/** Dead letters or events per commit: enough to share the cost of a commit, few enough not to delay others. */
export const PIECE_MAX = 200
/** A piece of a rate-limited replay is what fits into this time. */
const PIECE_MS = 200
const SECOND_MS = 1_000
const MINUTE_MS = 60_000

export interface PieceSize {
  /** How many of the rows, from the first on. */
  readonly count: number
  /** How long until the next piece. */
  readonly waitMs: number
}

/** `perMinute`: of the route of each row, null if it has no limit. */
export function sizePiece(perSecond: number | null, perMinute: readonly (number | null)[]): PieceSize {
  const most = perSecond === null ? PIECE_MAX : fitting(perSecond / SECOND_MS)
  const taken = new Map<number, number>()
  let count = 0
  for (const rate of perMinute) {
    if (count === Math.min(most, PIECE_MAX)) break
    if (rate !== null) {
      const before = taken.get(rate) ?? 0
      if (before === fitting(rate / MINUTE_MS)) break
      taken.set(rate, before + 1)
    }
    count += 1
  }
  let waitMs = perSecond === null ? 0 : (count * SECOND_MS) / perSecond
  for (const [rate, number] of taken) waitMs = Math.max(waitMs, (number * MINUTE_MS) / rate)
  return { count, waitMs: Math.ceil(waitMs) }
}

function fitting(perMs: number): number {
  return Math.max(1, Math.floor(perMs * PIECE_MS))
}

/** Lost time is not made up for: a replay that was interrupted does not speed up. */
export function nextPieceAt(now: Instant, waitMs: number): Instant {
  return waitMs === 0 ? 0 : now + waitMs
}
