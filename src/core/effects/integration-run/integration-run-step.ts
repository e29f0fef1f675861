// The life of a run. An attempt is counted when it begins, so that one whose end nobody saw is counted too; what came of it is told
// when it ends.
//
// Invariants: RN1, RN2, RN3 (docs/spec/runs.md).

import type { Scrub } from '../../events/sensitive/index.ts'
import type { FailureClass } from '../../failures/failure/index.ts'
import { unreachable } from '../../foundation/errors/index.ts'
import { type NewRun, RUN_ATTEMPTS_MAX, type RunAttempt, type RunState } from './integration-run.ts'

/** What a run is about, from its beginning on. */
export type RunAbout = Pick<
  NewRun,
  | 'id'
  | 'purpose'
  | 'connection'
  | 'provider'
  | 'operation'
  | 'workId'
  | 'eventId'
  | 'correlationId'
  | 'traceId'
  | 'key'
  | 'replayOf'
>

export function makeRun(about: RunAbout): NewRun {
  return {
    id: about.id,
    state: 'pending',
    purpose: about.purpose,
    connection: about.connection,
    provider: about.provider,
    operation: about.operation,
    workId: about.workId,
    eventId: about.eventId,
    correlationId: about.correlationId,
    traceId: about.traceId,
    key: about.key,
    attemptCount: 0,
    attempts: [],
    class: null,
    httpStatus: null,
    durationMs: null,
    error: null,
    externalRef: null,
    replayOf: about.replayOf,
  }
}

/** Its number is for the run to say. */
export type MadeAttempt = Omit<RunAttempt, 'number'>

export type RunEvent =
  /** Written before anything is sent. */
  | { readonly type: 'begun' }
  /** The effect is there. `attempt` null: nobody called for it; somebody looked, or said so. */
  | { readonly type: 'answered'; readonly attempt: MadeAttempt | null; readonly externalRef: string | null }
  /** Somebody may try again. */
  | { readonly type: 'failed'; readonly attempt: MadeAttempt }
  /** Nobody tries any more. `attempt` null: it was told before, or nothing was sent at all. */
  | {
      readonly type: 'buried'
      readonly attempt: MadeAttempt | null
      readonly class: FailureClass
      readonly error: string
    }

const FINAL: readonly RunState[] = ['completed', 'dead-lettered']

/** null: nothing changes. `scrub` takes out of the texts of an attempt what nobody is to see. */
export function stepRun(run: NewRun, event: RunEvent, scrub: Scrub): NewRun | null {
  if (FINAL.includes(run.state)) return null
  switch (event.type) {
    case 'begun':
      return { ...run, state: 'running', attemptCount: run.attemptCount + 1 }
    case 'answered': {
      const { attempt, externalRef } = event
      const told = attempt === null ? run : tell(run, attempt, scrub)
      return { ...told, state: 'completed', class: null, error: null, externalRef }
    }
    case 'failed':
      return { ...tell(run, event.attempt, scrub), state: 'failed' }
    case 'buried': {
      const told = event.attempt === null ? run : tell(run, event.attempt, scrub)
      return { ...told, state: 'dead-lettered', class: event.class, error: scrub(event.error) }
    }
    default:
      return unreachable(event)
  }
}

function tell(run: NewRun, made: MadeAttempt, scrub: Scrub): NewRun {
  // One that nobody saw begin is counted with its end.
  const number = run.state === 'running' ? run.attemptCount : run.attemptCount + 1
  const hide = (text: string | null) => (text === null ? null : scrub(text))
  const attempt: RunAttempt = {
    ...made,
    number,
    error: hide(made.error),
    request: hide(made.request),
    response: hide(made.response),
  }
  const { class: failure, httpStatus, durationMs, error } = attempt
  const attempts = [...run.attempts, attempt].slice(-RUN_ATTEMPTS_MAX)
  return { ...run, attemptCount: number, attempts, class: failure, httpStatus, durationMs, error }
}
