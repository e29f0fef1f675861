// core/connections/connection/connection-state.ts — what became of a connection beside its document: whether it may run anything, and how the other side does.
// It is kept as a record by the connection's name, and followed by all nodes.
//
// Invariants: CX1 active only after a passed test. CX2 retired is final for its document: nothing runs.

import type { FailureClass } from '../../failures/failure/index.ts'
import type { Circuit } from '../../flow-control/circuit/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

/** `degraded`: it works as far as we know, but its probe or its calls fail. It runs, as its circuit says. */
export const CONNECTION_STATUSES = ['pending', 'active', 'degraded', 'retired'] as const
export type ConnectionStatus = (typeof CONNECTION_STATUSES)[number]

export const HEALTHS = ['unknown', 'healthy', 'degraded', 'unhealthy'] as const
export type Health = (typeof HEALTHS)[number]

/** One look at the other side. */
export interface ProbeResult {
  /** The beginning of the window that it was for: a later window wins. */
  readonly window: Instant
  readonly at: Instant
  readonly ok: boolean
  readonly durationMs: number
  readonly httpStatus: number | null
  readonly class: FailureClass | null
  readonly error: string | null
  /** The other side answered, and its answer says nothing of the credential; left out: it does, or there was no answer. */
  readonly isUnverified?: true
}

/** What a person says of a circuit, until its end. */
export interface CircuitOverride {
  readonly is: 'open' | 'closed'
  readonly reason: string
  readonly by: string
  readonly since: Instant
  /** null: until it is taken back. */
  readonly until: Instant | null
}

export interface ConnectionState {
  readonly form: 1
  readonly status: ConnectionStatus
  readonly health: Health
  /** Hash of the document that was tested; another one in force is pending until it is tested. */
  readonly testedHash: string | null
  readonly lastTest: ProbeResult | null
  readonly circuit: Circuit
  readonly override: CircuitOverride | null
  readonly retired: {
    readonly by: string
    readonly reason: string
    readonly at: Instant
    /** Of the document that was retired: another one begins anew. */
    readonly hash: string
  } | null
  readonly updatedAt: Instant
}
