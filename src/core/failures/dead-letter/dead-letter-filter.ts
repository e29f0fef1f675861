// What a list or a replay of dead letters may ask for beyond what a store has an index of, and the ids between which such
// letters are: an id begins with the time of its making.

import { CLOCK_MARGIN_MS } from '../../events/event/index.ts'
import { type DeadLetterId, eventIdAt } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { DeadLetter } from './dead-letter.ts'
import { causeOf } from './dead-letter-cause.ts'

export interface LetterConditions {
  /** As `causeOf` gives it. */
  readonly cause?: string
  readonly key?: string
  readonly correlationId?: string
  readonly severity?: string
  /** When they died: from this instant on, and before that one. */
  readonly from?: Instant
  readonly to?: Instant
}

export function fitsConditions(letter: DeadLetter, wanted: LetterConditions): boolean {
  return (
    (wanted.key === undefined || letter.key === wanted.key) &&
    (wanted.correlationId === undefined || letter.correlationId === wanted.correlationId) &&
    (wanted.severity === undefined || letter.severity === wanted.severity) &&
    (wanted.from === undefined || letter.createdAt >= wanted.from) &&
    (wanted.to === undefined || letter.createdAt < wanted.to) &&
    (wanted.cause === undefined || causeOf(letter.lastError) === wanted.cause)
  )
}

export function hasConditions(wanted: LetterConditions): boolean {
  const { cause, key, correlationId, severity, from, to } = wanted
  return [cause, key, correlationId, severity, from, to].some((value) => value !== undefined)
}

/** A walk from the newest to the oldest may begin below the one id and end below the other; null: everywhere. */
export function letterSpan({ from, to }: LetterConditions): {
  readonly below: DeadLetterId | null
  readonly atLeast: DeadLetterId | null
} {
  return {
    below: to === undefined ? null : letterIdAt(to + CLOCK_MARGIN_MS),
    atLeast: from === undefined ? null : letterIdAt(from - CLOCK_MARGIN_MS),
  }
}

function letterIdAt(at: Instant): DeadLetterId {
  return eventIdAt(at).replace('evt_', 'dlq_') as DeadLetterId
}
