// A failure: what went wrong with one job, from the first time until it is resolved or escalated. One per job, which the
// replays of its dead letter continue; it is written in the same commit as the decision about the job.
//
// Invariants: FL1 resolved is final. FL2 an escalated failure stays so until it is resolved: another failed attempt does not
// hide it. FL3 a failure that is not retried any more is not open.

import { unreachable } from '../../foundation/errors/index.ts'
import type { EventId, FailureId, TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { FailureClass } from './failure-class.ts'

export const FAILURE_STATES = ['open', 'resolved', 'escalated'] as const
export type FailureState = (typeof FAILURE_STATES)[number]

export interface NewFailure {
  /** The job's id under another prefix; that of a connection's failure begins with its time. */
  readonly id: FailureId
  readonly state: FailureState
  /** The job that failed last; empty: it is the failure of a connection (FL12). */
  readonly workId: WorkId | ''
  readonly consumer: string
  /** The job's event; of a connection, the latest one about the failure. */
  readonly eventId: EventId
  readonly class: FailureClass
  /** Why it is not retried any more; null while it is. */
  readonly reason: string | null
  readonly key: string | null
  readonly attempts: number
  readonly lastError: string
  /** null: not automatically. */
  readonly retryInMs: number | null
  readonly correlationId: string
  readonly severity: string
  /** The cause it shares with the other failures of its escalation; null: it has no escalation. */
  readonly cause: string | null
}

export interface Failure extends Omit<NewFailure, 'retryInMs'> {
  readonly tenant: TenantId
  readonly willRetryAt: Instant | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

export function failureId(work: WorkId): FailureId {
  return `fail_${work.slice('wrk_'.length)}` as FailureId
}

/** The details of a failed attempt. */
export type FailedTry = Pick<NewFailure, 'workId' | 'eventId' | 'class' | 'key' | 'attempts' | 'lastError'>

export type FailureEvent =
  /** It will be retried. */
  | { readonly type: 'failed'; readonly tried: FailedTry; readonly retryInMs: number }
  /** It is not retried automatically any more: a dead letter, or a job that needs a decision. */
  | {
      readonly type: 'ended'
      readonly tried: FailedTry
      readonly reason: string
      readonly cause: string
    }
  /** It has been open for too long, while it is still retried. */
  | { readonly type: 'lingered'; readonly cause: string; readonly retryInMs: number | null }
  | { readonly type: 'succeeded' }
  /** An operator ended it: `cancelled`, `discarded`. */
  | { readonly type: 'closed'; readonly reason: string }

const ALLOWED: Readonly<Record<FailureEvent['type'], readonly FailureState[]>> = {
  failed: ['open', 'escalated'],
  ended: ['open', 'escalated'],
  lingered: ['open'],
  succeeded: ['open', 'escalated'],
  closed: ['open', 'escalated'],
}

/** null: nothing changes. */
export function stepFailure(row: NewFailure, event: FailureEvent): NewFailure | null {
  if (!ALLOWED[event.type].includes(row.state)) return null
  switch (event.type) {
    case 'failed':
      return { ...row, ...event.tried, reason: null, retryInMs: event.retryInMs }
    case 'ended': {
      const { tried, reason, cause } = event
      return { ...row, ...tried, state: 'escalated', reason, cause, retryInMs: null }
    }
    case 'lingered':
      return { ...row, state: 'escalated', cause: event.cause, retryInMs: event.retryInMs }
    case 'succeeded':
      return { ...row, state: 'resolved', reason: null, retryInMs: null }
    case 'closed':
      return { ...row, state: 'resolved', reason: event.reason, retryInMs: null }
    default:
      return unreachable(event)
  }
}
