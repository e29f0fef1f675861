// The outbox: what is still to be told to the bus, kept by the store in the same commit as what it tells of.

import type { EventId, TenantId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

export interface NewOutboxRow {
  /** By which the bus passes over a repetition. */
  readonly id: string
  readonly subject: string
  readonly about: 'event' | 'token'
  /** Of the event that is told; null: it is not one. */
  readonly event: EventId | null
  /** What is told; null for an event, whose own row has it, and for a token that left. */
  readonly body: string | null
}

export interface OutboxRow extends NewOutboxRow {
  readonly tenant: TenantId
  /** Its own in the store for good: no other row ever gets it. */
  readonly position: number
  readonly createdAt: Instant
}
