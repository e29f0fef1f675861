// core/flow-control/circuit/circuit.ts — when a consumer pauses itself because what it calls does not work, and when it goes on.
// closed → open (too many failures) → half-open (tries one) → closed, or open again (docs/spec/pace.md).
// Not its job: who tries, and what is written down of it.
//
// Invariants: I1 a circuit opens only by failures that count. I2 while it is open nothing but a try at its time changes it. I3
// what is not the try's says nothing to a half-open one. I4 a try whose end nobody tells is free for another after `openMs`.

import type { CircuitPolicy } from '../../definitions/documents/index.ts'
import type { FailureClass } from '../../failures/failure/index.ts'
import { unreachable } from '../../foundation/errors/index.ts'
import { type Instant, MINUTE } from '../../foundation/time/index.ts'

export interface ClosedCircuit {
  readonly state: 'closed'
  /** Failures since the last success. */
  readonly failures: number
  /** The latest since the first failure, at most as many as the policy looks at. */
  readonly recent: readonly { readonly at: Instant; readonly isBad: boolean }[]
}

export interface BrokenCircuit {
  readonly state: 'open' | 'half-open'
  /** When it opened first. */
  readonly since: Instant
  /** Open: when one may be tried. Half-open: until when somebody tries. */
  readonly tryAt: Instant
  /** How often it opened since then. */
  readonly opened: number
  /** As the failure said that opened it. */
  readonly class: FailureClass
}

export type Circuit = ClosedCircuit | BrokenCircuit

/** `neither`: it says nothing of the other side's health. */
export type CircuitOutcome = 'good' | 'bad' | 'neither'

export type CircuitEvent =
  | {
      readonly type: 'told'
      readonly at: Instant
      readonly class: FailureClass | null
      readonly isTry: boolean
    }
  /** Somebody begins to try one. */
  | { readonly type: 'tried'; readonly at: Instant }
  /** A person says so. */
  | { readonly type: 'reset' }

export interface CircuitStep {
  readonly circuit: Circuit
  readonly change: 'opened' | 'reopened' | 'trying' | 'closed' | null
}

export const CLOSED: ClosedCircuit = { state: 'closed', failures: 0, recent: [] }

/** The share of failures is looked at within this time. */
const WINDOW_MS = MINUTE

/** A refused payload says nothing of those that come after it, and a full quota is the bucket's affair. */
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
        ? tellClosed(circuit, event, policy)
        : tellBroken(circuit, event, policy)
    default:
      return unreachable(event)
  }
}

type Told = Extract<CircuitEvent, { type: 'told' }>

function tellClosed(circuit: ClosedCircuit, event: Told, policy: CircuitPolicy): CircuitStep {
  const outcome = circuitOutcome(event.class)
  if (outcome === 'neither') return { circuit, change: null }
  const isBad = outcome === 'bad'
  // Nothing went wrong lately: nothing is to be remembered.
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

function tellBroken(circuit: BrokenCircuit, event: Told, policy: CircuitPolicy): CircuitStep {
  if (circuit.state === 'open' || !event.isTry) return { circuit, change: null }
  const again = { ...circuit, state: 'open', tryAt: event.at + policy.openMs } as const
  switch (circuitOutcome(event.class)) {
    case 'good':
      return { circuit: CLOSED, change: 'closed' }
    case 'bad':
      return {
        circuit: { ...again, opened: circuit.opened + 1, class: event.class ?? 'unknown' },
        change: 'reopened',
      }
    case 'neither':
      // Refused for what it was about: the other side answers. A full quota is told by its bucket.
      return event.class === 'validation'
        ? { circuit: CLOSED, change: 'closed' }
        : { circuit: again, change: 'reopened' }
  }
}
