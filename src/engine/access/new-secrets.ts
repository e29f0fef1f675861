// New ids and secrets, from randomness that is passed in.

import { ID_BYTES, SECRET_BYTES } from '../../core/access/callers/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Random } from '../../ports/random.ts'

const TIME_DIGITS = 11

/** Starts with its time, so that lists, which are ordered by id, are in order of creation. */
export function makeId(now: Instant, random: Random): string {
  const time = Math.max(0, now).toString(16).padStart(TIME_DIGITS, '0').slice(-TIME_DIGITS)
  return (time + toHex(random.bytes(ID_BYTES))).slice(0, ID_BYTES * 2)
}

export function makeSecret(random: Random): string {
  return Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url')
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
