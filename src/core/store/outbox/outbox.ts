// The outbox: messages still to be published to the bus, stored in the same commit as the change that they announce.

import type { EventId, TenantId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

export interface NewOutboxRow {
  /** The bus deduplicates by it. */
  readonly id: string
  readonly subject: string
  readonly about: 'event' | 'token'
  /** Of the published event; null: it is a token, or an event whose fact is the body. */
  readonly event: EventId | null
  /** The content; null for an event that has a row of its own, and for a token that left. */
  readonly body: string | null
}

export interface OutboxRow extends NewOutboxRow {
  readonly tenant: TenantId
  /** Unique in the store forever: no other row ever gets it. */
  readonly position: number
  readonly createdAt: Instant
}
