// An integration run: one execution of an operation on a connection, with its attempts. pending → running → completed | failed;
// failed → running (one more attempt) | dead-lettered. Not its job: when it is retried, which the job decides.
//
// Its steps are in integration-run-step.ts, its rules in docs/spec/integration-runs.md.

import type { FailureClass } from '../../failures/failure/index.ts'
import type { EventId, RunId, TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

export const RUN_STATES = ['pending', 'running', 'completed', 'failed', 'dead-lettered'] as const
export type RunState = (typeof RUN_STATES)[number]

/**
 * `work`: for a route, a step or a function. `test`: requested by a user, without a job. `verification`: of a credential's new
 * secret.
 */
export const RUN_PURPOSES = ['work', 'test', 'verification'] as const
export type RunPurpose = (typeof RUN_PURPOSES)[number]

export interface RunAttempt {
  readonly number: number
  readonly startedAt: Instant
  readonly durationMs: number
  /** null: it succeeded. */
  readonly class: FailureClass | null
  readonly httpStatus: number | null
  readonly error: string | null
  /** The credential's version; null: none was used. */
  readonly credentialVersion: number | null
  /** Method, address and headers of the request, redacted and truncated; null: nothing was sent. */
  readonly request: string | null
  /** Status, headers and the beginning of the body, redacted and truncated; null: no response. */
  readonly response: string | null
}

export interface NewRun {
  readonly id: RunId
  readonly state: RunState
  readonly purpose: RunPurpose
  readonly connection: string
  readonly provider: string
  readonly operation: string
  /** null: it belongs to no job. */
  readonly workId: WorkId | null
  readonly eventId: EventId | null
  readonly correlationId: string
  readonly traceId: string
  readonly key: string | null
  /** The number of all attempts; `attempts` has the latest. */
  readonly attemptCount: number
  readonly attempts: readonly RunAttempt[]
  /** Of the last attempt. */
  readonly class: FailureClass | null
  readonly httpStatus: number | null
  readonly durationMs: number | null
  readonly error: string | null
  /** The vendor's reference to the effect. */
  readonly externalRef: string | null
  /** The run that this one repeats. */
  readonly replayOf: RunId | null
}

export interface Run extends NewRun {
  readonly tenant: TenantId
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** How many attempts a run stores. */
export const RUN_ATTEMPTS_MAX = 20
