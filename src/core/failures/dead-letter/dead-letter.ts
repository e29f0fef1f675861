// A dead letter: a job that is not retried automatically, stored until an operator replays or discards it.

import type { DeadLetterId, EventId, FailureId, TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { FailureClass } from '../failure/index.ts'

export const DEAD_LETTER_STATES = ['open', 'ready_to_replay', 'replaying', 'resolved', 'discarded'] as const
export type DeadLetterState = (typeof DEAD_LETTER_STATES)[number]

export const DEAD_LETTER_REASONS = [
  'cap_reached',
  'expired',
  'crash_loop',
  'unparseable',
  'rejected',
  'definition_missing',
  'config_missing',
  'ambiguous_routes',
  'too_many_elements',
  'rotation_failed',
  'over_rate_limit',
] as const
export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number]

export interface NewDeadLetter {
  readonly id: DeadLetterId
  readonly version: number
  readonly state: DeadLetterState
  readonly class: FailureClass
  readonly reason: DeadLetterReason
  /** `route:<name>`; `source:<name>` for an event that could not be matched. */
  readonly consumer: string
  readonly eventId: EventId
  /** The latest failed job. */
  readonly workId: WorkId
  readonly attempts: number
  readonly replays: number
  readonly lastError: string
  readonly key: string | null
  readonly correlationId: string
  readonly payloadHash: string
  readonly runbook: string | null
  readonly severity: string
  /** How far it got: `match`, `key`, `call`, `probe`, `function`, `effect <name>`, `batch`, `find` …; null: not known. */
  readonly step: string | null
  /** The failure that it represents, which its replays continue; null: from before failures were stored. */
  readonly failureId: FailureId | null
}

export interface DeadLetter extends NewDeadLetter {
  readonly tenant: TenantId
  readonly createdAt: Instant
  readonly updatedAt: Instant
}
