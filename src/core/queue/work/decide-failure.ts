// Decides what happens to a job whose action failed.
//
// Invariants: W1 config, validation, auth and poison are never retried automatically. W2 calls started never exceed the
// profile's attempts. W3 a closed bucket and another job's key use up waits, not attempts. W4 nothing is tried after
// `expiresAt`. W5 a job whose effect may have happened never dies: it is parked for a decision, unless repeating is harmless.

import type { RetryPolicy } from '../../definitions/documents/index.ts'
import type { DeadLetterReason } from '../../failures/dead-letter/index.ts'
import type { FailureClass } from '../../failures/failure/index.ts'
import { DAY, type Instant, MINUTE, SECOND } from '../../foundation/time/index.ts'
import { nextDelay, stretch } from '../retry/index.ts'
import type { Counters, WorkState } from './work.ts'

export interface FailureQuestion {
  readonly class: FailureClass
  /** The other side, or the function, took longer than it may. */
  readonly isTimeout?: boolean
  readonly effect: 'none' | 'maybe'
  /** Repeating the call is harmless, so an unknown outcome needs no decision. */
  readonly idempotent: boolean
  /** The vendor remembers the key, so a repeat is safe for a while. */
  readonly canRepeat: boolean
  /** How long to wait before asking the vendor whether the effect exists; null: it cannot be asked. */
  readonly probeAfterMs: number | null
  /** Including the one that failed. */
  readonly counters: Counters
  readonly policy: RetryPolicy
  readonly retryAfterMs: number | null
  /** In [0, 1). */
  readonly jitter: number
  readonly now: Instant
  readonly expiresAt: Instant
}

export type FailureStep =
  | { readonly step: 'again'; readonly delayMs: number; readonly counters: Counters }
  | { readonly step: 'dead'; readonly reason: DeadLetterReason }
  | { readonly step: 'park' }

/** The wait for a closed bucket that does not say when it opens. */
const BUCKET_CLOSED_MS = 1 * MINUTE
/** A wait uses no attempt: a wait of zero would be a busy loop. */
const BUCKET_CLOSED_MS_MIN = 1 * SECOND
/** A request for years must not end a job: it checks again tomorrow, as the bucket itself does. */
const BUCKET_CLOSED_MS_MAX = 1 * DAY

export function decideFailure(question: FailureQuestion): FailureStep {
  const { counters, now, expiresAt } = question
  const isUnknown = question.effect === 'maybe' && !question.idempotent
  switch (question.class) {
    case 'auth':
    case 'config':
    case 'validation':
      // Refused now; but an earlier call that this one repeated may have had its effect.
      return isUnknown ? { step: 'park' } : { step: 'dead', reason: 'rejected' }
    case 'poison':
      return isUnknown ? { step: 'park' } : { step: 'dead', reason: 'crash_loop' }
    case 'rate_limited': {
      if (!isRetried(question)) return isUnknown ? { step: 'park' } : { step: 'dead', reason: 'rejected' }
      // The call was refused before anything was done: it is a wait, and returns its attempt.
      const askedMs = Math.min(question.retryAfterMs ?? BUCKET_CLOSED_MS, BUCKET_CLOSED_MS_MAX)
      const delayMs = Math.round(stretch(Math.max(askedMs, BUCKET_CLOSED_MS_MIN), question.jitter))
      if (now + delayMs >= expiresAt)
        return isUnknown ? { step: 'park' } : { step: 'dead', reason: 'expired' }
      return {
        step: 'again',
        delayMs,
        counters: { ...counters, attempts: counters.attempts - 1, waits: counters.waits + 1 },
      }
    }
    case 'transient':
    case 'unknown': {
      if (question.effect === 'maybe' && question.probeAfterMs !== null) {
        // A probe is not a call: it needs no attempt, only time.
        const late = now + question.probeAfterMs >= expiresAt
        if (!late) return { step: 'again', delayMs: question.probeAfterMs, counters }
        return isUnknown ? { step: 'park' } : { step: 'dead', reason: 'expired' }
      }
      if (isUnknown && !question.canRepeat) return { step: 'park' }
      if (!isRetried(question)) return isUnknown ? { step: 'park' } : { step: 'dead', reason: 'rejected' }
      const delayMs = nextDelay(question.policy, counters.attempts, question.jitter, question.retryAfterMs)
      if (delayMs === null) return isUnknown ? { step: 'park' } : { step: 'dead', reason: 'cap_reached' }
      if (now + delayMs >= expiresAt)
        return isUnknown ? { step: 'park' } : { step: 'dead', reason: 'expired' }
      return { step: 'again', delayMs, counters }
    }
  }
}

/** Whether the policy retries such a failure. */
function isRetried({ policy, class: failureClass, isTimeout }: FailureQuestion): boolean {
  const { retryOn } = policy
  if (retryOn === undefined) return true
  return (isTimeout && retryOn.includes('timeout')) || retryOn.some((cause) => cause === failureClass)
}

/** After this many crashes beyond the first a job is poison: it takes its node down with it. */
export const LOSSES_MAX = 3

/** What remains to be done for a job that may not start another call, given the ledger's entry for its effect. */
export function decideExhausted(inDoubt: boolean, reason: DeadLetterReason): FailureStep {
  return inDoubt ? { step: 'park' } : { step: 'dead', reason }
}

/**
 * Which states may follow which (ready after ready: an operator makes it due now); a settled job moves only by an operator
 * action or by late evidence.
 */
export const WORK_STEPS: Readonly<Record<WorkState | 'absent', readonly WorkState[]>> = {
  absent: ['ready', 'leased', 'waiting'],
  waiting: ['ready', 'cancelled', 'skipped'],
  // Dead immediately: an event that is quarantined at ingest.
  ready: ['leased', 'ready', 'cancelled', 'skipped', 'dead'],
  leased: ['done', 'ready', 'skipped', 'merged', 'parked', 'dead', 'cancelled'],
  // To waiting: its lane moved on without it.
  parked: ['done', 'ready', 'waiting', 'cancelled'],
  dead: [],
  done: [],
  skipped: [],
  // Its batch reports its outcome.
  merged: ['done', 'ready', 'skipped', 'parked', 'dead', 'cancelled', 'merged'],
  // Of several effects with unknown outcomes it names the next.
  cancelled: ['cancelled'],
}
