// A failure: what went wrong with one work item, from the first time until it is resolved or escalated. One per item; it is
// written in the same commit as the decision about the item.

import type { EventId, FailureId, TenantId, WorkId } from '../ids/index.ts'
import type { Instant } from '../time/index.ts'
import type { FailureClass } from './class.ts'

export const FAILURE_STATES = ['open', 'resolved', 'escalated'] as const
export type FailureState = (typeof FAILURE_STATES)[number]

export interface NewFailure {
  /** That of its work item under another prefix. */
  readonly id: FailureId
  readonly state: FailureState
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
