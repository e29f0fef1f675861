// The state of a connection beside its document: whether it may run anything, and its health. Stored as a record under the
// connection's name; all nodes follow it.
//
// Invariants: CX1 active only after a passed test. CX2 retired is final for its document: nothing runs.

import type { FailureClass } from '../../failures/failure/index.ts'
import type { Circuit } from '../../flow-control/circuit/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

/** `degraded`: its probe or its calls fail. It still runs, as far as its circuit allows. */
export const CONNECTION_STATUSES = ['pending', 'active', 'degraded', 'retired'] as const
export type ConnectionStatus = (typeof CONNECTION_STATUSES)[number]

export const HEALTHS = ['unknown', 'healthy', 'degraded', 'unhealthy'] as const
export type Health = (typeof HEALTHS)[number]

/** The result of one probe or test. */
export interface ProbeResult {
  /** The start of the window that it belongs to: a later window wins. */
  readonly window: Instant
  readonly at: Instant
  readonly ok: boolean
  readonly durationMs: number
  readonly httpStatus: number | null
  readonly class: FailureClass | null
  readonly error: string | null
  /**
   * True: the other side responded, but the response says nothing about the credential. Left out: it does, or there was no
   * response.
   */
  readonly isUnverified?: true
}

/** An operator's override of a circuit, until it expires. */
export interface CircuitOverride {
  readonly is: 'open' | 'closed'
  readonly reason: string
  readonly by: string
  readonly since: Instant
  /** null: until it is withdrawn. */
  readonly until: Instant | null
}

/** Why a connection is degraded, from the first failure until it works again: one failure of the list (FL12). */
export interface ConnectionFailing {
  /** Also identifies the failure. */
  readonly since: Instant
  /** When it was published last. */
  readonly toldAt: Instant
  readonly class: FailureClass
  readonly attempts: number
  /** More than one failed probe: its escalation was raised. */
  readonly isOutage: boolean
}

export interface ConnectionState {
  readonly form: 1
  readonly status: ConnectionStatus
  readonly health: Health
  /** Hash of the document that was tested; a different deployed document is pending until it is tested. */
  readonly testedHash: string | null
  readonly lastTest: ProbeResult | null
  readonly circuit: Circuit
  readonly override: CircuitOverride | null
  readonly retired: {
    readonly by: string
    readonly reason: string
    readonly at: Instant
    /** Hash of the document that was retired: a different document starts over. */
    readonly hash: string
  } | null
  /** Left out: it does not fail, or an earlier version wrote the state. */
  readonly failing?: ConnectionFailing
  readonly updatedAt: Instant
}
