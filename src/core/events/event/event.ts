// The event: an immutable envelope that was accepted.

import type { EventId, TenantId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

export interface Envelope {
  readonly id: EventId
  readonly tenant: TenantId
  readonly source: string
  readonly subject: string
  readonly objectType: string | null
  readonly objectId: string | null
  readonly occurredAt: Instant | null
  readonly correlationId: string
  readonly causationId: EventId | null
  readonly traceId: string
  readonly dedupKey: string
  readonly payloadHash: string
}

/**
 * What the store appends. `headers` and `data` are serialised once, at the edge, and never parsed by the store.
 * `data` is the JSON text of the payload, exactly as received where the body was JSON.
 */
export interface NewEvent extends Envelope {
  readonly headers: string
  readonly data: string
  /** The body's text as received where it is not JSON (forms, text); null for JSON, whose `data` is that text. */
  readonly raw: string | null
  /**
   * Paths that are stored encrypted. Not a column of any store: the encrypting store wraps them into the ciphertext, and
   * restores them.
   */
  readonly sensitive: readonly string[]
  /** How many consumers matched: 0 is shown as unmatched. */
  readonly matched: number
}

export interface StoredEvent extends NewEvent {
  /** The store's own clock at the commit. */
  readonly receivedAt: Instant
  /** How often its dedup key was received again within the window, and when last. */
  readonly duplicates: number
  readonly lastDuplicateAt: Instant | null
}

/** For lists: everything but the bodies, which may be megabytes each, and the fields that need them. */
export type EventSummary = Omit<StoredEvent, 'headers' | 'data' | 'raw' | 'sensitive'>
