// Converts a time range to a range of ids: an event's id begins with its creation time, and ids are indexed.

import { type EventId, eventIdAt, type WorkId, workIdAt } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

/**
 * How far the clock that made an id may be from the store's, which says when an event was received. Beyond it, an event near
 * the ends of a range may be missed.
 */
export const CLOCK_MARGIN_MS = 600_000

export interface IdSpan<Id extends string = EventId> {
  readonly atLeast: Id | null
  readonly below: Id | null
}

/** Every event received in the time range is in the returned ids; not all of these were received in the range. */
export function idSpan(from: Instant | undefined, to: Instant | undefined): IdSpan {
  return spanOf(eventIdAt, from, to)
}

/** The same for jobs, whose ids come from the node that plans them. */
export function workIdSpan(from: Instant | undefined, to: Instant | undefined): IdSpan<WorkId> {
  return spanOf(workIdAt, from, to)
}

function spanOf<Id extends string>(
  idAt: (at: Instant) => Id,
  from: Instant | undefined,
  to: Instant | undefined,
): IdSpan<Id> {
  return {
    atLeast: from === undefined ? null : idAt(from - CLOCK_MARGIN_MS),
    below: to === undefined ? null : idAt(to + CLOCK_MARGIN_MS),
  }
}
