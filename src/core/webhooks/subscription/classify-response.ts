// The meaning of an endpoint's response: for the delivery, for the endpoint's concurrency limit, and for the subscription.
//
// Deliveries are idempotent by their `webhook-id`: anything but a clear response is retried, and nothing waits for a decision.

import type { CallFacts, FailureClass } from '../../failures/failure/index.ts'
import { unreachable } from '../../foundation/errors/index.ts'
import { DAY } from '../../foundation/time/index.ts'

/** The endpoint's health: it accepts deliveries, it at least responds, or it must be left alone for a moment. */
export type EndpointSign = 'well' | 'answers' | 'overloaded'

export type DeliveryVerdict =
  | { readonly as: 'delivered'; readonly sign: EndpointSign }
  | {
      readonly as: 'failed'
      readonly class: FailureClass
      readonly retryAfterMs: number | null
      /** The endpoint wants no deliveries any more: its subscription disables itself. */
      readonly isGone: boolean
      /** null: nothing was sent, so it says nothing about the endpoint. */
      readonly sign: EndpointSign | null
      /** An explanation beyond the status; null: none. */
      readonly hint: string | null
    }

/** A request for years must not end a delivery: it is retried tomorrow. */
export const RETRY_AFTER_MS_MAX = DAY
const GONE = 410
const LIMITED = 429
/** Statuses by which an endpoint, or a proxy before it, says that it is overloaded. */
const OVERLOADED = new Set([LIMITED, 502, 503, 504])
/** Refused by the outbound policy, or not an address: no retry fixes it. */
const HOPELESS = new Set(['blocked', 'bad_url'])
/** It was reached, but the response was malformed. */
const REACHED = new Set(['protocol', 'too_large'])

const REDIRECTED = 'redirects are never followed: give the address that it points to'
const IS_GONE = 'the endpoint wants no more deliveries'

export function classifyDelivery(facts: CallFacts): DeliveryVerdict {
  switch (facts.kind) {
    case 'response':
      return classifyStatus(facts.status, facts.retryAfterMs)
    case 'failed':
      if (HOPELESS.has(facts.code)) return failed('config', null, null)
      return failed('transient', null, REACHED.has(facts.code) ? 'answers' : 'overloaded')
    default:
      return unreachable(facts)
  }
}

function classifyStatus(status: number, retryAfterMs: number | null): DeliveryVerdict {
  if (status >= 200 && status < 300) return { as: 'delivered', sign: 'well' }
  if (status === GONE) return { ...failed('config', null, 'answers', IS_GONE), isGone: true }
  const sign = OVERLOADED.has(status) ? 'overloaded' : 'answers'
  const askedMs = retryAfterMs === null ? null : Math.min(retryAfterMs, RETRY_AFTER_MS_MAX)
  if (status === LIMITED) return failed('rate_limited', askedMs, sign)
  return failed('transient', askedMs, sign, status >= 300 && status < 400 ? REDIRECTED : null)
}

function failed(
  as: FailureClass,
  retryAfterMs: number | null,
  sign: EndpointSign | null,
  hint: string | null = null,
): Extract<DeliveryVerdict, { as: 'failed' }> {
  return { as: 'failed', class: as, retryAfterMs, isGone: false, sign, hint }
}
