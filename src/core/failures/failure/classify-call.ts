// Classifies the outcome of a call: a failure class, and whether the effect may have happened.
//
// Invariants: C1 `effect: none` needs proof: nothing was sent, or a status that says that nothing was applied. C2 after
// sending, any other 5xx, reset or time-out may have had its effect. C3 a definition's rule for a status wins over the table.

import { unreachable } from '../../foundation/errors/index.ts'
import type { FailureClass } from './failure-class.ts'

export type CallFacts =
  | { readonly kind: 'response'; readonly status: number; readonly retryAfterMs: number | null }
  | { readonly kind: 'failed'; readonly sent: 'no' | 'maybe'; readonly code: string }

export interface CallPolicy {
  /** Repeating the call is harmless. */
  readonly idempotent: boolean
  readonly classify: Readonly<Record<string, FailureClass | 'done'>>
}

export type CallVerdict =
  | { readonly as: 'done' }
  | {
      readonly as: 'failed'
      readonly class: FailureClass
      /** `maybe`: the effect may have happened; the ledger entry becomes unknown. `none`: it is released. */
      readonly effect: 'none' | 'maybe'
      readonly retryAfterMs: number | null
    }

/** Statuses by which a server states that it applied nothing. */
const NOT_APPLIED: Readonly<Record<number, FailureClass>> = {
  401: 'auth',
  403: 'auth',
  404: 'config',
  405: 'config',
  408: 'transient',
  410: 'config',
  425: 'transient',
  429: 'rate_limited',
  501: 'config',
  503: 'transient',
}

/** Statuses by which a server, or the proxy before it, states that the call took too long. */
const TIMED_OUT = new Set([408, 504])

/** Whether the call ended because it took too long, whatever its class is. */
export function isTimeout(
  facts:
    | { readonly kind: 'response'; readonly status: number }
    | { readonly kind: 'failed'; readonly code: string },
): boolean {
  return facts.kind === 'response' ? TIMED_OUT.has(facts.status) : facts.code === 'timeout'
}

/** Failures before sending that no retry fixes. */
const HOPELESS = new Set(['blocked', 'bad_url'])

export function classifyCall(facts: CallFacts, policy: CallPolicy): CallVerdict {
  switch (facts.kind) {
    case 'response':
      return classifyStatus(facts.status, facts.retryAfterMs, policy)
    case 'failed':
      if (facts.sent === 'maybe') return doubtful(policy, null)
      return failed(HOPELESS.has(facts.code) ? 'config' : 'transient', 'none', null)
    default:
      return unreachable(facts)
  }
}

function classifyStatus(status: number, retryAfterMs: number | null, policy: CallPolicy): CallVerdict {
  const refined = policy.classify[status]
  if (refined === 'done') return { as: 'done' }
  if (refined === 'unknown') return failed('unknown', 'maybe', retryAfterMs)
  if (refined !== undefined) return failed(refined, 'none', retryAfterMs)
  if (status >= 200 && status < 300) return { as: 'done' }
  const known = NOT_APPLIED[status]
  if (known !== undefined) return failed(known, 'none', retryAfterMs)
  if (status >= 500) return doubtful(policy, retryAfterMs)
  // A redirect is not followed: the address in the definition is wrong. Informational codes never end a call.
  if (status < 400) return failed('config', 'none', null)
  return failed('validation', 'none', null)
}

function doubtful(policy: CallPolicy, retryAfterMs: number | null): CallVerdict {
  return failed(policy.idempotent ? 'transient' : 'unknown', 'maybe', retryAfterMs)
}

function failed(as: FailureClass, effect: 'none' | 'maybe', retryAfterMs: number | null): CallVerdict {
  return { as: 'failed', class: as, effect, retryAfterMs }
}

/** The three HTTP date formats. All mean GMT; the oldest does not say so. */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/
const HTTP_DATE_ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

const SECONDS_MAX = 999_999_999

/** `Retry-After` in seconds or as an HTTP date, in milliseconds from `now`; null when absent or unreadable. */
export function parseRetryAfter(value: string | undefined, now: number): number | null {
  if (value === undefined) return null
  const text = value.trim()
  // However many digits: a very long delay is capped at the longest wait.
  if (/^\d+$/.test(text)) return Math.min(Number(text), SECONDS_MAX) * 1_000
  const at = HTTP_DATE.test(text)
    ? Date.parse(text)
    : HTTP_DATE_ASCTIME.test(text)
      ? Date.parse(`${text} GMT`)
      : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - now)
}
