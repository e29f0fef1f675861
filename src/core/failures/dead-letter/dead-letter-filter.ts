// Filters of a list or a replay of dead letters beyond the store's indexes, and the range of ids that can contain matches: an
// id begins with its creation time.

import { CLOCK_MARGIN_MS } from '../../events/event/index.ts'
import { type DeadLetterId, eventIdAt } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { DeadLetter } from './dead-letter.ts'
import { causeOf } from './dead-letter-cause.ts'

export interface DeadLetterConditions {
  /** As `causeOf` gives it. */
  readonly cause?: string
  readonly key?: string
  readonly correlationId?: string
  readonly severity?: string
  /** When they were dead-lettered: from this instant on, and before that one. */
  readonly from?: Instant
  readonly to?: Instant
}

export function fitsConditions(deadLetter: DeadLetter, wanted: DeadLetterConditions): boolean {
  return (
    (wanted.key === undefined || deadLetter.key === wanted.key) &&
    (wanted.correlationId === undefined || deadLetter.correlationId === wanted.correlationId) &&
    (wanted.severity === undefined || deadLetter.severity === wanted.severity) &&
    (wanted.from === undefined || deadLetter.createdAt >= wanted.from) &&
    (wanted.to === undefined || deadLetter.createdAt < wanted.to) &&
    (wanted.cause === undefined || causeOf(deadLetter.lastError) === wanted.cause)
  )
}

export function hasConditions(wanted: DeadLetterConditions): boolean {
  const { cause, key, correlationId, severity, from, to } = wanted
  return [cause, key, correlationId, severity, from, to].some((value) => value !== undefined)
}

/** A scan from the newest to the oldest may start below the first id and end below the second; null: no bound. */
export function deadLetterSpan({ from, to }: DeadLetterConditions): {
  readonly below: DeadLetterId | null
  readonly atLeast: DeadLetterId | null
} {
  return {
    below: to === undefined ? null : deadLetterIdAt(to + CLOCK_MARGIN_MS),
    atLeast: from === undefined ? null : deadLetterIdAt(from - CLOCK_MARGIN_MS),
  }
}

function deadLetterIdAt(at: Instant): DeadLetterId {
  return eventIdAt(at).replace('evt_', 'dlq_') as DeadLetterId
}
