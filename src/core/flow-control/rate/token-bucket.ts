// The rate limiter of a route: tokens that accrue evenly and are taken in groups.
//
// A call that could not ask first may still be counted: the tokens then go below zero, and the next calls wait for it.
// Invariants: K1 there are never more than `burst`. K2 what was granted in any time is at most burst + rate × time.

import type { RatePolicy } from '../../definitions/documents/index.ts'
import { type Instant, MINUTE } from '../../foundation/time/index.ts'

export interface Tokens {
  readonly count: number
  readonly at: Instant
}

/** Fractions do not add up exactly: a caller that waited as instructed must not be asked to wait again. */
const EPSILON = 1e-6
/** Tokens that accrue faster than this are waited for in groups. */
const GATHER_MS = 50

/** The tokens available now. A clock that goes back adds none. */
export function refill(tokens: Tokens, at: Instant, policy: RatePolicy): Tokens {
  if (at <= tokens.at) return { count: Math.min(tokens.count, policy.burst), at: tokens.at }
  const gained = ((at - tokens.at) * policy.perMinute) / MINUTE
  return { count: Math.min(policy.burst, tokens.count + gained), at }
}

/** Whole tokens that can be taken. */
export function whole({ count }: Tokens): number {
  return Math.max(0, Math.floor(count + EPSILON))
}

export function take(tokens: Tokens, count: number): Tokens {
  return { ...tokens, count: tokens.count - count }
}

export function giveBack(tokens: Tokens, count: number, policy: RatePolicy): Tokens {
  return { ...tokens, count: Math.min(policy.burst, tokens.count + count) }
}

/** When to check again: the next token is available, or the next few where they accrue quickly. */
export function nextTokensAt(tokens: Tokens, policy: RatePolicy): Instant {
  const perToken = MINUTE / policy.perMinute
  const wanted = Math.max(1, Math.min(policy.burst, Math.floor(GATHER_MS / perToken)))
  return tokens.at + Math.ceil(Math.max(0, wanted - tokens.count) * perToken)
}
