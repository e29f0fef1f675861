// A failure: what went wrong with one work item, from the first time until it is resolved or escalated. One per item, which the
// replays of its dead letter go on with; it is written in the same commit as the decision about the item.
//
// Invariants: FL1 resolved is final. FL2 what was escalated stays so until it is resolved: another failed try does not hide it.
// FL3 when nobody tries any more it is not open.

import { unreachable } from '../../foundation/errors/index.ts'
import type { EventId, FailureId, TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { FailureClass } from './failure-class.ts'

export const FAILURE_STATES = ['open', 'resolved', 'escalated'] as const
export type FailureState = (typeof FAILURE_STATES)[number]

export interface NewFailure {
  /** That of its work item under another prefix. */
  readonly id: FailureId
  readonly state: FailureState
  /** The item that failed last. */
  readonly workId: WorkId
  readonly consumer: string
  readonly eventId: EventId
  readonly class: FailureClass
  /** Why nobody tries any more; null while somebody does. */
  readonly reason: string | null
  readonly key: string | null
  readonly attempts: number
  readonly lastError: string
  /** null: not by itself. */
  readonly retryInMs: number | null
  readonly correlationId: string
  readonly severity: string
  /** What it has in common with the others of its escalation; null: it has none. */
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

/** What a try that failed says of it. */
export type FailedTry = Pick<NewFailure, 'workId' | 'eventId' | 'class' | 'key' | 'attempts' | 'lastError'>

export type FailureEvent =
  /** Somebody tries again. */
  | { readonly type: 'failed'; readonly tried: FailedTry; readonly retryInMs: number }
  /** Nobody tries any more by himself: a dead letter, or an item that waits for a person. */
  | {
      readonly type: 'ended'
      readonly tried: FailedTry
      readonly reason: string
      readonly cause: string
    }
  /** It has been open for too long, while somebody still tries. */
  | { readonly type: 'lingered'; readonly cause: string; readonly retryInMs: number | null }
  | { readonly type: 'succeeded' }
  /** A person ended it: `cancelled`, `discarded`. */
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
