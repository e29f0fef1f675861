// Linear: the body is signed, and contains the time. A header has the time too, but unsigned.

import { isNumber, JsonError, parseJson } from '../../../foundation/json/index.ts'
import { makeHmacScheme } from '../hmac.ts'
import { checkAge, toInstant } from '../sent-at.ts'
import { OK, type Scheme, TOLERANCE_MS } from '../verification-scheme.ts'
import { SIGNED_HEADERS } from './signed-headers.ts'

const DEPTH_MAX = 64

export function makeLinearScheme({ toleranceMs = TOLERANCE_MS }: { readonly toleranceMs?: number }): Scheme {
  const signed = makeHmacScheme(SIGNED_HEADERS.linear)
  return {
    ...signed,
    verify(input) {
      const result = signed.verify(input)
      if (!result.ok) return result
      const sentAt = readSentAt(input.body)
      return sentAt === null
        ? OK
        : checkAge(toInstant(sentAt), input.now, toleranceMs, 'webhookTimestamp in the body')
    },
  }
}

/** null: there is none. Only Linear can have omitted it, since the body is signed. */
function readSentAt(body: Uint8Array): number | null {
  try {
    const payload = parseJson(new TextDecoder().decode(body), { depth: DEPTH_MAX })
    if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return null
    const { webhookTimestamp } = payload as { readonly [name: string]: unknown }
    const sentAt = isNumber(webhookTimestamp) ? Number(webhookTimestamp) : null
    return Number.isFinite(sentAt) ? sentAt : null
  } catch (error) {
    if (error instanceof JsonError) return null
    throw error
  }
}
