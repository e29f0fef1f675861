// core/flow-control/rate/token-bucket.ts — the rate guard of a route: tokens that come evenly and are taken many at a time.
//
// A call that could not ask first may still be counted: the tokens then go below nothing, and the next ones wait for it.
// Invariants: K1 there are never more than `burst`. K2 what was given in any time is at most burst + rate × time.

import type { RatePolicy } from '../../definitions/documents/index.ts'
import { type Instant, MINUTE } from '../../foundation/time/index.ts'

export interface Tokens {
  readonly count: number
  readonly at: Instant
}

/** Fractions do not add up exactly: whoever waited as long as told must not be told to wait again. */
const EPSILON = 1e-6
/** Tokens that come faster than this are waited for together. */
const GATHER_MS = 50

/** What is there by now. A clock that goes back gives nothing. */
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

/** When it is worth to look again: the next token is there, or the next few where they come quickly. */
export function nextTokensAt(tokens: Tokens, policy: RatePolicy): Instant {
  const perToken = MINUTE / policy.perMinute
  const wanted = Math.max(1, Math.min(policy.burst, Math.floor(GATHER_MS / perToken)))
  return tokens.at + Math.ceil(Math.max(0, wanted - tokens.count) * perToken)
}
