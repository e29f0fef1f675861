// An escalation: failures of one cause, shown to operators until one acknowledges them. Many failures of one cause are one
// escalation with a count, so that a flood is one thing to look at.

import type { EscalationId, TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { FailureClass } from '../failure/index.ts'

export const ESCALATION_STATES = ['raised', 'acknowledged'] as const
export type EscalationState = (typeof ESCALATION_STATES)[number]

export interface NewEscalation {
  /** Used when no escalation of the cause is raised. */
  readonly id: EscalationId
  readonly cause: string
  readonly consumer: string
  readonly class: FailureClass
  readonly reason: string
  readonly severity: string
  readonly runbook: string | null
  /** As in the latest of them. */
  readonly lastError: string
  /** The latest of them; null: it concerns no job, but the consumer. */
  readonly workId: WorkId | null
}

export interface Escalation extends NewEscalation {
  readonly tenant: TenantId
  readonly version: number
  readonly state: EscalationState
  readonly count: number
  /** Its event was published. */
  readonly isAnnounced: boolean
  readonly acknowledgedBy: string | null
  readonly note: string | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
}
