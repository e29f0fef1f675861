import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SourceDocument } from '../../definitions/documents/index.ts'
import { parseSubject } from '../../events/subject/index.ts'
import type { EventId, TenantId } from '../../foundation/ids/index.ts'
import { parseJson } from '../../foundation/json/index.ts'
import { compileSource } from '../source/index.ts'
import {
  againAfterMs,
  BODY_HEADER,
  bytesOf,
  durableOf,
  type Message,
  type MessageVerdict,
  readAgain,
  readMessage,
  UNREAD_HEADER,
} from './index.ts'

const DOCUMENT: SourceDocument = {
  kind: 'Source',
  name: 'orders',
  description: null,
  verify: { scheme: 'closed' },
  subject: '{{ header.nats-subject }}',
  event: { id: null, objectType: null, objectId: null, occurredAt: null },
  dedup: { by: null, windowMs: 1_000 },
  limits: { bodyBytes: 1_000, depth: 4 },
  status: 'active',
  nats: { subjects: ['orders.>'] },
}

const AT = 1_700_000_000_000
const bytes = (text: string) => new TextEncoder().encode(text)
const message = (body: string | Uint8Array, more: Partial<Message> = {}): Message => ({
  subject: 'orders.paid',
  id: null,
  place: 'ORDERS 1 7',
  headers: {},
  body: typeof body === 'string' ? bytes(body) : body,
  at: AT,
  ...more,
})
const read = (one: Message, document: Partial<SourceDocument> = {}): MessageVerdict => {
  const verdict = readMessage(compileSource({ ...DOCUMENT, ...document }), 'default', one)
  return { ...verdict, header: { ...verdict.header, ...verdict.marks } }
}

describe('[BU56] a message is an event', () => {
  test('with its own subject and time, and headers in lower case', () => {
    const headers = { 'X-Kind': 'a', 'Nats-Subject': 'forged', 'Nats-Msg-Id': 'forged', __proto__: 'x' }
    expect(read(message('{"a":1}', { headers }))).toMatchObject({
      names: { subject: 'orders.paid', objectType: null, objectId: null, occurredAt: AT },
      header: { 'x-kind': 'a', 'nats-subject': 'orders.paid' },
      body: { payload: { a: 1 }, data: '{"a":1}', raw: null },
      problem: null,
    })
    expect(read(message('{}', { headers })).header['nats-msg-id']).toBeUndefined()
    expect(read(message('{}', { headers, id: 'm1' })).header['nats-msg-id']).toBe('m1')
  })

  test('named by the source, if the source names it', () => {
    const event = { id: null, objectType: 'order', objectId: 'payload.order', occurredAt: 'payload.at' }
    const one = message('{"kind":"paid","order":7,"at":1600000000}', { headers: { 'x-shop': 's1' } })
    expect(read(one, { subject: '{{ header.x-shop }}.{{ payload.kind }}', event }).names).toMatchObject({
      subject: 's1.paid',
      objectType: 'order',
      objectId: '7',
      occurredAt: 1_600_000_000_000,
    })
  })

  test('parsed by its type, as a request is', () => {
    const headers = { 'Content-Type': 'text/plain' }
    expect(read(message('hello', { headers }))).toMatchObject({ problem: null, body: { payload: 'hello' } })
  })
})

describe('[BU57] a message is deduplicated', () => {
  const key = (one: Message, document: Partial<SourceDocument> = {}) => read(one, document).names.dedupKey

  test('by the source’s key, else by its id, else by its position', () => {
    const event = { ...DOCUMENT.event, id: 'payload.id' }
    expect(key(message('{"id":"e1"}', { id: 'm1' }), { event })).toBe('e1')
    expect(
      key(message('{"id":"e1"}', { id: 'm1' }), { dedup: { by: "'K' + payload.id", windowMs: 1 } }),
    ).toBe('Ke1')
    expect(key(message('{}', { id: 'm1' }), { event })).toBe('id:orders.paid m1')
    expect(key(message('{}'))).toBe('at:ORDERS 1 7')
    expect(key(message('{}', { id: '' }))).toBe('at:ORDERS 1 7')
    expect(key(message('{}', { id: 'a\0b' }))).toBe('at:ORDERS 1 7')
  })

  test('also if it does not parse', () => {
    expect(key(message('{', { id: 'm1' }))).toMatch(/^unread:id:orders\.paid m1:/)
    expect(key(message('{', { id: 'm1' }))).toBe(key(message('{', { id: 'm1', place: 'ORDERS 1 8' })))
    expect(key(message('{'))).toMatch(/^unread:at:ORDERS 1 7:/)
  })

  test('[BU69] but not against the message that replaces one that did not parse', () => {
    expect(key(message('{', { id: 'm1' }))).not.toBe(key(message('{"', { id: 'm1' })))
    expect(key(message('{', { id: 'm1' }))).not.toBe(key(message('{}', { id: 'm1' })))
  })

  test('and two of equal content are two events', () => {
    expect(key(message('{}', { place: 'ORDERS 1 8' }))).not.toBe(key(message('{}')))
  })
})

describe('[BU60] a message that does not parse', () => {
  test.each([
    ['{', {}, {}, 'wrong_type'],
    ['{', { headers: { 'content-type': 'application/json' } }, {}, 'not_json'],
    ['[[[[[1]]]]]', {}, {}, 'too_deep'],
    ['{"a":1,"a":2}', {}, {}, 'duplicate_key'],
    ['', {}, {}, 'wrong_type'],
    ['{}', { headers: { 'content-type': 'image/png' } }, {}, 'wrong_type'],
    ['{}', { headers: { 'content-encoding': 'gzip' } }, {}, 'wrong_type'],
    ['{}', { headers: { a: 'x'.repeat(65_536) } }, {}, 'headers_too_large'],
    ['{}', {}, { subject: 'a.{{ payload.kind }}' }, 'unnamed_event'],
    ['{"n":"x"}', {}, { subject: 'a.{{ payload.n / 2 }}' }, 'unnamed_event'],
    ['{}', { subject: `a.${'x'.repeat(300)}` }, {}, 'unnamed_event'],
  ] as const)('%s %j %j is stored with its text: %s', (text, more, document, code) => {
    const { header, body, problem, names } = read(message(text, more), document)
    expect(problem).toEqual(expect.any(String))
    expect(header[UNREAD_HEADER]).toBe(code)
    expect(body.raw ?? body.data).toBe(text)
    expect(parseJson(body.data)).toEqual(body.payload)
    expect(names.subject).toBe('subject' in more ? 'unread.orders' : 'orders.paid')
  })

  test('[BU61] its bytes are stored whatever they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (noise) => {
        const { header, body, names } = read(message(noise))
        expect(Uint8Array.from(bytesOf(header, body.raw ?? body.data))).toEqual(noise)
        expect((body.raw ?? body.data).includes('\0')).toBe(false)
        expect(parseSubject(names.subject).ok).toBe(true)
        expect(parseJson(body.data)).toEqual(body.payload)
      }),
    )
    expect(read(message(Uint8Array.of(0xff, 0x00))).header[BODY_HEADER]).toBe('base64')
    expect(read(message('a\0')).header[BODY_HEADER]).toBe('base64')
  })

  test('[BU62] of one that is too large the head is stored, with its full size', () => {
    const one = read(message(`"${'ä'.repeat(2_000)}"`))
    expect(one.problem).toContain('4002 bytes')
    expect(one.header).toMatchObject({ [UNREAD_HEADER]: 'body_too_large', [BODY_HEADER]: 'head' })
    expect(one.body.raw).toBe(`"${'ä'.repeat(499)}`)
    const binary = read(message(new Uint8Array(2_000)))
    expect(binary.header[BODY_HEADER]).toBe('head, base64')
    expect(bytesOf(binary.header, binary.body.raw ?? '').byteLength).toBe(1_000)
  })

  test('no problem quotes it', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (noise) => {
        expect(read(message(Buffer.concat([noise, bytes('s3cret')]))).problem ?? '').not.toContain('s3cret')
      }),
    )
  })
})

describe('[BU63] a message that did not parse is reparsed by the current source', () => {
  const kept = ({ header, body, payloadHash, names }: MessageVerdict, mended?: string) => {
    const isMended = mended !== undefined
    return {
      event: {
        id: 'evt_1' as EventId,
        tenant: 'default' as TenantId,
        causationId: isMended ? ('evt_0' as EventId) : null,
        occurredAt: names.occurredAt,
        data: mended ?? body.data,
        raw: isMended ? null : body.raw,
        payloadHash,
      },
      header,
    }
  }
  const again = (one: MessageVerdict, document: Partial<SourceDocument> = {}, mended?: string) => {
    const { event, header } = kept(one, mended)
    return readAgain(compileSource({ ...DOCUMENT, ...document }), event, header)
  }

  test('with different limits or names', () => {
    const deep = read(message('[[[[[1]]]]]'))
    expect(again(deep)).toMatchObject({ ok: false, problem: deep.problem })
    expect(again(deep, { limits: { bodyBytes: 1_000, depth: 9 } })).toMatchObject({
      ok: true,
      names: { subject: 'orders.paid', occurredAt: AT, dedupKey: 'read:evt_1' },
      body: { data: '[[[[[1]]]]]' },
      header: { 'nats-subject': 'orders.paid' },
    })
    const unnamed = read(message('{"kind":"a b"}'), { subject: 'x.{{ payload.kind }}' })
    expect(again(unnamed, { subject: 'x.{{ token(payload.kind) }}' })).toMatchObject({
      ok: true,
      names: { subject: 'x.a_b' },
    })
  })

  test('including an operator’s replacement, whatever its type was', () => {
    const binary = read(message(Uint8Array.of(0xff), { headers: { 'content-type': 'image/png' } }))
    const verdict = again(binary, { event: { ...DOCUMENT.event, id: 'payload.id' } }, '{"id":"e7"}')
    expect(verdict).toMatchObject({
      ok: true,
      names: { dedupKey: 'e7' },
      body: { payload: { id: 'e7' }, raw: null },
    })
    expect(verdict?.ok === true && Object.keys(verdict.header)).toEqual(['content-type', 'nats-subject'])
  })

  test('but not the truncated rest of one that was too large', () => {
    const large = read(message(JSON.stringify('x'.repeat(2_000))))
    const limits = { bodyBytes: 10_000, depth: 4 }
    expect(again(large, { limits })).toMatchObject({ ok: false, problem: expect.stringContaining('head') })
    expect(again(large, { limits }, '"x"')).toMatchObject({ ok: true })
  })

  test('a message that parsed is not reparsed', () => {
    expect(again(read(message('{}')))).toBeNull()
  })
})

test('[BU54] durables of any two sources of any two tenants differ', () => {
  const tenant = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,8}$/)
  const name = fc.stringMatching(/^[a-z][a-z0-9]{0,3}(?:[_-][a-z0-9]{1,3}){0,3}$/)
  fc.assert(
    fc.property(tenant, name, tenant, name, (one, a, other, b) => {
      const isSame = durableOf('millrace', one, a, {}) === durableOf('millrace', other, b, {})
      expect(isSame).toBe(one === other && a === b)
    }),
  )
  expect(durableOf('millrace', 'acme', 'orders', { durable: 'mine' })).toBe('mine')
  expect(durableOf('millrace', 'acme', 'orders', {})).toBe('millrace_acme_orders')
  expect(durableOf('eu.mill', 'acme', 'orders', {})).toBe('eu-mill_acme_orders')
})

test('[BU59] delays grow to a minute', () => {
  const waits = [1, 2, 3, 8, 1_000].map((deliveries) => againAfterMs(deliveries, 0.5))
  expect(waits).toEqual([500, 1_000, 2_000, 60_000, 60_000])
  expect(againAfterMs(0, 0)).toBe(375)
  expect(againAfterMs(1_000, 0.999)).toBeLessThanOrEqual(75_000)
})
