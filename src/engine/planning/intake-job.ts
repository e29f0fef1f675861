// The intake job: stands for the event itself while it waits to be matched, is matched again, or cannot be matched.

import type { NewEvent } from '../../core/events/event/index.ts'
import type { DeadLetterReason, NewDeadLetter } from '../../core/failures/dead-letter/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import type { Ids } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE, type NewWork } from '../../core/queue/work/index.ts'
import type { Write } from '../../ports/store.ts'
import { newDeadLetter, storableError } from '../settlement/index.ts'

/** Why an event cannot be processed. */
export interface Refusal {
  readonly ok: false
  readonly class: FailureClass
  readonly reason: DeadLetterReason
  readonly error: string
}

export function refuse(failureClass: FailureClass, reason: DeadLetterReason, error: string): Refusal {
  return { ok: false, class: failureClass, reason, error }
}

/** A stored event waits for as long as its source is paused; this is only an upper bound that is not reached in practice. */
const INTAKE_EXPIRES_IN_MS = 3_650 * DAY

export function newIntake(
  ids: Ids,
  event: Pick<NewEvent, 'id' | 'source'>,
  definition: string,
  replayOf: NewWork['replayOf'] = null,
): NewWork {
  return {
    id: ids.work(),
    kind: 'intake',
    consumer: intakeConsumer(event),
    definition,
    codeHash: null,
    eventId: event.id,
    expiresInMs: INTAKE_EXPIRES_IN_MS,
    replayOf,
  }
}

/** A job that is dead at once, with its dead letter: written with its event, or after it. */
export function refusedWork(
  ids: Ids,
  event: NewEvent,
  definition: string,
  refusal: Refusal,
): {
  readonly work: NewWork
  readonly writes: readonly Write[]
  readonly deadLetter: NewDeadLetter
} {
  const work = newIntake(ids, event, definition)
  const error = storableError(event, refusal.error)
  const counters = { attempts: 0, waits: 0, losses: 0 }
  const note = { ...EMPTY_NOTE, class: refusal.class, lastError: error }
  const deadLetter = newDeadLetter(ids, work, event, null, { ...refusal, error, attempts: 0, key: null })
  return {
    work,
    writes: [
      { w: 'work.add', work, lease: null, delayMs: 0 },
      { w: 'work.settle', work: work.id, to: 'dead', counters, note },
      { w: 'deadLetter.put', row: deadLetter },
    ],
    deadLetter,
  }
}

/** The source that received the event from outside; null: it was created internally. */
export function receiverOf({ source }: Pick<NewEvent, 'source'>): string | null {
  return source.includes(':') ? null : source
}

/** Whose slot the intake of an event takes: its source's, also if it was dispatched; otherwise one named after its creator. */
export function intakeConsumer({ source }: Pick<NewEvent, 'source'>): string {
  return source.startsWith('source:') ? source : `source:${source}`
}
