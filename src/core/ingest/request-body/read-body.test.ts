import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FIELDS_MAX, readBody, readEncoding, readMediaType } from './index.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

function read(type: string | undefined, body: string | Uint8Array, depth = 16) {
  const media = readMediaType(type)
  if (!media.ok) throw new Error(media.detail)
  return readBody(media, typeof body === 'string' ? bytes(body) : body, depth)
}

function bodyOf(type: string | undefined, body: string) {
  const result = read(type, body)
  if (!result.ok) throw new Error(result.detail)
  return result.body
}

describe('types', () => {
  test.each([
    ['application/json', 'json'],
    ['application/json; charset=utf-8', 'json'],
    ['Application/CloudEvents+JSON', 'json'],
    ['application/vnd.api+json', 'json'],
    ['application/x-www-form-urlencoded; charset=UTF-8', 'form'],
    ['text/plain', 'text'],
    ['text/xml; charset=utf-8', 'text'],
    ['application/soap+xml', 'text'],
    ['application/xml', 'text'],
    [undefined, 'untyped'],
    ['', 'untyped'],
  ])('[GU10] %s is parsed as %s', (type, kind) => {
    expect(readMediaType(type)).toMatchObject({ ok: true, kind })
  })

  test.each([
    'multipart/form-data; boundary=x',
    'application/octet-stream',
    'application/jsonp',
    'image/png',
    'json',
    'text/',
    'application/json, text/plain',
  ])('[GU10] %s is not accepted', (type) => {
    expect(readMediaType(type)).toMatchObject({ ok: false, detail: expect.stringMatching(/\w/) })
  })

  test.each([
    [undefined, null],
    ['identity', null],
    ['gzip', 'gzip'],
    ['X-GZIP', 'gzip'],
    ['deflate', 'deflate'],
    ['br', 'br'],
  ])('[GU15] the encoding %s is %s', (header, encoding) => {
    expect(readEncoding(header)).toEqual({ ok: true, encoding })
  })

  test.each(['zstd', 'gzip, gzip', 'gzip, br', 'compress', 'aes128gcm'])(
    '[GU15] %s is not known',
    (header) => {
      expect(readEncoding(header).ok).toBe(false)
    },
  )
})

describe('JSON', () => {
  test('[GU11] is stored as its text, with exact integers and __proto__ as a field', () => {
    const text = '{ "id" : 12345678901234567890, "__proto__": {"admin": true} }'
    const body = bodyOf('application/json', text)
    expect(body).toMatchObject({ data: text, raw: null })
    expect((body.payload as Record<string, unknown>).id).toBe(12345678901234567890n)
    expect(Object.getPrototypeOf(body.payload)).toBe(Object.prototype)
    expect((body.payload as Record<string, unknown>).admin).toBeUndefined()
  })

  test.each([
    ['application/json', '{"a":1,"a":2}', 'duplicate_key'],
    ['application/json', '{"x":{"token":1,"t\\u006fken":2}}', 'duplicate_key'],
    ['application/json', '[[[[1]]]]', 'too_deep'],
    ['application/json', '{"a":', 'not_json'],
    ['application/json', '', 'not_json'],
    ['text/plain', '{"a":1,"a":2}', 'duplicate_key'],
    [undefined, '[[[[1]]]]', 'too_deep'],
    [undefined, 'hello', 'wrong_type'],
    [undefined, '', 'wrong_type'],
  ])('[GU11] [GU12] %s %s is %s', (type, text, code) => {
    expect(read(type, text, 3)).toMatchObject({ ok: false, code, detail: expect.any(String) })
  })

  test('[GU12] without a type any JSON value is accepted', () => {
    expect(bodyOf(undefined, '{"a":1}')).toEqual({ payload: { a: 1 }, data: '{"a":1}', raw: null })
    expect(bodyOf('', '7').payload).toBe(7)
  })
})

describe('forms', () => {
  test.each([
    ['a=1&b=two', { a: '1', b: 'two' }],
    ['a=1&a=2&a=3', { a: ['1', '2', '3'] }],
    ['a+b=c+d%2B', { 'a b': 'c d+' }],
    ['a&b=&=c', { a: '', b: '', '': 'c' }],
    ['a=b=c', { a: 'b=c' }],
    ['name=%C3%BC', { name: 'ü' }],
    ['', {}],
    ['&&', {}],
    ['payload=hello', { payload: 'hello' }],
    ['payload={"a":1}&token=x', { payload: '{"a":1}', token: 'x' }],
    ['payload={"a":1}&payload={"a":2}', { payload: ['{"a":1}', '{"a":2}'] }],
    ['payload=%7Bbroken', { payload: '{broken' }],
  ])('[GU13] %s', (text, payload) => {
    const body = bodyOf('application/x-www-form-urlencoded', text)
    expect(body.payload).toEqual(payload)
    expect(body.raw).toBe(text)
    expect(JSON.parse(body.data)).toEqual(payload)
  })

  test('[GU13] the one field `payload` that holds JSON is the payload, its digits exact', () => {
    const json = '{"id": 12345678901234567890}'
    const body = bodyOf('application/x-www-form-urlencoded', `payload=${encodeURIComponent(json)}`)
    expect(body).toEqual({
      payload: { id: 12345678901234567890n },
      data: json,
      raw: `payload=${encodeURIComponent(json)}`,
    })
    const twice = `payload=${encodeURIComponent('{"a":1,"a":2}')}`
    expect(read('application/x-www-form-urlencoded', twice)).toMatchObject({ code: 'duplicate_key' })
  })

  test('[GU13] __proto__ is a field, and sets nothing', () => {
    const { payload } = bodyOf('application/x-www-form-urlencoded', '__proto__=x&__proto__=y&constructor=z')
    expect(Object.getPrototypeOf(payload)).toBe(Object.prototype)
    expect(Object.keys(payload as object).sort()).toEqual(['__proto__', 'constructor'])
  })

  test.each([['%zz=1'], ['a=%'], ['a=%ff'], ['a=%C3'], [`a=1${'&a=1'.repeat(FIELDS_MAX)}`], ['a=\0']])(
    '[GU13] %# is refused',
    (text) => {
      expect(read('application/x-www-form-urlencoded', text)).toMatchObject({ code: 'body_unreadable' })
    },
  )

  test('[GU13] what URLSearchParams writes round-trips', () => {
    const name = fc.string({ minLength: 1, unit: 'grapheme' }).filter((text) => text !== 'payload')
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.string({ unit: 'grapheme' })), { maxLength: 20 }), (pairs) => {
        const params = new URLSearchParams(pairs)
        const { payload } = bodyOf('application/x-www-form-urlencoded', params.toString())
        for (const [key] of pairs) {
          const all = params.getAll(key)
          const field = Object.getOwnPropertyDescriptor(payload, key)?.value
          expect(field).toEqual(all.length === 1 ? all[0] : all)
        }
      }),
    )
  })
})

describe('text', () => {
  test.each([
    ['text/plain', 'hello "world"\n', 'hello "world"\n'],
    ['text/xml', '<a>{"b":1}</a>', '<a>{"b":1}</a>'],
    ['text/csv', '[1,2]', '[1,2]'],
    ['text/plain', '7', '7'],
    ['text/plain', '{not json}', '{not json}'],
    ['text/plain', '', ''],
  ])('[GU14] %s %j stays text', (type, text, payload) => {
    expect(bodyOf(type, text)).toEqual({ payload, data: JSON.stringify(text), raw: text })
  })

  test('[GU14] plain text that is one JSON object or list is parsed', () => {
    expect(bodyOf('text/plain', ' {"Type":"Notification"}')).toEqual({
      payload: { Type: 'Notification' },
      data: ' {"Type":"Notification"}',
      raw: null,
    })
    expect(bodyOf('text/plain; charset=utf-8', '[1]').payload).toEqual([1])
  })
})

test.each(['application/json', 'application/x-www-form-urlencoded', 'text/plain', 'text/xml', undefined])(
  '[GU16] %s that is not UTF-8, or contains U+0000, is refused; nothing throws, and nothing is quoted',
  (type) => {
    expect(read(type, new Uint8Array([0x22, 0xff, 0x22])).ok).toBe(false)
    expect(read(type, new Uint8Array([0xed, 0xa0, 0x80])).ok).toBe(false)
    expect(read(type, 'secret\0').ok).toBe(false)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (noise) => {
        const result = read(type, Buffer.concat([noise, bytes('s3cret')]))
        if (!result.ok) expect(result.detail).not.toContain('s3cret')
        else if (result.body.raw !== null) {
          expect(Buffer.from(result.body.raw)).toEqual(Buffer.concat([noise, bytes('s3cret')]))
        }
      }),
    )
  },
)
