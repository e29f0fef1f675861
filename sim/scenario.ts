// The definitions of the simulated shop, and what its vendor and its operators know of them.
//
// Every kind of route is here once: with a probe, without one, with a vendor that remembers keys, idempotent, functions
// with and without effects of their own, emitted events and their followers, two routes that want the same key, a key that cannot be made, paused, disabled,
// poison. `wants` says in plain code what a route's subject and condition mean: the oracle of N2.

import type {
  ActionDocument,
  HttpActionDocument,
  RetryPolicy,
  RouteDocument,
  SourceDocument,
  UpsertActionDocument,
} from '../src/core/definitions/documents/index.ts'
import { hashDocument } from '../src/core/definitions/documents/index.ts'
import type { JsonValue } from '../src/core/foundation/json/index.ts'
import { MINUTE, SECOND } from '../src/core/foundation/time/index.ts'
import { CONNECTION_OPERATIONS, CONNECTION_ROUTES, ROTATION_ATTEMPTS } from './connections.ts'
import type { OrderPayload, ScenarioRoute } from './scenario-route.ts'
import type { VendorOperation } from './vendor-operation.ts'
import { CASE_DELAYS_MS, CASE_OPERATIONS } from './workflow-vendor.ts'

export type { OrderPayload, ScenarioRoute }

export const CODE_HASH = 'sha256:simulated'
export const SECRET = 'simulated-secret'
/** How late a request may still arrive after the client gave up, where no probe says otherwise. */
export const LATE_MS_MAX = 45 * SECOND
export const RETRY_AFTER_S_MAX = 40

const BROKEN_AMOUNT = 7
export const DRAIN_EVERY_MS = 10 * SECOND

export const SOURCES: readonly SourceDocument[] = [
  source('shop', { scheme: 'none' }, 10 * MINUTE),
  source(
    'till',
    {
      scheme: 'hmac',
      secret: [{ env: 'TILL_SECRET' }],
      header: 'x-signature',
      algorithm: 'sha256',
      encoding: 'hex',
      prefix: '',
      signed: '{{ body }}',
      timestampHeader: null,
      toleranceMs: 0,
    },
    30 * SECOND,
  ),
  {
    ...source('hub', { scheme: 'none' }, 10 * MINUTE),
    subject: 'external.hub',
    unmatched: 'deadLetter',
    dispatch: {
      mode: 'all',
      rules: [
        { when: 'payload.amount > 20', emit: 'order.{{ header.x-kind }}', data: '{{ payload }}' },
        {
          when: 'payload.vat != null',
          emit: 'order.noted',
          data: { order: '{{ payload.order }}', amount: 60, vat: null },
        },
        // Fails for one amount, and holds for none.
        { when: `100 / (payload.amount - ${BROKEN_AMOUNT}) > 1000`, emit: 'order.never', data: null },
      ],
      otherwise: 'keep',
    },
  },
]

/** The same, but for the order of its rules where the first bundle is not deployed. */
export function sourcesWith(routes: readonly ScenarioRoute[]): readonly SourceDocument[] {
  return routes.some(({ document }) => document.name === 'mail') ? SOURCES : REVERSED
}

const REVERSED: readonly SourceDocument[] = SOURCES.map((one) =>
  one.dispatch === undefined
    ? one
    : { ...one, dispatch: { ...one.dispatch, rules: one.dispatch.rules.toReversed() } },
)

/** What the rules of `hub` make of an event, in plain code: the subjects in their order; null: a rule fails. */
export function dispatchOf(
  source: string,
  kind: string,
  { amount, vat }: OrderPayload,
): readonly string[] | null {
  if (source !== 'hub') return []
  if (amount === BROKEN_AMOUNT) return null
  return [...(amount > 20 ? [`order.${kind}`] : []), ...(vat === null ? [] : ['order.noted'])]
}

/** Fires every minute, and for missed slots; no route selects its events. */
export const CLOCKWORK: SourceDocument & Required<Pick<SourceDocument, 'schedule'>> = {
  ...source('clockwork', { scheme: 'closed' }, 10 * MINUTE),
  subject: 'clockwork.ticked',
  event: { id: null, objectType: null, objectId: null, occurredAt: null },
  schedule: { cron: '* * * * *', zone: 'UTC', missed: 'all', data: null },
}

function source(name: string, verify: SourceDocument['verify'], windowMs: number): SourceDocument {
  return {
    kind: 'Source',
    name,
    description: null,
    verify,
    subject: 'order.{{ header.x-kind }}',
    event: { id: 'header.x-message-id', objectType: 'order', objectId: 'payload.order', occurredAt: null },
    dedup: { by: null, windowMs },
    limits: { bodyBytes: 65_536, depth: 16 },
    status: 'active',
  }
}

const retry = (...delaysMs: readonly number[]): RetryPolicy => ({
  profile: null,
  attempts: delaysMs.length + 1,
  delaysMs,
})

function http(name: string, how: Partial<HttpActionDocument>): HttpActionDocument {
  return {
    type: 'http',
    method: 'POST',
    url: `https://vendor.test/${name}/{{ key }}`,
    headers: { 'x-route': name, 'x-event': '{{ event.id }}', 'x-definition': 'first' },
    body: { order: '{{ payload.order }}', amount: '{{ payload.amount }}' },
    idempotent: false,
    keyTtlMs: null,
    probe: null,
    timeoutMs: 2 * SECOND,
    classify: {},
    ...how,
  }
}

const probe = (name: string, afterMs: number): HttpActionDocument['probe'] => ({
  method: 'GET',
  url: `https://vendor.test/${name}/{{ key }}`,
  headers: { 'x-route': name, 'x-event': '{{ event.id }}' },
  found: 'result.status == 200',
  afterMs,
})

/** Of several at once: in its scope there is no single event. */
const many = (name: string, how: Partial<HttpActionDocument>): HttpActionDocument =>
  http(name, {
    headers: { 'x-route': name, 'x-definition': 'first' },
    body: { items: '{{ batch[*].key }}' },
    ...how,
  })

/** Creates `name`, and calls `${name}fresh` for what is there. */
function upsert(name: string, update: { readonly method: string; readonly idempotent: boolean } | null) {
  const call = { body: { ref: '{{ extRef }}', amount: '{{ payload.amount }}' }, keyTtlMs: null }
  const document: UpsertActionDocument = {
    type: 'upsert',
    baseUrl: 'https://vendor.test',
    headers: { 'x-route': name, 'x-event': '{{ event.id }}' },
    extRef: '{{ payload.order }}',
    find: {
      method: 'GET',
      path: `/${name}/{{ key }}?ref={{ extRef }}`,
      found: 'result.body.count',
      id: 'result.body.id',
      afterMs: 6 * SECOND,
    },
    create: { ...call, method: 'POST', path: `/${name}/{{ key }}`, idempotent: false },
    update: update === null ? null : { ...call, ...update, path: `/${name}fresh/{{ key }}` },
    lock: 'single',
    timeoutMs: 2 * SECOND,
    classify: {},
  }
  return document
}

const run = (name: string, timeoutMs: number): ActionDocument => ({
  type: 'function',
  name,
  codeHash: CODE_HASH,
  with: null,
  timeoutMs,
})

interface Draft {
  readonly on: readonly string[]
  readonly do: ActionDocument
  readonly key?: string
  readonly where?: string
  readonly retry?: RetryPolicy
  readonly maxWaitMs?: number
  readonly status?: RouteDocument['status']
  readonly pace?: Pick<RouteDocument, 'rateLimit' | 'drain' | 'concurrency'>
  readonly turns?: Pick<RouteDocument, 'each' | 'fanOut' | 'order' | 'debounce' | 'batch' | 'delayMs'>
  readonly wants?: (subject: string, payload: OrderPayload) => boolean
}

function route(name: string, draft: Draft): ScenarioRoute {
  return {
    document: {
      kind: 'Route',
      name,
      description: null,
      on: draft.on,
      where: draft.where ?? null,
      status: draft.status ?? 'active',
      key: draft.key ?? `"${name}:" + payload.order`,
      uniqueness: 'operation',
      retry: draft.retry ?? retry(1 * SECOND, 2 * SECOND, 4 * SECOND),
      maxWaitMs: draft.maxWaitMs ?? 3 * MINUTE,
      deadLetter: { severity: 'medium', runbook: null },
      do: draft.do,
      ...draft.pace,
      ...draft.turns,
    },
    wants: draft.wants ?? ((subject) => draft.on.includes(subject)),
  }
}

export const ROUTES: readonly ScenarioRoute[] = [
  route('charge', {
    on: ['order.paid'],
    retry: retry(1 * SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND),
    do: http('charge', { probe: probe('charge', 15 * SECOND) }),
  }),
  route('mail', { on: ['order.created'], do: http('mail', { timeoutMs: 3 * SECOND }) }),
  route('invoice', {
    on: ['order.created'],
    key: '"invoice:" + event.id',
    retry: retry(2 * SECOND, 10 * SECOND, 30 * SECOND),
    do: http('invoice', { keyTtlMs: 80 * SECOND }),
  }),
  route('sync', {
    on: ['order.*'],
    where: 'payload.amount > 50',
    wants: (subject, { amount }) => subject.startsWith('order.') && amount > 50,
    do: http('sync', { method: 'PUT', idempotent: true }),
  }),
  route('audit', {
    on: ['order.created', 'order.paid'],
    key: '"audit:" + event.id',
    do: run('audit', 2 * SECOND),
  }),
  route('pack', {
    on: ['order.paid'],
    do: {
      type: 'emit',
      subject: 'order.packed',
      data: { order: '{{ payload.order }}', amount: 1, vat: null },
    },
  }),
  route('label', {
    on: ['order.packed'],
    maxWaitMs: 1 * MINUTE,
    retry: retry(1 * SECOND, 2 * SECOND),
    do: http('label', { probe: probe('label', 5 * SECOND), keyTtlMs: 60 * SECOND }),
  }),
  route('refund', {
    on: ['order.refunded'],
    key: '"money-back:" + payload.order',
    do: http('refund', { probe: probe('refund', 8 * SECOND) }),
  }),
  route('voucher', {
    on: ['order.refunded'],
    key: '"money-back:" + payload.order',
    maxWaitMs: 1 * MINUTE,
    do: http('voucher', {}),
  }),
  route('note', {
    on: ['order.refunded'],
    key: '"money-back:" + payload.order',
    maxWaitMs: 1 * MINUTE,
    do: run('note', 2 * SECOND),
  }),
  route('tax', { on: ['order.paid'], key: 'payload.vat', do: http('tax', {}) }),
  route('later', { on: ['order.paid'], status: 'paused', do: http('later', { idempotent: true }) }),
  route('off', { on: ['order.created'], status: 'disabled', do: http('off', {}) }),
  route('book', { on: ['order.booked'], do: run('book', 3 * SECOND) }),
  // Two calls may take longer than it has.
  route('ship', { on: ['order.booked'], do: run('ship', 3 * SECOND) }),
  route('track', { on: ['order.shipped'], do: http('track', { method: 'PUT', idempotent: true }) }),
  route('split', {
    on: ['order.booked'],
    retry: retry(2 * SECOND, 10 * SECOND, 30 * SECOND),
    do: run('split', 3 * SECOND),
  }),
  route('long', { on: ['order.booked'], key: '"long:" + event.id', do: run('long', 3 * SECOND) }),
  route('sly', { on: ['order.booked'], key: '"sly:" + event.id', do: run('sly', 5 * SECOND) }),
  // Two calls, one inside the other, and an event that is refused inside one.
  route('wrap', { on: ['order.wrapped'], do: run('wrap', 5 * SECOND) }),
  route('shout', { on: ['order.wrapped'], do: run('shout', 3 * SECOND) }),
  // One after another, over a vendor that can be asked; and by version, over one that may be called twice.
  route('steps', {
    on: ['order.moved'],
    key: '"steps:" + event.id',
    turns: { order: { by: 'payload.order' } },
    do: http('steps', { probe: probe('steps', 5 * SECOND) }),
  }),
  route('moves', {
    on: ['order.moved'],
    key: '"moves:" + event.id',
    turns: { order: { by: 'payload.order', version: 'payload.amount', stale: 'skip' } },
    do: http('moves', { method: 'PUT', idempotent: true }),
  }),
  route('index', {
    on: ['order.moved'],
    key: '"index:" + event.id',
    turns: { debounce: { by: 'payload.order', windowMs: 10 * SECOND, maxWaitMs: 40 * SECOND } },
    do: http('index', { method: 'PUT', idempotent: true }),
  }),
  route('parts', {
    on: ['order.moved'],
    key: '"parts:" + event.id + ":" + part',
    turns: { each: { of: '["left", "right"]', as: 'part', max: 5 } },
    do: http('parts', {}),
  }),
  // Of these two the first that wants it runs.
  route('north', {
    on: ['order.moved'],
    where: 'payload.amount > 60',
    wants: (subject, { amount }) => subject === 'order.moved' && amount > 60,
    turns: { fanOut: 'first', delayMs: 2 * SECOND },
    do: http('north', { method: 'PUT', idempotent: true }),
  }),
  route('south', {
    on: ['order.moved'],
    wants: (subject, { amount }) => subject === 'order.moved' && amount <= 60,
    turns: { fanOut: 'first' },
    do: http('south', { method: 'PUT', idempotent: true }),
  }),
  // Each at its own pace.
  route('metered', {
    on: ['order.paced'],
    pace: { rateLimit: { profile: null, perMinute: 30, burst: 2 } },
    do: http('metered', { method: 'PUT', idempotent: true }),
  }),
  route('drained', {
    on: ['order.paced'],
    pace: { drain: { profile: null, everyMs: DRAIN_EVERY_MS, events: 2, cycles: 2 } },
    do: http('drained', { method: 'PUT', idempotent: true }),
  }),
  route('narrow', {
    on: ['order.paced'],
    pace: { concurrency: { limit: 1 } },
    do: http('narrow', { method: 'PUT', idempotent: true, timeoutMs: 3 * SECOND }),
  }),
  // Several in one call: one vendor says what became of each and can be asked, the other says one thing of all.
  route('gather', {
    on: ['order.stocked'],
    key: '"gather:" + event.id',
    turns: {
      batch: {
        size: 3,
        maxWaitMs: 3 * SECOND,
        results: 'result.body.results',
        item: { key: 'item.key', ok: 'item.ok' },
      },
    },
    do: many('gather', { probe: { ...probe('gather', 5 * SECOND)!, headers: { 'x-route': 'gather' } } }),
  }),
  route('bulk', {
    on: ['order.stocked'],
    turns: { batch: { size: 4, maxWaitMs: 5 * SECOND } },
    do: many('bulk', {}),
  }),
  // One object per reference: what is there may be updated twice, not at all, or never by two.
  route('ware', {
    on: ['order.stocked'],
    key: '"ware:" + event.id',
    do: upsert('ware', { method: 'PUT', idempotent: true }),
  }),
  route('shelf', { on: ['order.stocked'], key: '"shelf:" + event.id', do: upsert('shelf', null) }),
  route('tag', {
    on: ['order.stocked'],
    where: 'payload.amount > 50',
    wants: (subject, { amount }) => subject === 'order.stocked' && amount > 50,
    key: '"tag:" + event.id',
    do: upsert('tag', { method: 'PATCH', idempotent: false }),
  }),
  // Two of one order at once, in either sequence.
  route('pairs', {
    on: ['order.stocked'],
    key: '"pairs:" + event.id',
    pace: { concurrency: { limit: 2, by: 'payload.order' } },
    do: http('pairs', { method: 'PUT', idempotent: true }),
  }),
  // Selects canonical events, and fails now and then.
  route('told', {
    on: ['integration.>'],
    key: '"told:" + event.id',
    retry: retry(1 * SECOND),
    wants: (subject) => subject.startsWith('integration.'),
    do: run('told', 2 * SECOND),
  }),
  route('bomb', { on: ['order.exploded'], key: '"bomb:" + event.id', do: run('bomb', 2 * SECOND) }),
]

/** Their keys have the event's id, under another name in the second bundle: one who replays the event must not see it. */
const RENAMED: readonly string[] = ['invoice', 'audit', 'long', 'sly']

/**
 * Two bundles that an operator may deploy alternately: one has a route less, another one active, and other keys for some, and calls
 * say which.
 */
export const BUNDLES: readonly (readonly ScenarioRoute[])[] = [
  ROUTES,
  ROUTES.filter(({ document }) => document.name !== 'mail').map((one) =>
    one.document.name === 'later'
      ? { ...one, document: { ...one.document, status: 'active' } }
      : { ...one, document: second(one.document) },
  ),
]

function second(document: RouteDocument): RouteDocument {
  if (RENAMED.includes(document.name))
    return secondCall({ ...document, key: `"${document.name}-2:" + event.id` })
  return secondCall(document)
}

function secondCall(document: RouteDocument): RouteDocument {
  if (document.do.type !== 'http') return document
  const headers = { ...document.do.headers, 'x-definition': 'second' }
  return { ...document, do: { ...document.do, headers } }
}

/** Routes whose keys are digests where `hmac` is used. */
export const HMAC_ROUTES: readonly string[] = ['charge', 'mail']

/** The same, and the keys of some are digests by the tenant's key. */
export function withHmac(routes: readonly ScenarioRoute[]): readonly ScenarioRoute[] {
  return routes.map((one) => {
    const { name } = one.document
    if (!HMAC_ROUTES.includes(name)) return one
    return { ...one, document: { ...one.document, key: `"${name}:" + hmac(payload.order)` } }
  })
}

const VARIANTS: ReadonlyMap<string, string> = new Map(
  [...BUNDLES.flat(), ...BUNDLES.flatMap(withHmac)].flatMap(({ document }) => {
    const variant = document.do.type === 'http' ? document.do.headers['x-definition'] : undefined
    return variant === undefined ? [] : [[hashDocument(document), variant]]
  }),
)

/** What the calls of work on this definition say; undefined where they say nothing. */
export function variantOf(hash: string): string | undefined {
  return VARIANTS.get(hash)
}

/** The hash of the same route in the other bundle. */
export function otherVersion(consumer: string, hash: string): string {
  const all = BUNDLES.flat().filter(({ document }) => `route:${document.name}` === consumer)
  return all.map(({ document }) => hashDocument(document)).find((other) => other !== hash) ?? hash
}

export const HEALED: readonly ScenarioRoute[] = ROUTES.map((one) =>
  one.document.status === 'paused' ? { ...one, document: { ...one.document, status: 'active' } } : one,
)

/** Each bundle with what calls on connections. */
export function withConnectionRoutes(routes: readonly ScenarioRoute[]): readonly ScenarioRoute[] {
  return [...routes, ...CONNECTION_ROUTES]
}

/** For seeds in which pace matters. */
export const PACED_KINDS: Readonly<Record<string, number>> = { created: 10, paid: 10, paced: 60 }

export const KINDS: Readonly<Record<string, number>> = {
  created: 30,
  paid: 40,
  refunded: 20,
  exploded: 3,
  unheard: 5,
  booked: 25,
  wrapped: 12,
  moved: 25,
}

/** Mostly of routes with lanes. */
export const LANE_KINDS: Readonly<Record<string, number>> = { ...KINDS, moved: 300 }

/** Mostly of what is called for together, or by reference. */
export const STOCK_KINDS: Readonly<Record<string, number>> = { ...KINDS, stocked: 300 }

/** What functions ask the vendor for, by operation. */
const EFFECTS: Readonly<Record<string, Omit<VendorOperation, 'name'>>> = {
  booking: effect('book', {}),
  picking: effect('ship', { probeAfterMs: 15 * SECOND }),
  sending: effect('ship', { isIdempotent: true }),
  parta: effect('split', { keyTtlMs: 80 * SECOND }),
  partb: effect('split', {}),
  partc: effect('split', { probeAfterMs: 6 * SECOND }),
  crating: effect('long', {}),
  greeting: effect('sly', { probeAfterMs: 5 * SECOND }),
  waving: effect('sly', { isIdempotent: true }),
  wrapping: effect('wrap', {}),
  taping: effect('wrap', { probeAfterMs: 5 * SECOND }),
  shouting: effect('shout', {}),
}

function effect(route: string, known: Partial<VendorOperation>): Omit<VendorOperation, 'name'> {
  return {
    consumer: `route:${route}`,
    isIdempotent: false,
    keyTtlMs: null,
    probeAfterMs: null,
    timeoutMs: 2 * SECOND,
    ...known,
  }
}

/** The key of one effect of a function, and not of an item. */
export function isEffectKey(key: string): boolean {
  return key.includes('#')
}

/** Of a key as the vendor sees it: the ledger's key, and which repetition it is. */
export function keyOfSent(sent: string): { readonly key: string; readonly generation: number } {
  const match = /^(.+)#(\d+)$/.exec(sent)
  return match === null
    ? { key: sent, generation: 1 }
    : { key: match[1] as string, generation: Number(match[2]) }
}

export function vendorOperation(name: string): VendorOperation {
  const effectOf = EFFECTS[name] ?? CASE_OPERATIONS[name] ?? CONNECTION_OPERATIONS[name]
  if (effectOf !== undefined) return { name, ...effectOf }
  const { do: action, batch } = ROUTES.find(({ document }) => document.name === name)?.document ?? {}
  if (action?.type === 'upsert') return upsertOperation(name, action, {})
  if (name.endsWith('fresh')) {
    const of = name.slice(0, -'fresh'.length)
    const whole = ROUTES.find(({ document }) => document.name === of)?.document.do
    if (whole?.type === 'upsert')
      return { ...upsertOperation(of, whole, { isIdempotent: whole.update?.idempotent ?? false }), name }
  }
  if (action?.type !== 'http') throw new Error(`assertion failed: the vendor has no operation ${name}`)
  return {
    name,
    consumer: `route:${name}`,
    isIdempotent: action.idempotent,
    keyTtlMs: action.keyTtlMs,
    probeAfterMs: action.probe?.afterMs ?? null,
    timeoutMs: action.timeoutMs,
    ...(batch === undefined ? {} : { isBatch: true }),
  }
}

function upsertOperation(
  name: string,
  { find, timeoutMs }: UpsertActionDocument,
  known: Partial<VendorOperation>,
): VendorOperation {
  return {
    name,
    consumer: `route:${name}`,
    isIdempotent: false,
    keyTtlMs: null,
    probeAfterMs: find.afterMs,
    timeoutMs,
    isUpsert: true,
    ...known,
  }
}

export function routeOf(consumer: string): ScenarioRoute {
  const found = [...ROUTES, ...CONNECTION_ROUTES].find(
    ({ document }) => `route:${document.name}` === consumer,
  )
  if (found === undefined) throw new Error(`assertion failed: no route ${consumer}`)
  return found
}

/** How many attempts the consumer's jobs have. */
export function attemptsOf(consumer: string): number {
  if (consumer.startsWith('credential:')) return ROTATION_ATTEMPTS
  return consumer.startsWith('workflow:')
    ? CASE_DELAYS_MS.length + 1
    : routeOf(consumer).document.retry.attempts
}

export function parsePayload(text: string): OrderPayload {
  return JSON.parse(text) as JsonValue as unknown as OrderPayload
}
