// When a subscription fails, recovers, is disabled and enabled. active → failing (five consecutive failed attempts, or a
// delivery that is given up) → active (a success) or disabled (no success for too long); 410 disables immediately; operators
// pause, resume, disable and enable.
//
// Invariants: SB16 it is disabled by 410, by an operator, or by failing for `disableAfterMs`, and by nothing else. SB14 a
// success ends failing. SB15 each warning of one failing period is published once. SB18 an event that changes nothing returns
// the same state.

import type { SubscriptionDocument } from '../../definitions/documents/index.ts'
import { unreachable } from '../../foundation/errors/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { DisabledBecause, SubscriptionState, SubscriptionStatus } from './compiled-subscription.ts'

export type SubscriptionPolicy = Pick<SubscriptionDocument, 'status' | 'disableAfterMs'>

export type SubscriptionInput =
  | {
      readonly type: 'failed'
      readonly at: Instant
      readonly error: string
      /** Consecutive failed attempts, including this one. */
      readonly failures: number
      /** When the first of these failed. */
      readonly since: Instant
      /** The delivery is given up. */
      readonly isExhausted: boolean
    }
  | { readonly type: 'delivered'; readonly at: Instant }
  /** The endpoint responded 410. */
  | { readonly type: 'gone'; readonly at: Instant; readonly error: string }
  | {
      readonly type: 'pause' | 'resume' | 'disable' | 'enable'
      readonly at: Instant
      readonly by: string
      readonly reason: string | null
    }

/** Published as canonical events. */
export type SubscriptionNotice =
  | {
      readonly notice: 'failing'
      readonly failingSince: Instant
      /** null: it never disables itself. */
      readonly disableAt: Instant | null
      /** 0: it begins. */
      readonly warning: number
      readonly error: string
    }
  | { readonly notice: 'recovered'; readonly failingSince: Instant }
  | {
      readonly notice: 'disabled'
      readonly because: DisabledBecause
      readonly reason: string | null
      readonly by: string | null
    }
  /** From disabled, by an operator: a test event goes first. */
  | { readonly notice: 'enabled'; readonly by: string; readonly reason: string | null }

export interface SubscriptionStep {
  /** The same object where nothing changed: then there is nothing to write. */
  readonly state: SubscriptionState
  readonly notices: readonly SubscriptionNotice[]
}

/** Consecutive failed attempts after which an endpoint counts as failing. */
const FAILURES_MAX = 5
/** Shares of `disableAfterMs` at which a warning is published. */
const WARN_AT: readonly number[] = [0.2, 0.6, 0.8]

/**
 * The declared status may change under a stored state: `failing` holds only where it says `active`. A subscription that an
 * operator enabled against its document is `active` by the state, and failing while `failingSince` says so.
 */
export function effectiveStatus(
  { status: declared }: Pick<SubscriptionDocument, 'status'>,
  { status, failingSince }: Pick<SubscriptionState, 'status' | 'failingSince'>,
): SubscriptionStatus {
  if (status === null || (status === 'failing' && declared !== 'active')) return declared
  return status === 'active' && failingSince !== null ? 'failing' : status
}

export function stepSubscription(
  state: SubscriptionState,
  input: SubscriptionInput,
  policy: SubscriptionPolicy,
): SubscriptionStep {
  const status = effectiveStatus(policy, state)
  switch (input.type) {
    case 'failed':
      return status === 'active' ? begin(state, input, policy) : goOn(state, status, input, policy)
    case 'delivered':
      if (status !== 'failing') return same(state)
      return {
        state: active(state, input.at, policy),
        notices: [{ notice: 'recovered', failingSince: state.failingSince ?? input.at }],
      }
    case 'gone':
      return disable(state, status, input.at, { because: 'gone', reason: input.error, by: null })
    case 'pause':
      if (status !== 'active' && status !== 'failing') return same(state)
      return {
        state: { ...settled(state), status: 'paused', ...saidBy(input) },
        notices: [],
      }
    case 'resume':
      return status === 'paused'
        ? { state: { ...active(state, input.at, policy), ...saidBy(input) }, notices: [] }
        : same(state)
    case 'disable':
      return disable(state, status, input.at, { because: 'person', reason: input.reason, by: input.by })
    case 'enable':
      if (status !== 'disabled') return same(state)
      return {
        state: { ...active(state, input.at, policy), ...saidBy(input) },
        notices: [{ notice: 'enabled', by: input.by, reason: input.reason }],
      }
    default:
      return unreachable(input)
  }
}

type Failed = Extract<SubscriptionInput, { type: 'failed' }>

function begin(state: SubscriptionState, input: Failed, policy: SubscriptionPolicy): SubscriptionStep {
  if (input.failures < FAILURES_MAX && !input.isExhausted) return same(state)
  const failingSince = Math.min(input.since, input.at)
  // May be long ago where little is sent: a warning comes first. It is disabled at the next failure.
  const warnings = warningsAt(failingSince, input.at, policy)
  return {
    state: {
      ...settled(state),
      status: policy.status === 'active' ? 'failing' : 'active',
      reason: input.error,
      by: null,
      since: input.at,
      failingSince,
      warnings,
    },
    notices: [failing(failingSince, warnings, input.error, policy)],
  }
}

function goOn(
  state: SubscriptionState,
  status: SubscriptionStatus,
  input: Failed,
  policy: SubscriptionPolicy,
): SubscriptionStep {
  // Late outcome of a call that began before an operator stopped it.
  if (status !== 'failing') return same(state)
  const failingSince = state.failingSince ?? input.at
  const { disableAfterMs } = policy
  if (disableAfterMs !== null && input.at - failingSince >= disableAfterMs) {
    return disable(state, status, input.at, { because: 'failing', reason: input.error, by: null })
  }
  const warnings = warningsAt(failingSince, input.at, policy)
  if (warnings <= state.warnings) return same(state)
  return {
    state: { ...state, warnings, reason: input.error },
    notices: [failing(failingSince, warnings, input.error, policy)],
  }
}

function failing(
  failingSince: Instant,
  warning: number,
  error: string,
  { disableAfterMs }: SubscriptionPolicy,
): SubscriptionNotice {
  const disableAt = disableAfterMs === null ? null : failingSince + disableAfterMs
  return { notice: 'failing', failingSince, disableAt, warning, error }
}

function warningsAt(failingSince: Instant, at: Instant, { disableAfterMs }: SubscriptionPolicy): number {
  if (disableAfterMs === null) return 0
  return WARN_AT.filter((share) => at - failingSince >= share * disableAfterMs).length
}

function disable(
  state: SubscriptionState,
  status: SubscriptionStatus,
  since: Instant,
  said: { readonly because: DisabledBecause; readonly reason: string | null; readonly by: string | null },
): SubscriptionStep {
  if (status === 'disabled') return same(state)
  // The start of the failing period stays visible.
  return {
    state: { ...state, status: 'disabled', since, ...said },
    notices: [{ notice: 'disabled', ...said }],
  }
}

/** Nothing is left of earlier failures. */
function settled(state: SubscriptionState): SubscriptionState {
  return { ...state, because: null, failingSince: null, warnings: 0 }
}

function active(state: SubscriptionState, since: Instant, { status }: SubscriptionPolicy): SubscriptionState {
  return {
    ...settled(state),
    status: status === 'active' ? null : 'active',
    reason: null,
    by: null,
    since,
  }
}

function saidBy(input: { readonly by: string; readonly reason: string | null; readonly at: Instant }) {
  return { by: input.by, reason: input.reason, since: input.at }
}

function same(state: SubscriptionState): SubscriptionStep {
  return { state, notices: [] }
}
