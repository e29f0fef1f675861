import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RouteDocument } from '../definitions/documents/index.ts'
import type { Envelope } from '../events/event/index.ts'
import { ExpressionError } from '../expression/index.ts'
import { DEFAULT_TENANT, type EventId } from '../foundation/ids/index.ts'
import type { JsonValue } from '../foundation/json/index.ts'
import { HOUR, MINUTE } from '../foundation/time/index.ts'
import { compileRoute, routeScope } from './index.ts'

const EVENT: Envelope = {
  id: 'evt_1' as EventId,
  tenant: DEFAULT_TENANT,
  source: 'shop',
  subject: 'shop.events.paid',
  objectType: 'order',
  objectId: 'o1',
  occurredAt: null,
  correlationId: 'c',
  causationId: null,
  traceId: 't',
  dedupKey: 'd1',
  payloadHash: 'sha256:0',
}

const ROUTE: RouteDocument = {
  kind: 'Route',
  name: 'book',
  description: null,
  on: ['shop.events.paid'],
  where: null,
  status: 'active',
  key: 'payload.k',
  uniqueness: 'operation',
  retry: { profile: null, attempts: 3, delaysMs: [MINUTE, 4 * MINUTE] },
  maxWaitMs: HOUR,
  deadLetter: { severity: 'high', runbook: null },
  do: { type: 'emit', subject: 'shop.booked', data: null },
}

const scopeOf = (payload: JsonValue, vars: Record<string, JsonValue> = {}) =>
  routeScope(EVENT, payload, { 'x-kind': 'paid' }, () => vars)
const keyOf = (k: JsonValue): string => compileRoute(ROUTE).keyOf(scopeOf({ k }))

function errorOf(run: () => unknown): ExpressionError {
  try {
    run()
  } catch (error) {
    if (error instanceof ExpressionError) return error
  }
  throw new Error('no ExpressionError')
}

describe('the key', () => {
  test('[K1] without a formula is the name and the event', () => {
    expect(compileRoute({ ...ROUTE, key: null }).keyOf(scopeOf({}))).toBe('book:evt_1')
  })

  test.each([
    ['o1', 'o1'],
    [7, '7'],
    [12_345_678_901_234_567_890n, '12345678901234567890'],
    [' ', ' '],
    ['a'.repeat(1_024), 'a'.repeat(1_024)],
    ['ß😀', 'ß😀'],
  ])('[K2] %s is a key', (value, key) => {
    expect(keyOf(value)).toBe(key)
  })

  test.each([
    ['null', null, 'type', 'null'],
    ['an empty text', '', 'type', 'string'],
    ['true', true, 'type', 'bool'],
    ['false', false, 'type', 'bool'],
    ['a list', ['a'], 'type', 'list'],
    ['an empty list', [], 'type', 'list'],
    ['a map', { a: 1 }, 'type', 'map'],
    ['a text that is too long', 'a'.repeat(1_025), 'bounds', 'string'],
    ['U+0000', 'a\0b', 'type', 'string'],
    ['a lone surrogate', 'a\ud800', 'type', 'string'],
  ] as const)('[K2] %s is not a key', (_name, value, code, valueType) => {
    expect(errorOf(() => keyOf(value))).toMatchObject({ code, path: 'key', valueType })
  })

  test('[K2] a missing field is not a key, and the error contains no value', () => {
    const route = compileRoute({ ...ROUTE, key: "'BOOK:' + payload.order.id" })
    expect(() => route.keyOf(scopeOf({ secret: 's3cret' }))).toThrow(ExpressionError)
    expect(errorOf(() => route.keyOf(scopeOf({ order: { id: ['s3cret'] } }))).message).not.toContain('s3cret')
  })

  test('[K2] [K3] any payload gives the same key each time, or none', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (payload) => {
        const attempt = (): string => {
          try {
            return `key ${compileRoute(ROUTE).keyOf(scopeOf({ k: payload as JsonValue }))}`
          } catch (error) {
            expect(error).toBeInstanceOf(ExpressionError)
            return 'none'
          }
        }
        expect(attempt()).toBe(attempt())
      }),
      { seed: 80 },
    )
  })
})

describe('the scope', () => {
  test('[K3] contains the event, its content and the environment, and nothing about the run', () => {
    const scope = scopeOf({ k: 1 }, { base: 'https://x.example' })
    expect(Object.keys(scope).sort()).toEqual(['event', 'header', 'payload', 'source', 'tenant', 'vars'])
    const key = "[source, tenant, event.subject, event.objectId, header['x-kind'], vars.base].join(':')"
    expect(compileRoute({ ...ROUTE, key }).keyOf(scope)).toBe(
      'shop:default:shop.events.paid:o1:paid:https://x.example',
    )
  })

  test.each(['attempt', 'now', 'run.id', 'work.id', 'key'])('[K3] has no %s', (text) => {
    let key: string | null = null
    try {
      key = compileRoute({ ...ROUTE, key: text }).keyOf(scopeOf({}))
    } catch {}
    expect(key).toBeNull()
  })
})

describe('a route', () => {
  test.each([
    [null, {}, true],
    ['payload.total > 0', { total: 1 }, true],
    ['payload.total > 0', { total: 0 }, false],
  ])('matches by its condition: %s of %j', (where, payload, wants) => {
    expect(compileRoute({ ...ROUTE, where }).wants(scopeOf(payload))).toBe(wants)
  })

  test('may be retried for its wait and all its delays, at their longest', () => {
    const { expiresInMs } = compileRoute(ROUTE)
    expect(expiresInMs).toBe(HOUR + 6 * MINUTE)
    expect(expiresInMs).toBeGreaterThan(HOUR + 1.1 * 5 * MINUTE)
  })

  test('is identified by its name as a consumer and by its content as a version', () => {
    const [one, same, other] = [ROUTE, { ...ROUTE }, { ...ROUTE, key: null }].map((one) => compileRoute(one))
    expect(one?.consumer).toBe('route:book')
    expect(one?.hash).toBe(same?.hash)
    expect(one?.hash).not.toBe(other?.hash)
  })
})
