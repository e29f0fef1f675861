// An orphan: an event that a workflow's trigger selected for one instance, and that found none, or several. It is stored and
// listed until an operator assigns it.

import type { EventId, InstanceId, OrphanId, TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

/** `waiting`: its instance may still be created. `open`: none was created in time, or it matches several. */
export const ORPHAN_STATES = ['waiting', 'open', 'correlated', 'discarded'] as const
export type OrphanState = (typeof ORPHAN_STATES)[number]

export const ORPHAN_REASONS = ['nobody', 'several'] as const
export type OrphanReason = (typeof ORPHAN_REASONS)[number]

export interface NewOrphan {
  readonly id: OrphanId
  readonly version: number
  readonly state: OrphanState
  readonly reason: OrphanReason
  readonly workflow: string
  /** The id of the trigger. */
  readonly trigger: string
  readonly eventId: EventId
  /** The trigger's job. */
  readonly workId: WorkId
  /** `name=value` of its keys, for users. */
  readonly keys: string
  /** For a waiting one, counted by the store from now; null: it stays. */
  readonly expiresInMs: number | null
  /** Where it went. */
  readonly instance: InstanceId | null
  readonly by: string | null
  readonly note: string | null
}

export interface Orphan extends Omit<NewOrphan, 'expiresInMs'> {
  readonly tenant: TenantId
  readonly expiresAt: Instant | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
}
