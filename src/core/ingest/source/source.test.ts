import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SourceDocument } from '../../definitions/documents/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import { compileSource, type EventNames } from './index.ts'

const SOURCE: SourceDocument = {
  kind: 'Source',
  name: 'shop',
  description: null,
  verify: { scheme: 'none' },
  subject: 'shop.events.{{ payload.kind }}',
  event: {
    id: 'payload.id',
    objectType: '{{ payload.type }}',
    objectId: 'payload.order',
    occurredAt: 'payload.at',
  },
  dedup: { by: null, windowMs: 60_000 },
  limits: { bodyBytes: 65_536, depth: 16 },
  status: 'active',
}
const HASH = 'sha256:ab'

type Fields = Readonly<Record<string, JsonValue>>

const nameIt = (payload: Fields, document: Partial<SourceDocument> = {}) =>
  compileSource({ ...SOURCE, ...document }).name({
    header: { 'x-delivery': 'h1' },
    payload: { kind: 'paid', ...payload },
    tenant: 'default',
    payloadHash: HASH,
  })

function namesOf(payload: Fields, document: Partial<SourceDocument> = {}): EventNames {
  const named = nameIt(payload, document)
  if (!named.ok) throw new Error(named.problem)
  return named.names
}

test('an event is named by its source', () => {
  expect(namesOf({ id: 'd1', type: 'order', order: 'o1', at: '2024-01-02T03:04:05Z' })).toEqual({
    subject: 'shop.events.paid',
    objectType: 'order',
    objectId: 'o1',
    occurredAt: Date.UTC(2024, 0, 2, 3, 4, 5),
    dedupKey: 'd1',
  })
})

describe('the subject', () => {
  test.each([
    ['empty', ''],
    ['with a space', 'a b'],
    ['with an empty token', 'a..b'],
    ['with a wildcard', '*'],
    ['a lone surrogate', '\ud800'],
    ['U+0000', '\0'],
    ['too long', 'a'.repeat(300)],
  ])('[EV4] [EV8] %s is refused', (_name, kind) => {
    expect(nameIt({ kind })).toMatchObject({ ok: false, problem: expect.any(String) })
  })

  test('[EV4] a single template that gives no text is refused', () => {
    expect(nameIt({ kind: 7 }, { subject: '{{ payload.kind }}' })).toMatchObject({ ok: false })
    expect(nameIt({}, { subject: '{{ payload.nothing }}' })).toMatchObject({ ok: false })
  })

  test('[EV4] a problem does not quote the payload', () => {
    const named = nameIt({ kind: 's3cret s3cret' })
    expect(named.ok).toBe(false)
    expect(JSON.stringify(named)).not.toContain('s3cret')
  })
})

describe('the dedup key', () => {
  const FALLBACK = `${HASH}:o1`

  test.each([
    ['a text', 'd1', 'd1'],
    ['a number', 17, '17'],
    ['a whole number beyond 2^53', 12_345_678_901_234_567_890n, '12345678901234567890'],
    ['zero', 0, '0'],
    ['null', null, FALLBACK],
    ['an empty text', '', FALLBACK],
    ['true', true, FALLBACK],
    ['false', false, FALLBACK],
    ['a list', ['d1'], FALLBACK],
    ['a map', { id: 'd1' }, FALLBACK],
    ['U+0000', 'd\0', FALLBACK],
    ['a lone surrogate', '\udc00d', FALLBACK],
  ] as const)('[EV5] [EV8] by %s', (_name, id, key) => {
    expect(namesOf({ id, order: 'o1' }).dedupKey).toBe(key)
    expect(namesOf({ id, order: 'o1' }, { dedup: { by: 'payload.id', windowMs: 1 } }).dedupKey).toBe(key)
  })

  test('[EV5] a formula wins over the id, and sees the event’s names and the headers', () => {
    const by = (text: string) => ({ dedup: { by: text, windowMs: 1 } })
    expect(namesOf({ id: 'd1' }, by("header['x-delivery']")).dedupKey).toBe('h1')
    expect(
      namesOf({ id: 'd1', type: 'order', order: 'o1' }, by("event.objectType + '/' + event.id")).dedupKey,
    ).toBe('order/d1')
  })

  test('[EV5] without an id, the content and the object', () => {
    const event = { ...SOURCE.event, id: null }
    expect(namesOf({ order: 'o1' }, { event }).dedupKey).toBe(FALLBACK)
    expect(namesOf({}, { event }).dedupKey).toBe(`${HASH}:`)
  })
})

test.each([
  ['a text', 'o1', 'o1'],
  ['a number', 42, '42'],
  ['a whole number beyond 2^53', 9_007_199_254_740_993n, '9007199254740993'],
  ['a truth value', true, 'true'],
  ['null', null, null],
  ['an empty text', '', null],
  ['a list', ['o1'], null],
  ['a map', { id: 'o1' }, null],
  ['U+0000', 'o\0', null],
] as const)('[EV6] [EV8] the object named by %s', (_name, order, objectId) => {
  expect(namesOf({ id: 'd1', order }).objectId).toBe(objectId)
  expect(namesOf({ id: 'd1', type: order }).objectType).toBe(objectId)
})

describe('occurredAt', () => {
  const AT = Date.UTC(2024, 0, 2, 3, 4, 5)

  test.each([
    ['seconds', AT / 1_000, AT],
    ['seconds with a fraction', AT / 1_000 + 0.123_456, AT + 123],
    ['milliseconds', AT, AT],
    ['milliseconds with a fraction', AT + 0.9, AT],
    ['zero', 0, 0],
    ['before the epoch', -60, -60_000],
    ['beyond all time', 1e300, null],
    ['a whole number beyond 2^53', 12_345_678_901_234_567_890n, null],
    ['ISO with Z', '2024-01-02T03:04:05Z', AT],
    ['ISO with a fraction', '2024-01-02T03:04:05.678901Z', AT + 678],
    ['ISO with an offset', '2024-01-02T05:04:05+02:00', AT],
    ['ISO without seconds', '2024-01-02T03:04Z', AT - 5_000],
    ['an ISO date', '2024-01-02', Date.UTC(2024, 0, 2)],
    ['a time without a zone', '2024-01-02T03:04:05', null],
    ['a time with a space', '2024-01-02 03:04:05', null],
    ['a day that is none', '2024-13-40', null],
    ['a number as text', '1704164645', null],
    ['words', 'yesterday', null],
    ['words that a lax parser knows', 'May 5', null],
    ['null', null, null],
    ['true', true, null],
    ['a list', [AT], null],
  ] as const)('[EV7] %s', (_name, at, instant) => {
    expect(namesOf({ id: 'd1', at }).occurredAt).toBe(instant)
  })

  test('[EV7] is null or a whole number, for any input', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.double(), fc.date().map(String)), (at) => {
        const { occurredAt } = namesOf({ id: 'd1', at: at as JsonValue })
        expect(occurredAt === null || Number.isSafeInteger(occurredAt)).toBe(true)
      }),
      { seed: 81, numRuns: 500 },
    )
  })
})
