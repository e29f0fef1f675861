// Subscriptions and deliveries as clients see them. Tokens often stand in the query of an address and in headers: whoever may only
// look sees that they are there, and nothing of them.

import { isAllowed } from '../core/access/callers/index.ts'
import type { SubscriptionDocument } from '../core/definitions/documents/index.ts'
import type { Attempt } from '../core/queue/work/index.ts'
import type { Caller } from '../engine/access/index.ts'
import type { EndpointConcurrencyView } from '../engine/flow-control/index.ts'
import type {
  Delivery,
  DeliveryRequest,
  SubscriptionDetail,
  SubscriptionView,
} from '../engine/webhooks/index.ts'
import { iso, isoOrNull, present, showAttempt } from './shapes.ts'

const HIDDEN = '[hidden]'

export function seesTokens(caller: Caller): boolean {
  return isAllowed(caller, 'operator')
}

/** `https://a.example/hooks?token=[hidden]`. A template counts as what it is written as: too much may be hidden, never too little. */
export function hideQuery(url: string): string {
  const at = url.indexOf('?')
  if (at < 0) return url
  const parts = url.slice(at + 1).split('&')
  const hidden = parts.map((part) => {
    const equals = part.indexOf('=')
    return equals < 0 ? HIDDEN : `${part.slice(0, equals)}=${HIDDEN}`
  })
  return `${url.slice(0, at)}?${hidden.join('&')}`
}

function hideHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, HIDDEN]))
}

export function showSubscription(one: SubscriptionView, caller: Caller) {
  const { document, state, health } = one
  return {
    name: one.name,
    description: document.description,
    url: seesTokens(caller) ? document.url : hideQuery(document.url),
    on: document.on,
    status: one.status,
    because: state.because,
    reason: state.reason,
    since: isoOrNull(state.since),
    failingSince: isoOrNull(state.failingSince),
    disableAt: isoOrNull(one.disableAt),
    managedBy: one.managedBy,
    signing: document.signing,
    metadata: document.metadata,
    createdAt: isoOrNull(one.createdAt),
    updatedAt: isoOrNull(one.updatedAt),
    health: {
      lastDeliveredAt: isoOrNull(health.lastDeliveredAt),
      lastFailedAt: isoOrNull(health.lastFailedAt),
      recent: health.recent,
      waiting: health.waiting,
      isCapped: health.isCapped,
    },
  }
}

export function showSubscriptionDetail(
  one: SubscriptionDetail,
  window: EndpointConcurrencyView | null,
  caller: Caller,
) {
  const { from, name, version, oldUntil, isUnseen } = one.secret
  return {
    ...showSubscription(one, caller),
    by: one.state.by,
    createdBy: one.createdBy,
    updatedBy: one.updatedBy,
    document: seesTokens(caller) ? one.document : hideTokens(one.document),
    window:
      window === null
        ? null
        : { limit: window.limit, inFlight: window.inFlight, pausedUntil: isoOrNull(window.pausedUntil) },
    secret: { from, name, version, oldUntil: oldUntil.map(iso), isUnseen },
  }
}

export function hideTokens(document: SubscriptionDocument): SubscriptionDocument {
  return { ...document, url: hideQuery(document.url), headers: hideHeaders(document.headers) }
}

export function showDelivery({ work, subscription, state, subject, deadLetterId }: Delivery) {
  return {
    id: work.id,
    subscription,
    eventId: work.eventId,
    subject,
    state,
    attempts: work.attempts,
    dueAt: iso(work.dueAt),
    createdAt: iso(work.createdAt),
    ...present({
      httpStatus: work.httpStatus,
      durationMs: work.durationMs,
      class: work.class,
      error: work.lastError,
      processedAt: isoOrNull(work.processedAt),
      deadLetterId,
      replayOf: work.replayOf,
    }),
  }
}

export function showDeliveryAttempt(attempt: Attempt) {
  const { response } = attempt
  return { ...showAttempt(attempt), ...(response !== undefined && { response }) }
}

/** What would be sent now; the body may hold what is sensitive in the event, so it is for operators. */
export function showRequest(request: DeliveryRequest, caller: Caller) {
  if (!request.ok) return { request: null, requestError: request.error }
  const { url, headers, body } = request
  if (seesTokens(caller)) return { request: { url, headers, body } }
  return { request: { url: hideQuery(url), headers: hideHeaders(headers), body: null } }
}
