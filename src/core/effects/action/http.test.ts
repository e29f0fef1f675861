import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { HttpActionDocument } from '../../definitions/documents/index.ts'
import { ExpressionError, type Scope } from '../../expression/index.ts'
import { hashText } from '../../foundation/hash/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import {
  compileAction,
  effectRefOf,
  type HttpAction,
  keyForHeader,
  parseResponse,
  type RenderedRequest,
} from './index.ts'

const HTTP: HttpActionDocument = {
  type: 'http',
  method: 'POST',
  url: 'https://vendor.example/orders/{{ payload.order }}?note={{ payload.note }}',
  headers: {},
  body: null,
  idempotent: false,
  keyTtlMs: null,
  probe: null,
  timeoutMs: 1_000,
  classify: {},
}
const PAYLOAD = { order: 'o1', note: 'n', none: null, total: 5 }
const SCOPE: Scope = { payload: PAYLOAD, key: 'K', vars: {} }

const compile = (known: Partial<HttpActionDocument> = {}): HttpAction => {
  const action = compileAction({ ...HTTP, ...known })
  if (action.type !== 'http') throw new Error('not an http action')
  return action
}
const render = (
  known: Partial<HttpActionDocument>,
  payload: Readonly<Record<string, JsonValue>> = {},
  key = 'K',
): RenderedRequest => compile(known).render({ ...SCOPE, payload: { ...PAYLOAD, ...payload } }, key)

describe('a request', () => {
  test('[A1] has the method, the address, the headers and the body of the definition', () => {
    const body = { id: '{{ payload.order }}', total: '{{ payload.total }}', gone: '{{ payload.nothing }}' }
    expect(render({ method: 'PUT', headers: { 'X-Order': '{{ payload.order }}' }, body })).toEqual({
      method: 'PUT',
      url: 'https://vendor.example/orders/o1?note=n',
      headers: { 'x-order': 'o1', 'content-type': 'application/json', 'idempotency-key': 'K' },
      body: '{"id":"o1","total":5}',
    })
  })

  test('[A1] without a body has none and no content type', () => {
    expect(render({})).toMatchObject({ body: null, headers: { 'idempotency-key': 'K' } })
    expect(render({ body: '{{ payload.nothing }}' })).toMatchObject({ body: null })
  })

  test.each([
    ['a text', 'hello {{ payload.order }}', 'hello o1', 'text/plain; charset=utf-8'],
    ['a number', '{{ payload.total }}', '5', 'application/json'],
    ['a list', ['{{ payload.order }}', 1], '["o1",1]', 'application/json'],
    ['null', '{{ payload.none }}', 'null', 'application/json'],
  ])('[A1] with %s as its body', (_name, body, text, type) => {
    expect(render({ body })).toMatchObject({ body: text, headers: { 'content-type': type } })
  })

  test('[A1] preserves the content type that the definition sets, in any spelling', () => {
    const { headers } = render({ headers: { 'Content-Type': 'application/vnd.x+json' }, body: { a: 1 } })
    expect(headers).toEqual({ 'content-type': 'application/vnd.x+json', 'idempotency-key': 'K' })
  })

  test('[A2] a payload cannot escape its position in the address', () => {
    const { url } = render({}, { order: '../admin?x=1#y/ä', note: 'a&b=c d' })
    expect(url).toBe('https://vendor.example/orders/..%2Fadmin%3Fx%3D1%23y%2F%C3%A4?note=a%26b%3Dc%20d')
    expect(() => render({}, { order: '..' })).toThrow(ExpressionError)
    expect(() => render({}, { order: '' })).toThrow(ExpressionError)
    expect(() => render({}, { order: null })).toThrow(ExpressionError)
  })

  test('[A2] whatever a payload contains, host, path depth and query names stay', () => {
    const text = fc.string({ unit: 'binary', minLength: 1 })
    const action = compile()
    fc.assert(
      fc.property(text, text, (order, note) => {
        let url: URL
        try {
          url = new URL(action.render({ ...SCOPE, payload: { order, note } }, 'K').url)
        } catch (error) {
          expect(error).toBeInstanceOf(ExpressionError)
          return
        }
        expect(url.origin).toBe('https://vendor.example')
        expect(url.pathname.split('/')).toHaveLength(3)
        expect([...url.searchParams.keys()]).toEqual(['note'])
        expect(url.hash).toBe('')
      }),
      { seed: 90, numRuns: 200 },
    )
  })

  test.each([
    ['a line feed', 'a\nx-evil: 1'],
    ['a carriage return', 'a\rb'],
    ['both', 'a\r\nb'],
    ['U+0000', 'a\0b'],
    ['DEL', 'a\x7fb'],
    ['beyond Latin-1', 'ŵ'],
  ])('[A3] a header value with %s is refused, and only the header’s name is reported', (_name, note) => {
    const act = () => render({ headers: { 'X-Note': '{{ payload.note }}' } }, { note })
    expect(act).toThrow(ExpressionError)
    expect(act).toThrow(expect.objectContaining({ path: 'headers.x-note' }))
  })

  test('[A3] no header value ever holds a control character', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (note) => {
        try {
          const { headers } = render(
            { headers: { 'X-Note': '{{ payload.note }}' } },
            { note: note as JsonValue },
          )
          for (const value of Object.values(headers)) expect(value).toMatch(/^[\t\x20-\x7e\x80-\xff]*$/)
        } catch (error) {
          expect(error).toBeInstanceOf(ExpressionError)
        }
      }),
      { seed: 91, numRuns: 500 },
    )
  })

  test('[A3] a header without a value is left out; a structured one is JSON', () => {
    const headers = { a: '{{ payload.nothing }}', b: '{{ payload.none }}', c: '{{ payload.list }}' }
    expect(render({ headers }, { list: [1, 'x'] }).headers).toEqual({ c: '[1,"x"]', 'idempotency-key': 'K' })
  })
})

describe('the idempotency key', () => {
  test.each(['K', 'BOOK:o1', 'a b', '~', 'a'.repeat(255)])('[A4] %j is sent unchanged', (key) => {
    expect(render({}, {}, key).headers['idempotency-key']).toBe(key)
  })

  test.each(['ß', ' a', 'a ', ' ', 'a\nb', 'a\0', 'a'.repeat(256), '😀'])(
    '[A4] %j is sent as its hash',
    (key) => {
      expect(render({}, {}, key).headers['idempotency-key']).toBe(hashText(key))
    },
  )

  test('[A4] wins over a header of the same name', () => {
    expect(render({ headers: { 'Idempotency-Key': 'mine' } }).headers).toEqual({ 'idempotency-key': 'K' })
  })

  test('[A4] is the same for the same key, and different for different keys', () => {
    const key = fc.string({ unit: 'binary', minLength: 1, maxLength: 300 })
    fc.assert(
      fc.property(key, key, (one, other) => {
        expect(keyForHeader(one)).toMatch(/^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/)
        // Lone surrogates never get here: they are not valid in a key (K2).
        if (one !== other && Buffer.from(one).compare(Buffer.from(other)) !== 0) {
          expect(keyForHeader(one)).not.toBe(keyForHeader(other))
        }
        expect(keyForHeader(one)).toBe(keyForHeader(one))
      }),
      { seed: 92, numRuns: 500 },
    )
  })
})

describe('a response', () => {
  const parse = (body: string) => parseResponse({ status: 200, headers: {}, body }).body

  test.each([
    ['', null],
    ['{"id":1}', { id: 1 }],
    ['[1]', [1]],
    ['null', null],
    ['hello', 'hello'],
    ['{"id":', '{"id":'],
    ['<id>1</id>', '<id>1</id>'],
    ['['.repeat(2_000), '['.repeat(2_000)],
  ])('[A5] is parsed as JSON where it is JSON, and stays text elsewhere: %.20s', (text, body) => {
    expect(parse(text)).toEqual(body)
  })

  test.each([
    ['the location', { location: '/orders/9' }, '{"id":"v1"}', '/orders/9'],
    ['a text id', {}, '{"id":"v1"}', 'v1'],
    ['a number', {}, '{"id":7}', '7'],
    ['a whole number beyond 2^53', {}, '{"id":12345678901234567890}', '12345678901234567890'],
    ['no id', {}, '{}', null],
    ['an empty id', {}, '{"id":""}', null],
    ['null', {}, '{"id":null}', null],
    ['a structured id', {}, '{"id":{"x":1}}', null],
    ['a list', {}, '[{"id":"v1"}]', null],
    ['text', {}, 'id: v1', null],
    ['no body', {}, '', null],
    ['an id that no store keeps', {}, '{"id":"a\\u0000"}', null],
  ])('[A6] refers to its effect at %s', (_name, headers, body, ref) => {
    expect(effectRefOf(parseResponse({ status: 201, headers, body }))).toBe(ref)
  })
})

describe('a probe', () => {
  const PROBE: NonNullable<HttpActionDocument['probe']> = {
    method: 'GET',
    url: 'https://vendor.example/orders?ref={{ key }}',
    headers: { Accept: 'application/json' },
    found: 'result.status == 200 && result.body.items.size() > 0',
    afterMs: 30_000,
  }
  const probe = compile({ probe: PROBE }).probe
  const found = (status: number, body: string) =>
    probe?.found(SCOPE, parseResponse({ status, headers: {}, body }))

  test('[A7] is its own request, without body and idempotency key', () => {
    expect(probe?.render({ ...SCOPE, key: 'A&B' })).toEqual({
      method: 'GET',
      url: 'https://vendor.example/orders?ref=A%26B',
      headers: { accept: 'application/json' },
      body: null,
    })
  })

  test('[A7] finds the effect only where its formula is true', () => {
    expect(found(200, '{"items":[1]}')).toBe(true)
    expect(found(200, '{"items":[]}')).toBe(false)
    expect(found(404, '')).toBe(false)
  })

  test.each([
    ['missing', '{}'],
    ['null', '{"exists":null}'],
    ['a word', '{"exists":"no"}'],
    ['a number', '{"exists":0}'],
    ['in a page that is no JSON', '<html>'],
  ])('[A7] a response that is %s means neither found nor absent', (_name, body) => {
    const asked = compile({ probe: { ...PROBE, found: 'result.body.exists' } }).probe
    const response = parseResponse({ status: 200, headers: {}, body })
    expect(() => asked?.found(SCOPE, response)).toThrow(ExpressionError)
  })

  test.each([
    ['result.body.count > 0', '{"message":"sign in"}'],
    ['result.body.items.size() > 0', '{"ok":false}'],
    ['result.body.ok == true && result.body.items.size() > 0', '{"ok":true}'],
    ['result.body.count > 0', '<html>'],
    ['result.body.id != null', '<html>'],
    ["result.body[0].id == 'a'", '{"message":"sign in"}'],
    ["result.body.id == 'a'", ''],
  ])('[VN27] %s does not count as absent by %j', (found, body) => {
    const asked = compile({ probe: { ...PROBE, found } }).probe
    const response = parseResponse({ status: 200, headers: {}, body })
    expect(() => asked?.found(SCOPE, response)).toThrow(ExpressionError)
  })

  test.each([
    ['result.body.count > 0', 200, '{"count":0}'],
    ['result.body.count > 0', 404, '<html>'],
    ['result.status == 200 && result.body.count > 0', 204, ''],
    ['result.body.id != null', 200, '{}'],
    ['has(result.body.id) && result.body.id > 0', 200, '{}'],
    ['coalesce(result.body.count, 0) > 0', 200, '{}'],
    ['result.body.meta.page.next != null', 200, '{}'],
    ["result.body.kind == 'a' ? result.body.a > 0 : result.body.b > 0", 200, '{"kind":"a","a":0}'],
    ["result.body[0].id == 'a'", 200, '[]'],
    ["result.body.items.exists(one, one.ref == 'a')", 200, '{"items":[{}]}'],
    ['result.body.size() > 0', 200, '[]'],
  ])('[VN27] %s counts as absent by %i %j', (found, status, body) => {
    const asked = compile({ probe: { ...PROBE, found } }).probe
    expect(asked?.found(SCOPE, parseResponse({ status, headers: {}, body }))).toBe(false)
  })

  test('is listed among the abilities, with harmless repetition and the key’s lifetime', () => {
    expect(compile({}).abilities).toEqual({
      idempotent: false,
      keyTtlMs: null,
      probeAfterMs: null,
      timeoutMs: 1_000,
    })
    const able = compile({ idempotent: true, keyTtlMs: 5, probe: PROBE, classify: { 409: 'done' } })
    expect(able.abilities).toEqual({
      idempotent: true,
      keyTtlMs: 5,
      probeAfterMs: 30_000,
      timeoutMs: 1_000,
    })
    expect(able.policy).toEqual({ idempotent: true, classify: { 409: 'done' } })
    expect(compile({}).probe).toBeNull()
  })
})
