// The ledger: idempotency key → effect. Its life is the table in decide-effect.ts; this file is its shape.

import type { EventId, TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

export const LEDGER_STATES = ['reserved', 'done', 'released', 'unknown'] as const
export type LedgerState = (typeof LEDGER_STATES)[number]

/** How an entry came to its state; `person` and `probe` are proofs as good as an acknowledgement. */
export type LedgerProof =
  | 'acknowledged'
  | 'probe'
  | 'person'
  | 'never-sent'
  | 'not-applied'
  | 'crash'
  | 'no-answer'

export interface NewLedgerEntry {
  readonly key: string
  readonly work: WorkId
  readonly epoch: number
  readonly consumer: string
  readonly eventId: EventId
  readonly objectId: string | null
  readonly payloadHash: string
  readonly correlationId: string
  /** Left out: the one that the key is at, 1 at first. A higher one is a new row; the earlier ones stay as they are. */
  readonly generation?: number
}

export interface LedgerEntry extends NewLedgerEntry {
  readonly tenant: TenantId
  /** How often the effect was wanted on purpose: 1, and one more each time a person forced a repetition. */
  readonly generation: number
  readonly state: LedgerState
  readonly proof: LedgerProof | null
  /** A send must have begun by then; later than that plus the call's own limit, nothing can be on its way. */
  readonly sendBy: Instant | null
  readonly effectRef: string | null
  /** The mapped result as JSON text, bounded. */
  readonly result: string | null
  /** What stale owners saw, oldest first: JSON texts. */
  readonly evidence: readonly string[]
  readonly createdAt: Instant
  readonly settledAt: Instant | null
}
