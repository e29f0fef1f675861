// The life of an integration run. An attempt is counted when it begins, so that one whose end was never recorded is counted
// too; its outcome is recorded when it ends.
//
// Invariants: RN1, RN2, RN3 (docs/spec/integration-runs.md).

import type { Scrub } from '../../events/sensitive/index.ts'
import type { FailureClass } from '../../failures/failure/index.ts'
import { unreachable } from '../../foundation/errors/index.ts'
import { type NewRun, RUN_ATTEMPTS_MAX, type RunAttempt, type RunState } from './integration-run.ts'

/** The fixed fields of a run. */
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

/** The run assigns its number. */
export type MadeAttempt = Omit<RunAttempt, 'number'>

export type RunEvent =
  /** Written before anything is sent. */
  | { readonly type: 'begun' }
  /** The effect exists. `attempt` null: found without a call, by a probe or an operator. */
  | { readonly type: 'answered'; readonly attempt: MadeAttempt | null; readonly externalRef: string | null }
  /** It may be retried. */
  | { readonly type: 'failed'; readonly attempt: MadeAttempt }
  /** It is not retried any more. `attempt` null: already recorded, or nothing was sent at all. */
  | {
      readonly type: 'buried'
      readonly attempt: MadeAttempt | null
      readonly class: FailureClass
      readonly error: string
    }

const FINAL: readonly RunState[] = ['completed', 'dead-lettered']

/** null: nothing changes. `scrub` redacts the texts of an attempt. */
export function stepRun(run: NewRun, event: RunEvent, scrub: Scrub): NewRun | null {
  if (FINAL.includes(run.state)) return null
  switch (event.type) {
    case 'begun':
      return { ...run, state: 'running', attemptCount: run.attemptCount + 1 }
    case 'answered': {
      const { attempt, externalRef } = event
      const recorded = attempt === null ? run : recordAttempt(run, attempt, scrub)
      return { ...recorded, state: 'completed', class: null, error: null, externalRef }
    }
    case 'failed':
      return { ...recordAttempt(run, event.attempt, scrub), state: 'failed' }
    case 'buried': {
      const recorded = event.attempt === null ? run : recordAttempt(run, event.attempt, scrub)
      return { ...recorded, state: 'dead-lettered', class: event.class, error: scrub(event.error) }
    }
    default:
      return unreachable(event)
  }
}

function recordAttempt(run: NewRun, made: MadeAttempt, scrub: Scrub): NewRun {
  // An attempt whose beginning was not recorded is counted at its end.
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
