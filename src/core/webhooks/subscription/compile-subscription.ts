// A subscription, compiled: a route for matching, lanes, flow control and retries, and the rendering of an event for its
// endpoint.
//
// Invariant: SB2 a body without a transform is spliced from existing texts. The payload is never parsed for it, unless
// something in it must be hidden.

import { authHeaderOf, hashDocument, type SubscriptionDocument } from '../../definitions/documents/index.ts'
import { compileAuth, headerText, must, type SecretUse, usesOf } from '../../effects/action/index.ts'
import { type CanonicalSubject, isCanonicalSource } from '../../events/canonical/index.ts'
import { hiddenFromEndpoint, isEncrypted, parsePayload, redact } from '../../events/sensitive/index.ts'
import {
  compileShape,
  compileTemplate,
  ExpressionError,
  type Keyed,
  type Scope,
} from '../../expression/index.ts'
import { stringifyJson } from '../../foundation/json/index.ts'
import { compileRoute, type Route } from '../../routing/index.ts'
import {
  type DeliveredEvent,
  SUBSCRIPTION_PREFIX,
  type Subscription,
  type SubscriptionStatus,
} from './compiled-subscription.ts'
import { isReservedHeader } from './reserved-headers.ts'

const TEST_SUBJECT: CanonicalSubject = 'webhook.test'

export function compileSubscription(
  document: SubscriptionDocument,
  status: SubscriptionStatus = document.status,
  keyed: Keyed = {},
): Subscription {
  const hash = hashDocument(document)
  const [address, body, headers] = [
    addressOf(document.url, keyed),
    compileBody(document, keyed),
    compileHeaders(document, keyed),
  ]
  return {
    document,
    hash,
    consumer: SUBSCRIPTION_PREFIX + document.name,
    status,
    route: compileMatching(document, hash, status, keyed),
    secrets: [...address.secrets, ...headers.secrets, ...body.secrets],
    urlOf: address.render,
    bodyOf: body.render,
    headersOf: headers.render,
  }
}

/** The same with a different status; nothing is compiled again. */
export function withStatus(subscription: Subscription, status: SubscriptionStatus): Subscription {
  if (subscription.status === status) return subscription
  const { route } = subscription
  // The identity of the route shows whether anything changed: a failing status changes nothing.
  const isSame = route.status === routeStatus(status)
  return { ...subscription, status, route: isSame ? route : { ...route, status: routeStatus(status) } }
}

/** A failing one still delivers. */
function routeStatus(status: SubscriptionStatus): Route['status'] {
  return status === 'failing' ? 'active' : status
}

function compileMatching(
  document: SubscriptionDocument,
  hash: string,
  status: SubscriptionStatus,
  keyed: Keyed,
): Route {
  const { name, description, on, where, retry, maxWaitMs, deadLetter, rateLimit, concurrency, order } =
    document
  const { connection } = document
  const route = compileRoute(
    {
      kind: 'Route',
      name,
      description,
      on,
      where,
      status: routeStatus(status),
      key: null,
      uniqueness: 'operation',
      retry,
      maxWaitMs,
      deadLetter,
      // The endpoint's concurrency limit adapts to what it can handle, and never stops trying.
      circuit: 'off',
      // Never run: the subscription makes deliveries.
      do: { type: 'emit', subject: 'webhook.delivered', data: null },
      ...(rateLimit !== undefined && { rateLimit }),
      ...(concurrency !== undefined && { concurrency }),
      ...(order !== undefined && { order }),
    },
    keyed,
  )
  return {
    ...route,
    hash,
    consumer: SUBSCRIPTION_PREFIX + name,
    of: { kind: 'delivery', subscription: name, ...(connection !== undefined && { connection }) },
  }
}

/** The address, from a text that may be a template over `vars`. */
export function compileAddress(text: string): Subscription['urlOf'] {
  return addressOf(text, {}).render
}

function addressOf(text: string, keyed: Keyed): Part<Subscription['urlOf']> {
  const { template } = must(compileTemplate(text, { ...REQUEST, ...keyed }))
  if (template.isConstant) return { secrets: [], render: () => text }
  const render = (scope: Scope) => {
    const url = template.render(scope, 'url')
    if (typeof url !== 'string') throw new ExpressionError('type', 'the url is not a text', 'url')
    return url
  }
  return { secrets: usesOf(template, 'text'), render }
}

/** The inputs of a request may contain secrets. */
const REQUEST = { secrets: true }

interface Part<Render> {
  readonly secrets: readonly SecretUse[]
  readonly render: Render
}

function compileBody(
  { transform, sensitive }: SubscriptionDocument,
  keyed: Keyed,
): Part<Subscription['bodyOf']> {
  if (transform === undefined) return { secrets: [], render: (event) => usualBody(event, sensitive) }
  const { shape } = must(compileShape(transform, { ...REQUEST, ...keyed }))
  const render: Subscription['bodyOf'] = (event, scope) => {
    // Our own test has no fields for a transform: it shows whether the endpoint accepts what we send and sign.
    if (isTestEvent(event)) return usualBody(event, 'send')
    const value = shape.render(scope())
    if (value === undefined) throw new ExpressionError('missing', 'the transform gives nothing', 'transform')
    return stringifyJson(value)
  }
  return { secrets: usesOf(shape, 'text'), render }
}

/** Our event that tests whether an endpoint accepts what we send. */
export function isTestEvent({ source, subject }: Pick<DeliveredEvent, 'source' | 'subject'>): boolean {
  return subject === TEST_SUBJECT && isCanonicalSource(source)
}

function usualBody(event: DeliveredEvent, said: 'send' | undefined): string {
  const at = new Date(event.occurredAt ?? event.receivedAt).toISOString()
  const head = `{"id":"${event.id}","type":${JSON.stringify(event.subject)},"timestamp":"${at}","data":`
  return `${head}${dataOf(event, said)}}`
}

function dataOf({ data, sensitive }: DeliveredEvent, said: 'send' | undefined): string {
  // A payload that could not be decrypted is not sent as if it were the payload.
  if (isEncrypted(data)) parsePayload(data)
  const hidden = hiddenFromEndpoint(sensitive, said)
  return hidden.length === 0 ? data : stringifyJson(redact(parsePayload(data), hidden))
}

function compileHeaders(
  { headers, auth }: Pick<SubscriptionDocument, 'headers' | 'auth'>,
  keyed: Keyed,
): Part<Subscription['headersOf']> {
  const proof = auth === undefined || isReservedHeader(authHeaderOf(auth)) ? null : compileAuth(auth)
  const templates = Object.entries(headers)
    // Refused when it is written; it must not pass here either.
    .filter(([name]) => !isReservedHeader(name))
    .map(([name, text]) => ({
      name: name.toLowerCase(),
      template: must(compileTemplate(text, { ...REQUEST, ...keyed })).template,
    }))
  const render = (scope: Scope): Readonly<Record<string, string>> => {
    const rendered: Record<string, string> = {}
    for (const { name, template } of templates) {
      const value = template.render(scope)
      if (value !== undefined && value !== null) rendered[name] = headerText(name, value)
    }
    if (proof !== null) rendered[proof.header] = headerText(proof.header, proof.render(scope))
    return rendered
  }
  const secrets = [
    ...(proof === null ? [] : [proof.use]),
    ...templates.flatMap(({ template }) => usesOf(template, 'header')),
  ]
  if (proof !== null || templates.some(({ template }) => !template.isConstant))
    return { secrets, render: (scope) => render(scope()) }
  // Rendered when it is first sent: an invalid header value then fails only that delivery.
  let known: Readonly<Record<string, string>> | null = null
  return {
    secrets,
    render: () => {
      known ??= render({})
      return known
    },
  }
}
