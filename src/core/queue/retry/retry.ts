// When a failed attempt is retried, and when no more (docs/spec/retries.md). Not its job: which failures deserve another
// attempt (core/failures/failure), or waiting. Randomness is an argument in [0, 1): the same arguments give the same delay.

import type { RetryPolicy } from '../../definitions/documents/index.ts'
import { assert } from '../../foundation/errors/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../foundation/time/index.ts'

/** A delay varies by this share either way, so that jobs that failed together do not retry together. */
const JITTER = 0.1
/** The longest delay that a server may request. */
const RETRY_AFTER_MS_MAX = DAY

function profile(name: string, unitMs: number, ...delays: readonly number[]): RetryPolicy {
  return { profile: name, attempts: delays.length + 1, delaysMs: delays.map((delay) => delay * unitMs) }
}

export const RETRY_PROFILES = {
  STANDARD: profile('STANDARD', MINUTE, 1, 2, 4, 8, 15),
  DELIVERY: {
    profile: 'DELIVERY',
    attempts: 8,
    delaysMs: [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR],
  },
  STEP: profile('STEP', SECOND, 1, 2),
  REGISTER: profile('REGISTER', SECOND, 1, 2, 4, 8),
  ROTATION: profile('ROTATION', SECOND, 1, 2),
} as const satisfies Readonly<Record<string, RetryPolicy>>

/** How delays grow; the first one counts as step 1. */
export interface Backoff {
  readonly shape: 'exponential' | 'linear' | 'fixed'
  readonly firstMs: number
  /** Of `exponential`: each delay is so many times the one before it. */
  readonly factor: number
  /** No delay is longer. */
  readonly maxMs: number
}

/** The delays of a formula, one fewer than attempts, in whole milliseconds. */
export function backoffDelays(
  { shape, firstMs, factor, maxMs }: Backoff,
  attempts: number,
): readonly number[] {
  return Array.from({ length: attempts - 1 }, (_, index) => {
    const times = shape === 'fixed' ? 1 : shape === 'linear' ? index + 1 : factor ** index
    return Math.min(Math.round(firstMs * times), maxMs)
  })
}

export type RetryProfileName = keyof typeof RETRY_PROFILES

/**
 * How long to wait after attempt number `attempt` (1 is the first) failed, in whole milliseconds; null: it was the last.
 * `retryAfterMs` is the delay that the other side requested; it can extend the wait, never shorten it.
 */
export function nextDelay(
  policy: RetryPolicy,
  attempt: number,
  jitter: number,
  retryAfterMs?: number | null,
): number | null {
  assert(Number.isInteger(attempt) && attempt >= 1, 'attempts are counted from 1')
  assert(jitter >= 0 && jitter < 1, 'jitter is in [0, 1)')
  if (attempt >= policy.attempts) return null
  const planned = policy.delaysMs[attempt - 1]
  assert(planned !== undefined, 'a policy has a delay between any two attempts')
  const varied = planned * (1 - JITTER + 2 * JITTER * jitter)
  return Math.round(Math.max(varied, stretch(patience(retryAfterMs ?? 0), jitter)))
}

/** The requested delay is a minimum: jitter only adds to it. */
export function stretch(askedMs: number, jitter: number): number {
  return askedMs * (1 + JITTER * jitter)
}

/** The requested delay, sanitized: a negative or unreadable one counts as none. */
function patience(askedMs: number): number {
  return askedMs > 0 ? Math.min(askedMs, RETRY_AFTER_MS_MAX) : 0
}
