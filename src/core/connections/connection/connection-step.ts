// How tests, probes, calls and operator actions change a connection. pending → active (a passed test) ⇄ degraded (its probe
// fails, or its circuit is not closed); retired from any of them. Not its job: who tests, probes or calls, and what is stored.
//
// Invariants: CX1 active only after a passed test of this exact document. CX2 a retired document runs nothing, whatever events
// arrive. CX3 an operator's override of the circuit wins over the circuit until it expires. CX9 a refusal of one call does not
// open the circuit for the others.

import { type CircuitPolicy, USUAL_CIRCUIT } from '../../definitions/documents/index.ts'
import type { FailureClass } from '../../failures/failure/index.ts'
import { type CircuitEvent, CLOSED, stepCircuit } from '../../flow-control/circuit/index.ts'
import { unreachable } from '../../foundation/errors/index.ts'
import { HOUR, type Instant } from '../../foundation/time/index.ts'
import type {
  CircuitOverride,
  ConnectionFailing,
  ConnectionState,
  ConnectionStatus,
  ProbeResult,
} from './connection-state.ts'

/** The relevant parts of the deployed document. */
export interface ConnectionTerms {
  readonly hash: string
  readonly isRetired: boolean
  /** null: its circuit never opens. */
  readonly circuit: CircuitPolicy | null
}

export type ConnectionEvent =
  /** A test of the deployed document, started by an operator or by the node itself. */
  | { readonly type: 'tested'; readonly at: Instant; readonly result: ProbeResult }
  /** A scheduled probe. `isTry`: it was let through an open circuit. */
  | { readonly type: 'probed'; readonly at: Instant; readonly result: ProbeResult; readonly isTry: boolean }
  /** The outcome of a call; null: it succeeded. */
  | {
      readonly type: 'told'
      readonly at: Instant
      readonly class: FailureClass | null
      readonly isTry: boolean
    }
  /** A caller starts a trial call through an open circuit. */
  | { readonly type: 'tried'; readonly at: Instant }
  /** null: no override. */
  | { readonly type: 'overridden'; readonly at: Instant; readonly override: CircuitOverride | null }
  | { readonly type: 'retired'; readonly at: Instant; readonly by: string; readonly reason: string }

/**
 * Changes to publish. `failing`, `still-failing` and `resolved` are about its failure; `outage` confirms it: a second failed
 * probe or trial, or calls that opened the circuit.
 */
export type ConnectionNotice =
  | 'activated'
  | 'degraded'
  | 'recovered'
  | 'retired'
  | 'failing'
  | 'outage'
  | 'still-failing'
  | 'resolved'

export interface ConnectionStep {
  readonly state: ConnectionState
  readonly notices: readonly ConnectionNotice[]
  /** What the circuit did; `trying`: the trial belongs to the caller whose step is stored first. */
  readonly circuit: 'opened' | 'reopened' | 'trying' | 'closed' | null
  /** The failure that it has, or that this step resolves. */
  readonly failing: ConnectionFailing | null
  /** Whether the state must be stored: the counts of a closed circuit are not. */
  readonly mustStore: boolean
}

export const NEW_CONNECTION: ConnectionState = {
  form: 1,
  status: 'pending',
  health: 'unknown',
  testedHash: null,
  lastTest: null,
  circuit: CLOSED,
  override: null,
  retired: null,
  updatedAt: 0,
}

/** Evaluated for the deployed document, which may differ from the one that the state was written under. */
export function connectionStatus(state: ConnectionState, terms: ConnectionTerms): ConnectionStatus {
  if (terms.isRetired || state.retired?.hash === terms.hash) return 'retired'
  if (state.testedHash !== terms.hash) return 'pending'
  const isWell =
    state.circuit.state === 'closed' && state.health !== 'degraded' && state.health !== 'unhealthy'
  return isWell ? 'active' : 'degraded'
}

/** The operator's override of the circuit, while it is valid. */
export function overrideAt({ override }: ConnectionState, at: Instant): CircuitOverride | null {
  return override === null || (override.until !== null && at >= override.until) ? null : override
}

export function stepConnection(
  before: ConnectionState,
  event: ConnectionEvent,
  terms: ConnectionTerms,
): ConnectionStep {
  const { next, circuit } = change(before, event, terms)
  const state =
    next === before
      ? before
      : followFailure(
          before,
          { ...next, status: connectionStatus(next, terms), updatedAt: event.at },
          event,
          circuit,
        )
  return {
    state,
    circuit,
    failing: state.failing ?? before.failing ?? null,
    notices: noticesOf(before, state, terms),
    mustStore: mustStore(before, state),
  }
}

function change(
  state: ConnectionState,
  event: ConnectionEvent,
  terms: ConnectionTerms,
): { readonly next: ConnectionState; readonly circuit: ConnectionStep['circuit'] } {
  switch (event.type) {
    case 'tested':
      return test(state, event.result, terms)
    case 'probed':
      return probe(state, event.at, event.result, event.isTry, terms)
    case 'told':
      return moveCircuit(state, { ...event, class: countedAs(event.class) }, terms)
    case 'tried':
      return moveCircuit(state, event, terms)
    case 'overridden':
      return { next: { ...state, override: event.override }, circuit: null }
    case 'retired':
      return {
        next: {
          ...state,
          retired: { by: event.by, reason: event.reason, at: event.at, hash: terms.hash },
        },
        circuit: null,
      }
    default:
      return unreachable(event)
  }
}

/** A connection that is not healthy takes no calls except a trial: a failed probe opens its circuit at once. */
function probe(
  state: ConnectionState,
  at: Instant,
  { ok, class: failed }: ProbeResult,
  isTry: boolean,
  terms: ConnectionTerms,
) {
  const { next, circuit } = moveCircuit(
    state,
    { type: 'probed', at, class: ok ? null : (failed ?? 'unknown'), isTry },
    terms,
  )
  const wasUnwell = state.health === 'degraded' || state.health === 'unhealthy'
  const health = ok ? ('healthy' as const) : wasUnwell ? ('unhealthy' as const) : ('degraded' as const)
  return { next: next.health === health ? next : { ...next, health }, circuit }
}

/** A passed test counts like any successful trial: it shows that the other side is back. A failed one counts like a failed probe. */
function test(state: ConnectionState, result: ProbeResult, terms: ConnectionTerms) {
  if (!result.ok) {
    // What was never tested runs nothing anyway.
    const isInUse = state.testedHash === terms.hash
    const probed = isInUse ? probe(state, result.at, result, false, terms) : { next: state, circuit: null }
    return {
      next: { ...probed.next, health: 'unhealthy' as const, lastTest: result },
      circuit: probed.circuit,
    }
  }
  const circuit = state.circuit.state === 'closed' ? null : ('closed' as const)
  return {
    next: {
      ...state,
      health: 'healthy' as const,
      lastTest: result,
      testedHash: terms.hash,
      circuit: circuit === null ? state.circuit : CLOSED,
    },
    circuit,
  }
}

/** A missing resource or a refused credential concerns one route or account, and comes from a side that works. */
function countedAs(failed: FailureClass | null): FailureClass | null {
  return failed === 'config' || failed === 'auth' ? 'validation' : failed
}

function moveCircuit(
  state: ConnectionState,
  event: CircuitEvent,
  terms: ConnectionTerms,
): { readonly next: ConnectionState; readonly circuit: ConnectionStep['circuit'] } {
  // A new document may have removed the circuit while it was open: it then closes with the next event.
  const policy = terms.circuit ?? USUAL_CIRCUIT
  if (terms.circuit === null && state.circuit.state === 'closed') return { next: state, circuit: null }
  const step = stepCircuit(state.circuit, event, policy)
  if (step.circuit === state.circuit) return { next: state, circuit: null }
  const isWorse = step.change === 'opened' || step.change === 'reopened'
  const health = isWorse ? 'unhealthy' : step.change === 'closed' ? 'healthy' : state.health
  return { next: { ...state, circuit: step.circuit, health }, circuit: step.change }
}

/** A failure that lasts is published again this often, so that retention does not take it before it is over. */
const REMIND_MS = 12 * HOUR

/** A failure lasts while the connection is degraded. One whose document changed goes on until the new one passes its test. */
function followFailure(
  before: ConnectionState,
  state: ConnectionState,
  event: ConnectionEvent,
  change: ConnectionStep['circuit'],
): ConnectionState {
  const { failing, ...rest } = state
  if (state.status === 'pending') return state
  if (state.status !== 'degraded') return failing === undefined ? state : rest
  const { at } = event
  const broken = state.circuit.state === 'closed' ? null : state.circuit
  if (failing === undefined) {
    // No two failures of a connection begin at the same instant.
    const since = Math.max(at, before.updatedAt + 1)
    const failed = broken?.class ?? ('result' in event ? event.result.class : null) ?? 'unknown'
    const attempts = broken?.opened ?? 1
    return { ...rest, failing: { since, toldAt: at, class: failed, attempts, isOutage: isOut(state) } }
  }
  const attempts = broken?.opened ?? failing.attempts
  if (isOut(state) && !failing.isOutage) {
    const failed = broken?.class ?? failing.class
    return { ...rest, failing: { ...failing, attempts, toldAt: at, class: failed, isOutage: true } }
  }
  const isDue = change === 'reopened' && at - failing.toldAt >= REMIND_MS
  if (!isDue && attempts === failing.attempts) return state
  return { ...rest, failing: { ...failing, attempts, toldAt: isDue ? at : failing.toldAt } }
}

function noticesOf(
  before: ConnectionState,
  after: ConnectionState,
  terms: ConnectionTerms,
): readonly ConnectionNotice[] {
  const notices: ConnectionNotice[] = []
  if (before.failing === undefined && after.failing !== undefined) notices.push('failing')
  if (after.failing?.isOutage === true && before.failing?.isOutage !== true) notices.push('outage')
  else if (before.failing !== undefined && isAgain(before.failing, after.failing))
    notices.push('still-failing')
  if (before.failing !== undefined && after.failing === undefined) notices.push('resolved')
  const [was, is] = [connectionStatus(before, terms), after === before ? null : after.status]
  if (is === null || was === is) return notices
  if (is === 'retired') notices.push('retired')
  else if (is === 'degraded') notices.push('degraded')
  else if (is === 'active') notices.push(was === 'pending' ? 'activated' : 'recovered')
  return notices
}

function isAgain(before: ConnectionFailing, after: ConnectionFailing | undefined): boolean {
  return after !== undefined && after.toldAt !== before.toldAt
}

/** One failed probe is no outage yet: it holds the calls back without an escalation. */
function isOut({ circuit }: ConnectionState): boolean {
  return circuit.state !== 'closed' && circuit.by !== 'probe'
}

function mustStore(before: ConnectionState, after: ConnectionState): boolean {
  if (before === after) return false
  const isCounting = before.circuit.state === 'closed' && after.circuit.state === 'closed'
  return (
    (!isCounting && before.circuit !== after.circuit) ||
    before.status !== after.status ||
    before.health !== after.health ||
    before.testedHash !== after.testedHash ||
    before.lastTest !== after.lastTest ||
    before.override !== after.override ||
    before.retired !== after.retired ||
    before.failing !== after.failing
  )
}
