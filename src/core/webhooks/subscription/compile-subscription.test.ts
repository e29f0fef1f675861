import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  DISABLE_AFTER_MS,
  hashDocument,
  type SubscriptionDocument,
} from '../../definitions/documents/index.ts'
import { CANONICAL_SOURCE } from '../../events/canonical/index.ts'
import { ExpressionError } from '../../expression/index.ts'
import type { EventId } from '../../foundation/ids/index.ts'
import { HOUR } from '../../foundation/time/index.ts'
import { RETRY_PROFILES } from '../../queue/retry/index.ts'
import {
  compileSubscription,
  type DeliveredEvent,
  isReservedHeader,
  RESERVED_HEADERS,
  withStatus,
} from './index.ts'

const DOCUMENT: SubscriptionDocument = {
  kind: 'Subscription',
  name: 'crm',
  description: null,
  url: 'https://crm.example.com/hooks',
  on: ['orders.>'],
  where: 'payload.total > 100',
  status: 'active',
  secret: null,
  signing: 'standard',
  headers: {},
  retry: RETRY_PROFILES.DELIVERY,
  timeoutMs: 15_000,
  maxWaitMs: 24 * HOUR,
  disableAfterMs: DISABLE_AFTER_MS,
  deadLetter: { severity: 'warning', runbook: null },
  metadata: {},
}

const EVENT: DeliveredEvent = {
  id: 'evt_1' as EventId,
  source: 'shop',
  subject: 'orders.created',
  occurredAt: Date.parse('2026-01-02T03:04:05.678Z'),
  receivedAt: Date.parse('2026-01-02T03:04:06Z'),
  data: '{ "total" : 1.50, "big": 12345678901234567890 }',
  sensitive: [],
}

const never = () => {
  throw new Error('the scope is not needed')
}
const compiled = (change: Partial<SubscriptionDocument> = {}) =>
  compileSubscription({ ...DOCUMENT, ...change })

describe('matching', () => {
  test('[SB1] works like that of a route', () => {
    const { route, hash, consumer, status } = compiled()
    expect({ hash, consumer, status }).toEqual({
      hash: hashDocument(DOCUMENT),
      consumer: 'subscription:crm',
      status: 'active',
    })
    expect(route).toMatchObject({
      hash,
      consumer,
      status: 'active',
      of: { kind: 'delivery', subscription: 'crm' },
      isImmediate: true,
      lane: null,
      batch: null,
    })
    expect(route.document).toMatchObject({ circuit: 'off', on: ['orders.>'], retry: RETRY_PROFILES.DELIVERY })
    expect([50, 150].map((total) => route.wants({ payload: { total } }))).toEqual([false, true])
  })

  test('[SB1] order, rate and limit make it wait', () => {
    const ordered = compiled({ order: { by: 'event.objectId' } }).route
    expect(ordered.lane?.of({ event: { objectId: 'A' } })).toEqual({ key: 'A', width: 1 })
    expect(ordered.lane?.holds).toBe(true)
    expect(compiled({ order: { by: 'event.objectId', onBlocked: 'skip' } }).route.lane?.holds).toBe(false)
    const rateLimit = { profile: null, perMinute: 60, burst: 10 }
    const limited = compiled({ rateLimit, concurrency: { limit: 3 } }).route
    expect(limited.document).toMatchObject({ rateLimit, concurrency: { limit: 3 } })
    expect([ordered.isImmediate, limited.isImmediate]).toEqual([false, false])
  })

  test('[SB1] a failing one is matched like an active one, a paused one as paused', () => {
    const subscription = compiled()
    expect(withStatus(subscription, 'active')).toBe(subscription)
    const failing = withStatus(subscription, 'failing')
    expect([failing.status, failing.route.status]).toEqual(['failing', 'active'])
    expect(withStatus(failing, 'disabled').route.status).toBe('disabled')
    expect(compileSubscription(DOCUMENT, 'paused').route.status).toBe('paused')
    expect(failing.route.hash).toBe(subscription.hash)
  })
})

describe('the body', () => {
  test('[SB2] is spliced from existing texts, character by character', () => {
    expect(compiled().bodyOf(EVENT, never)).toBe(
      '{"id":"evt_1","type":"orders.created","timestamp":"2026-01-02T03:04:05.678Z","data":{ "total" : 1.50, "big": 12345678901234567890 }}',
    )
    expect(compiled().bodyOf({ ...EVENT, occurredAt: null }, never)).toContain('"2026-01-02T03:04:06.000Z"')
  })

  test('[SB2] is JSON for any payload and subject', () => {
    const subscription = compiled()
    fc.assert(
      fc.property(fc.json(), fc.string({ unit: 'grapheme' }), (data, subject) => {
        const body = JSON.parse(subscription.bodyOf({ ...EVENT, data, subject }, never))
        expect(body).toEqual({
          id: 'evt_1',
          type: subject,
          timestamp: '2026-01-02T03:04:05.678Z',
          data: JSON.parse(data),
        })
        expect(Object.keys(body)).toEqual(['id', 'type', 'timestamp', 'data'])
      }),
    )
  })

  test('[SB3] hides sensitive values, unless configured to send them', () => {
    const event = {
      ...EVENT,
      data: '{"user":{"email":"a@example.com","id":12345678901234567890}}',
      sensitive: ['payload.user.email'],
    }
    expect(compiled().bodyOf(event, never)).toContain(
      '"data":{"user":{"email":"[hidden]","id":12345678901234567890}}',
    )
    expect(compiled({ sensitive: 'send' }).bodyOf(event, never)).toContain(`"data":${event.data}`)
  })

  test('[SB3] a payload that cannot be decrypted is not sent', () => {
    const event = { ...EVENT, data: 'mrs1.abc.x.y' }
    expect(() => compiled().bodyOf(event, never)).toThrow('sealed')
    expect(() => compiled({ sensitive: 'send' }).bodyOf(event, never)).toThrow('sealed')
  })

  test('[SB4] of a transform is the JSON of its tree', () => {
    const { bodyOf } = compiled({ transform: { id: '{{ event.id }}', what: '{{ payload }}', v: 1 } })
    expect(bodyOf(EVENT, () => ({ event: { id: 'evt_1' }, payload: { a: 12345678901234567890n } }))).toBe(
      '{"id":"evt_1","what":{"a":12345678901234567890},"v":1}',
    )
    const text = compiled({ transform: 'order {{ payload.id }}' })
    expect(text.bodyOf(EVENT, () => ({ payload: { id: 7 } }))).toBe('"order 7"')
  })

  test('[SB4] our own test event is sent without the transform, but not other events of that name', () => {
    const { bodyOf } = compiled({ transform: '{{ payload.no }}' })
    const event = { ...EVENT, subject: 'webhook.test', data: '{"message":"a test"}' }
    const scope = () => ({ payload: {} })
    expect(bodyOf({ ...event, source: CANONICAL_SOURCE }, scope)).toContain('"data":{"message":"a test"}')
    expect(() => bodyOf(event, scope)).toThrow('gives nothing')
  })

  test('[SB4] a transform that fails or produces nothing makes no body', () => {
    expect(() => compiled({ transform: '{{ payload.no }}' }).bodyOf(EVENT, () => ({ payload: {} }))).toThrow(
      'gives nothing',
    )
    expect(() =>
      compiled({ transform: { a: '{{ payload.a + 1 }}' } }).bodyOf(EVENT, () => ({ payload: { a: {} } })),
    ).toThrow()
  })
})

describe('the request', () => {
  test('[SB5] headers are templates; constant ones need no scope', () => {
    expect(compiled({ headers: { 'x-team': 'crm' } }).headersOf(never)).toEqual({ 'x-team': 'crm' })
    const { headersOf } = compiled({
      headers: { 'x-a': '{{ payload.a }}', 'x-no': '{{ payload.no }}', 'x-b': 'b' },
    })
    expect(headersOf(() => ({ payload: { a: 1 } }))).toEqual({ 'x-a': '1', 'x-b': 'b' })
    expect(() => headersOf(() => ({ payload: { a: 'x\r\nhost: y' } }))).toThrow('header')
  })

  test.each(['Vertrieb – Ost', 'a\r\nb: c'])(
    '[SB5] a constant %j fails when it is sent, and not before',
    (value) => {
      const { headersOf } = compiled({ headers: { 'x-team': value } })
      expect(() => headersOf(never)).toThrow('cannot stand in a header')
      expect(() => headersOf(never)).toThrow(ExpressionError)
    },
  )

  test('[SB5] our own headers and those of the connection are reserved, in any case', () => {
    for (const name of RESERVED_HEADERS) expect(isReservedHeader(name.toUpperCase())).toBe(true)
    expect(['Webhook-Anything', 'x-team', 'authorization', 'x-webhook-id'].map(isReservedHeader)).toEqual([
      true,
      false,
      false,
      false,
    ])
    expect(compiled({ headers: { Host: 'evil', 'x-team': 'crm' } }).headersOf(never)).toEqual({
      'x-team': 'crm',
    })
    // Signing headers are never user-defined.
    const signing = readFileSync(new URL('../signing/sign-delivery.ts', import.meta.url), 'utf8')
    const sent = [...signing.matchAll(/'((?:webhook|x-hub)-[a-z0-9-]+)':/g)].map(([, name]) => name as string)
    expect(new Set(sent).size).toBe(4)
    expect(sent.every(isReservedHeader)).toBe(true)
  })

  test('[SB6] the address is a template over vars', () => {
    expect(compiled().urlOf({})).toBe(DOCUMENT.url)
    const { urlOf } = compiled({ url: '{{ vars.base }}/hooks/{{ vars.team }}' })
    expect(urlOf({ vars: { base: 'https://a.example', team: 'a/b' } })).toBe('https://a.example/hooks/a%2Fb')
    expect(() => urlOf({ vars: { base: 'https://a.example' } })).toThrow('missing')
  })
})
