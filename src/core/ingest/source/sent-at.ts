// The send time that a request declares.

import { assert } from '../../foundation/errors/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import { OK, type Refusal, refuse, type SignInput, type VerifyResult } from './verification-scheme.ts'

const TIMESTAMP = /^\d{1,15}$/
/** Larger numbers are milliseconds: as seconds they would be beyond the year 5000. */
const SECONDS_MAX = 100_000_000_000

/** Unix seconds or milliseconds. `place` is where it was found: `the header x-time`. */
export function readInstant(text: string, place: string): Instant | Refusal {
  if (!TIMESTAMP.test(text)) {
    return refuse('signature_wrong', `${place} is not a number of seconds since 1970`)
  }
  return toInstant(Number(text))
}

export function toInstant(value: number): Instant {
  return value > SECONDS_MAX ? value : value * 1000
}

/** Only for a request with a valid signature, so that no other sender learns "expired". */
export function checkAge(sentAt: Instant, now: Instant, toleranceMs: number, place: string): VerifyResult {
  const offMs = Math.abs(now - sentAt)
  return offMs <= toleranceMs
    ? OK
    : refuse('signature_expired', `${place} is ${Math.ceil(offMs / 1000)} s off`)
}

/** The time to sign: now, or the one already in the header. */
export function timeToSign(
  input: SignInput,
  header: string | null,
  unit: 'seconds' | 'ms' = 'seconds',
): string {
  if (input.now !== undefined) return String(unit === 'ms' ? input.now : Math.floor(input.now / 1000))
  const given = header === null ? undefined : input.headers?.[header]
  assert(given !== undefined, 'this scheme signs a time: give `now`')
  return given
}
