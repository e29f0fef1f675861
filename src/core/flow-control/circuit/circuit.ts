// A circuit breaker: when a consumer pauses itself because its target fails, and when it continues. closed → open (too many
// failures) → half-open (one trial call) → closed, or open again (docs/spec/flow-control.md). Not its job: who makes the trial call,
// and what is stored.
//
// Invariants: I1 a circuit opens only by failures that count, or by a failed probe. I2 while it is open, only a trial at its time or a probe changes it. I3 a
// half-open circuit ignores outcomes other than the trial's. I4 a trial without a result is free for another caller after
// `openMs`.

import type { CircuitPolicy } from '../../definitions/documents/index.ts'
import type { FailureClass } from '../../failures/failure/index.ts'
import { unreachable } from '../../foundation/errors/index.ts'
import { type Instant, MINUTE } from '../../foundation/time/index.ts'

export interface ClosedCircuit {
  readonly state: 'closed'
  /** Consecutive failures. */
  readonly failures: number
  /** The latest outcomes since the first failure, at most as many as the policy considers. */
  readonly recent: readonly { readonly at: Instant; readonly isBad: boolean }[]
}

export interface BrokenCircuit {
  readonly state: 'open' | 'half-open'
  /** When it first opened. */
  readonly since: Instant
  /** Open: when a trial is allowed. Half-open: when the trial times out. */
  readonly tryAt: Instant
  /** How often it opened since then. */
  readonly opened: number
  /** The error of the failure that opened it. */
  readonly class: FailureClass
  /** A failed probe opened it, and nothing has confirmed the outage yet. Left out: failed calls did, or a second failure. */
  readonly by?: 'probe'
}

export type Circuit = ClosedCircuit | BrokenCircuit

/** `neither`: it says nothing about the other side's health. */
export type CircuitOutcome = 'good' | 'bad' | 'neither'

export type CircuitEvent =
  | {
      readonly type: 'told'
      readonly at: Instant
      readonly class: FailureClass | null
      readonly isTry: boolean
    }
  /** The result of a probe; null: it passed. */
  | {
      readonly type: 'probed'
      readonly at: Instant
      readonly class: FailureClass | null
      readonly isTry: boolean
    }
  /** A caller starts a trial. */
  | { readonly type: 'tried'; readonly at: Instant }
  /** An operator's decision. */
  | { readonly type: 'reset' }

export interface CircuitStep {
  readonly circuit: Circuit
  readonly change: 'opened' | 'reopened' | 'trying' | 'closed' | null
}

export const CLOSED: ClosedCircuit = { state: 'closed', failures: 0, recent: [] }

/** The share of failures is computed over this time. */
const WINDOW_MS = MINUTE

/** A refused payload says nothing about the next ones, and an exhausted quota is the bucket's concern. */
export function circuitOutcome(failureClass: FailureClass | null): CircuitOutcome {
  switch (failureClass) {
    case null:
      return 'good'
    case 'transient':
    case 'unknown':
    case 'auth':
    case 'config':
      return 'bad'
    case 'validation':
    case 'rate_limited':
    case 'poison':
      return 'neither'
  }
}

export function stepCircuit(circuit: Circuit, event: CircuitEvent, policy: CircuitPolicy): CircuitStep {
  switch (event.type) {
    case 'reset':
      return { circuit: CLOSED, change: circuit.state === 'closed' ? null : 'closed' }
    case 'tried':
      if (circuit.state === 'closed' || event.at < circuit.tryAt) return { circuit, change: null }
      return {
        circuit: { ...circuit, state: 'half-open', tryAt: event.at + policy.openMs },
        change: 'trying',
      }
    case 'told':
      return circuit.state === 'closed'
        ? stepClosed(circuit, event, policy)
        : reportBroken(circuit, event, policy)
    case 'probed':
      return event.class === null ? passProbe(circuit, event, policy) : failProbe(circuit, event, policy)
    default:
      return unreachable(event)
  }
}

type CallEvent = Extract<CircuitEvent, { type: 'told' }>
type ProbeEvent = Extract<CircuitEvent, { type: 'probed' }>

/** A probe closes what a probe opened. What calls opened it closes as the trial only. */
function passProbe(circuit: Circuit, event: ProbeEvent, policy: CircuitPolicy): CircuitStep {
  if (circuit.state === 'closed') return stepClosed(circuit, { ...event, type: 'told' }, policy)
  return event.isTry || circuit.by === 'probe'
    ? { circuit: CLOSED, change: 'closed' }
    : { circuit, change: null }
}

/** One failed probe is enough: nothing is sent until a probe or a trial call passes. */
function failProbe(
  circuit: Circuit,
  { at, class: failed, isTry }: ProbeEvent,
  policy: CircuitPolicy,
): CircuitStep {
  const failure = failed ?? 'unknown'
  const tryAt = at + policy.openMs
  if (circuit.state === 'closed')
    return {
      circuit: { state: 'open', since: at, tryAt, opened: 1, class: failure, by: 'probe' },
      change: 'opened',
    }
  const { by, ...confirmed } = circuit
  if (isTry)
    return {
      circuit: { ...confirmed, state: 'open', tryAt, opened: circuit.opened + 1, class: failure },
      change: 'reopened',
    }
  // A trial that is under way decides by itself.
  return { circuit: by === undefined ? circuit : confirmed, change: null }
}

function stepClosed(circuit: ClosedCircuit, event: CallEvent, policy: CircuitPolicy): CircuitStep {
  const outcome = circuitOutcome(event.class)
  if (outcome === 'neither') return { circuit, change: null }
  const isBad = outcome === 'bad'
  // No recent failure: nothing needs to be remembered.
  if (!isBad && circuit.recent.length === 0) return { circuit: CLOSED, change: null }
  const failures = isBad ? circuit.failures + 1 : 0
  const recent = [...circuit.recent, { at: event.at, isBad }]
    .filter(({ at }) => at > event.at - WINDOW_MS)
    .slice(-policy.of)
  const bad = recent.filter((one) => one.isBad).length
  const isPast = recent.length >= policy.of && bad >= policy.ratio * policy.of
  if (isBad && (failures >= policy.consecutive || isPast)) {
    const tryAt = event.at + policy.openMs
    const opened = {
      state: 'open',
      since: event.at,
      tryAt,
      opened: 1,
      class: event.class ?? 'unknown',
    } as const
    return { circuit: opened, change: 'opened' }
  }
  return {
    circuit: bad === 0 && failures === 0 ? CLOSED : { state: 'closed', failures, recent },
    change: null,
  }
}

function reportBroken(circuit: BrokenCircuit, event: CallEvent, policy: CircuitPolicy): CircuitStep {
  if (circuit.state === 'open' || !event.isTry) return { circuit, change: null }
  const { by: _confirmed, ...broken } = circuit
  const again = { ...broken, state: 'open', tryAt: event.at + policy.openMs } as const
  switch (circuitOutcome(event.class)) {
    case 'good':
      return { circuit: CLOSED, change: 'closed' }
    case 'bad':
      return {
        circuit: { ...again, opened: circuit.opened + 1, class: event.class ?? 'unknown' },
        change: 'reopened',
      }
    case 'neither':
      // Refused for its content: the other side responds. An exhausted quota is handled by its bucket.
      return event.class === 'validation'
        ? { circuit: CLOSED, change: 'closed' }
        : { circuit: again, change: 'reopened' }
  }
}
