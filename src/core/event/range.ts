// From a span of time to a span of ids: an event's id begins with the time of its making, and ids have an index.

import { type EventId, eventIdAt } from '../ids/index.ts'
import type { Instant } from '../time/index.ts'

/**
 * How far the clock that made an id may be from the store's, which says when an event was received. Beyond it, an event
 * near the ends of a span may be passed over.
 */
export const CLOCK_MARGIN_MS = 600_000

export interface IdSpan {
  readonly atLeast: EventId | null
  readonly below: EventId | null
}

/** Every event that was received in the span is in the ids answered; not all of these were received in the span. */
export function idSpan(from: Instant | undefined, to: Instant | undefined): IdSpan {
  return {
    atLeast: from === undefined ? null : eventIdAt(from - CLOCK_MARGIN_MS),
    below: to === undefined ? null : eventIdAt(to + CLOCK_MARGIN_MS),
  }
}
