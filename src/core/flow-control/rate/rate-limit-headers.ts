// Parses the other side's own limits from a response, in the dialects in use: `X-RateLimit-*` with seconds from now or an
// instant, the `RateLimit` fields of the IETF's drafts (old and new), and `Retry-After`.
//
// Headers that do not parse are ignored: a misread limit would stop calls for no reason.

import { parseRetryAfter } from '../../failures/failure/index.ts'
import { type Instant, SECOND } from '../../foundation/time/index.ts'

export interface Limits {
  /** Calls per window. */
  readonly limit: number | null
  /** Calls left in it. */
  readonly remaining: number | null
  /** When the next window begins. */
  readonly resetAt: Instant | null
  readonly retryAfterMs: number | null
}

type Headers = Readonly<Record<string, string>>

/** null: no information about limits. */
export function readLimits(headers: Headers, now: Instant): Limits | null {
  const fields = readFields(headers) ?? readDialect(headers)
  const retryAfterMs = parseRetryAfter(headers['retry-after'], now)
  if (fields === null) {
    return retryAfterMs === null ? null : { limit: null, remaining: null, resetAt: null, retryAfterMs }
  }
  const { limit, remaining, reset } = fields
  return { limit, remaining, resetAt: instantOf(reset, now), retryAfterMs }
}

interface Fields {
  readonly limit: number | null
  readonly remaining: number | null
  readonly reset: string | null
}

/** `RateLimit: "default";r=50;t=30`, possibly several in a row; in earlier drafts `limit=100, remaining=50, reset=30`. */
function readFields(headers: Headers): Fields | null {
  const text = headers.ratelimit
  if (text === undefined) return null
  if (/(?:^|[\s,;])remaining\s*=/i.test(text)) {
    const remaining = numberOf(parameter(text, 'remaining'))
    return remaining === null
      ? null
      : { limit: numberOf(parameter(text, 'limit')), remaining, reset: parameter(text, 'reset') }
  }
  let least: Fields | null = null
  for (const item of text.split(',')) {
    const remaining = numberOf(parameter(item, 'r'))
    if (remaining === null || (least !== null && (least.remaining ?? 0) <= remaining)) continue
    least = {
      limit: policyOf(headers['ratelimit-policy'], item),
      remaining,
      reset: parameter(item, 't'),
    }
  }
  return least
}

/** The quota of the policy that the item names. */
function policyOf(policies: string | undefined, item: string): number | null {
  if (policies === undefined) return null
  const name = (item.split(';')[0] ?? '').trim()
  const found = policies.split(',').find((one) => (one.split(';')[0] ?? '').trim() === name)
  return found === undefined ? null : numberOf(parameter(found, 'q'))
}

const DIALECTS = [
  ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
  ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'],
  ['x-rate-limit-limit', 'x-rate-limit-remaining', 'x-rate-limit-reset'],
  ['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
] as const

function readDialect(headers: Headers): Fields | null {
  for (const [limit, remaining, reset] of DIALECTS) {
    const left = numberOf(headers[remaining])
    if (left !== null)
      return { limit: numberOf(headers[limit]), remaining: left, reset: headers[reset] ?? null }
  }
  return null
}

function parameter(text: string, name: string): string | null {
  return new RegExp(`(?:^|[\\s,;])${name}\\s*=\\s*"?([^\\s,;"]+)`, 'i').exec(text)?.[1] ?? null
}

function numberOf(text: string | null | undefined): number | null {
  const first = /^\s*(\d{1,12})(?:\.\d+)?\s*(?:$|[,;])/.exec(text ?? '')?.[1]
  return first === undefined ? null : Number(first)
}

/** Numbers of this size are instants in seconds, a thousand times that in milliseconds; smaller ones are seconds from now. */
const EPOCH_S = 1_000_000_000
const EPOCH_MS = EPOCH_S * 1_000

function instantOf(text: string | null, now: Instant): Instant | null {
  if (text === null) return null
  if (/^\s*\d+(?:\.\d+)?\s*$/.test(text)) {
    const value = Number(text)
    if (value >= EPOCH_MS) return value
    return value >= EPOCH_S ? Math.ceil(value * SECOND) : now + Math.ceil(value * SECOND)
  }
  const span = /^\s*(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?\s*$/.exec(text)
  if (span !== null && text.trim() !== '') {
    const [hours = '0', minutes = '0', seconds = '0', ms = '0'] = span.slice(1)
    return (
      now + Math.ceil((Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * SECOND) + Number(ms)
    )
  }
  return null
}
