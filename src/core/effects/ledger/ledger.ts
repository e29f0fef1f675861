// The ledger: idempotency key → effect. Its life is the table in decide-effect.ts; this file is its shape.

import type { EventId, TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

export const LEDGER_STATES = ['reserved', 'done', 'released', 'unknown'] as const
export type LedgerState = (typeof LEDGER_STATES)[number]

/** How an entry reached its state; `person` and `probe` are proofs as good as an acknowledgement. */
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
  /** Left out: the current generation of the key, 1 at first. A higher one is a new row; the earlier ones stay as they are. */
  readonly generation?: number
}

export interface LedgerEntry extends NewLedgerEntry {
  readonly tenant: TenantId
  /** How often the effect was deliberately requested: 1, plus one each time an operator forced a repetition. */
  readonly generation: number
  readonly state: LedgerState
  readonly proof: LedgerProof | null
  /** A send must have begun by then; after that plus the call's own time limit, no call can be in flight. */
  readonly sendBy: Instant | null
  readonly effectRef: string | null
  /** The mapped result as JSON text, bounded in size. */
  readonly result: string | null
  /** What stale owners saw, oldest first, as JSON texts. */
  readonly evidence: readonly string[]
  readonly createdAt: Instant
  readonly settledAt: Instant | null
}
