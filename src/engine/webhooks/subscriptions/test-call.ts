// One signed call to a subscription's endpoint, for a user who wants to see its result. It is not a delivery: it is not stored,
// it is never repeated, and it counts neither for nor against the endpoint.

import { authHeaderOf, type SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import { CANONICAL_SOURCE } from '../../../core/events/canonical/index.ts'
import type { StoredEvent } from '../../../core/events/event/index.ts'
import { ExpressionError } from '../../../core/expression/index.ts'
import type { FailureClass } from '../../../core/failures/failure/index.ts'
import { messageOf } from '../../../core/foundation/errors/index.ts'
import type { Ids, TenantId } from '../../../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson, toStorable } from '../../../core/foundation/json/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Vars } from '../../../core/routing/index.ts'
import { makeRedact } from '../../../core/secrets/index.ts'
import { classifyDelivery, type Subscription } from '../../../core/webhooks/subscription/index.ts'
import type { HttpClient, HttpOutcome } from '../../../ports/http-client.ts'
import type { EngineBase } from '../../commit/index.ts'
import { errorText, factsOf, redactOutcome } from '../../effects/index.ts'
import { type Rendered, renderDelivery, signRequest, type ToRender } from '../deliveries/index.ts'
import { aboutData, TEST_MESSAGE } from './subscription-events.ts'
import type { SubscriptionTest } from './subscription-types.ts'

const RESPONSE_BYTES_MAX = 16_384
const BODY_LENGTH_MAX = 1_024
const HEADERS_SHOWN = ['content-type', 'retry-after', 'server', 'date']
const HIDDEN = '[hidden]'

export async function testSubscription(
  deps: Pick<EngineBase, 'vault' | 'ids' | 'vars' | 'now'> & {
    readonly http: Pick<HttpClient, 'send'>
    readonly version: string
  },
  tenant: TenantId,
  subscription: Subscription,
): Promise<SubscriptionTest> {
  const { document } = subscription
  const at = deps.now()
  const event = makeEvent(deps.ids, tenant, document, at)
  const toRender = toRenderOf(deps.ids, event)
  const rendered = render(deps, subscription, toRender)
  if ('error' in rendered) return unsent('validation', rendered.error)
  const signed = await signRequest(deps.vault, tenant, subscription, rendered, {
    id: event.id,
    at,
    render: (open) => renderDelivery(subscription, toRender, deps, open),
  })
  if (!signed.ok) return unsent(signed.class ?? 'config', signed.error)
  const { url, body, hidden } = signed
  const raw = await deps.http.send({
    tenant,
    method: 'POST',
    url,
    headers: signed.headers,
    body,
    timeoutMs: document.timeoutMs,
    maxResponseBytes: RESPONSE_BYTES_MAX,
    cut: true,
  })
  const outcome = hidden.length === 0 ? raw : redactOutcome(raw, makeRedact(hidden))
  const verdict = classifyDelivery(factsOf(outcome, at))
  const isDelivered = verdict.as === 'delivered'
  const hint = isDelivered || verdict.hint === null ? '' : `: ${verdict.hint}`
  return {
    ok: isDelivered,
    status: outcome.kind === 'response' ? outcome.status : null,
    durationMs: outcome.durationMs,
    class: isDelivered ? null : verdict.class,
    error: isDelivered ? null : `${errorText(outcome)}${hint}`,
    response: outcome.kind === 'response' ? headOf(outcome) : null,
    request: { url: rendered.url, headers: shown(document, signed.headers) },
  }
}

function toRenderOf(ids: Ids, event: StoredEvent): ToRender {
  const payload = () => JSON.parse(event.data) as JsonValue
  return { work: { id: ids.work() }, event, payload, header: () => ({}) }
}

function render(
  deps: { readonly vars: Vars; readonly version: string },
  subscription: Subscription,
  toRender: ToRender,
): Rendered | { readonly error: string } {
  try {
    return renderDelivery(subscription, toRender, deps)
  } catch (error) {
    if (error instanceof ExpressionError) return { error: messageOf(error) }
    throw error
  }
}

/** The subscription's own headers may authenticate the caller. */
function shown({ headers, auth }: SubscriptionDocument, sent: Readonly<Record<string, string>>) {
  const names = auth === undefined ? Object.keys(headers) : [...Object.keys(headers), authHeaderOf(auth)]
  const own = names.map((name) => [name.toLowerCase(), HIDDEN])
  return { ...sent, ...Object.fromEntries(own) }
}

function unsent(as: FailureClass, error: string): SubscriptionTest {
  return { ok: false, status: null, durationMs: 0, class: as, error, response: null, request: null }
}

function headOf({ headers, body, isCut }: Extract<HttpOutcome, { kind: 'response' }>) {
  const shown = HEADERS_SHOWN.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, toStorable(value, 200)] as const]
  })
  return {
    headers: Object.fromEntries(shown),
    body: toStorable(body, BODY_LENGTH_MAX),
    isCut: isCut === true || body.length > BODY_LENGTH_MAX,
  }
}

/** The same as the test event of enabling a subscription; this one is not stored. */
function makeEvent(ids: Ids, tenant: TenantId, document: SubscriptionDocument, now: Instant): StoredEvent {
  const data = stringifyJson({ ...aboutData(document), message: TEST_MESSAGE })
  return {
    id: ids.event(),
    tenant,
    source: CANONICAL_SOURCE,
    subject: 'webhook.test',
    objectType: 'subscription',
    objectId: document.name,
    occurredAt: null,
    correlationId: ids.uuid(),
    causationId: null,
    traceId: ids.uuid().replaceAll('-', ''),
    dedupKey: '',
    payloadHash: '',
    headers: '{}',
    data,
    raw: null,
    sensitive: [],
    matched: 1,
    receivedAt: now,
    duplicates: 0,
    lastDuplicateAt: null,
  }
}
