// What a recovery would do: how many deliveries it would replay, add, or leave as they are. Calls nobody and writes nothing.

import type { DeadLetterId, EventId } from '../../core/ids/index.ts'
import type { Instant } from '../../core/time/index.ts'

/**
 * `failed`: its dead letter would be replayed. `missing`: it would be sent for the first time. `delivered`, `under-way`: left as
 * they are. `given-up`: a person discarded its letter, or it was skipped for a reason that holds. `unmatched`: its event itself
 * waits to be matched, or could not be.
 */
export const RECOVERY_VERDICTS = [
  'failed',
  'missing',
  'delivered',
  'under-way',
  'given-up',
  'unmatched',
] as const
export type RecoveryVerdict = (typeof RECOVERY_VERDICTS)[number]

export interface PreviewedDelivery {
  readonly eventId: EventId
  readonly subject: string
  readonly receivedAt: Instant
  readonly verdict: RecoveryVerdict
  readonly deadLetterId: DeadLetterId | null
}

export interface DeliveriesPreview {
  /** Of the events looked at that the subscription wants. */
  readonly totals: Readonly<Record<RecoveryVerdict, number>>
  /** How many of them would go out, by what was asked for. */
  readonly recovered: number
  /** The first of those that would go out. */
  readonly items: readonly PreviewedDelivery[]
  /** How many events were looked at, and up to when. */
  readonly walked: number
  readonly walkedTo: Instant | null
  /** Whether all were; a preview looks at a bounded number, a recovery at all. */
  readonly isComplete: boolean
  /** When the oldest event that is still kept was received: what is older is gone. null: there is none. */
  readonly oldestEventAt: Instant | null
}
