import { describe, expect, test } from 'vitest'
import type { OperationDocument } from '../../definitions/documents/index.ts'
import { ExpressionError } from '../../expression/index.ts'
import { classifyCall } from '../../failures/failure/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import { compileOperation } from './operation.ts'

const PLAIN: OperationDocument = {
  name: 'do',
  description: null,
  method: 'POST',
  path: '/things',
  query: {},
  headers: {},
  body: null,
  encoding: 'json',
  endpoint: null,
  input: null,
  output: null,
  idempotency: 'none',
  keyTtlMs: null,
  keyHeader: null,
  lookup: null,
  result: null,
  ref: null,
  classify: {},
  refine: [],
  timeoutMs: 1_000,
  buckets: [],
  scopes: [],
  deprecated: null,
}

function render(over: Partial<OperationDocument>, input: JsonValue) {
  return compileOperation({ ...PLAIN, ...over }).render({ input, config: {}, key: 'k', vars: {} })
}

describe('a form', () => {
  test('[VN1] writes trees in brackets, numbers list elements, and omits missing values', () => {
    const body = {
      name: '{{ input.name }}',
      'expand[]': '{{ input.expand }}',
      items: '{{ input.items }}',
      metadata: '{{ input.metadata }}',
      none: '{{ input.none }}',
    }
    const rendered = render(
      { encoding: 'form', body },
      {
        name: 'A & B',
        expand: ['customer', 'lines'],
        items: [{ price: 'p1', quantity: 2 }, { price: 'p2' }],
        metadata: { order: 7, tags: ['x', 'y'], gone: null },
      },
    )
    expect(rendered.headers['content-type']).toBe('application/x-www-form-urlencoded')
    expect([...new URLSearchParams(rendered.body ?? '')]).toEqual([
      ['name', 'A & B'],
      ['expand[]', 'customer'],
      ['expand[]', 'lines'],
      ['items[0][price]', 'p1'],
      ['items[0][quantity]', '2'],
      ['items[1][price]', 'p2'],
      ['metadata[order]', '7'],
      ['metadata[tags][0]', 'x'],
      ['metadata[tags][1]', 'y'],
    ])
  })

  test('[VN1] that is not a map is refused', () => {
    expect(() => render({ encoding: 'form', body: '{{ input }}' }, [1])).toThrow(ExpressionError)
  })
})

describe('a request with path, query and headers from its input', () => {
  const any = {
    path: '{{ input.path }}',
    query: { '*': '{{ input.query }}', fixed: 'yes' },
    headers: { '*': '{{ input.headers }}', accept: 'application/json' },
  }

  test('[VN2] takes them from the input; what the operation sets itself wins', () => {
    expect(
      render(any, {
        path: '/v1/a%20b/c',
        query: { q: 'x y', n: [1, 2], gone: null },
        headers: { 'X-Team': 'crm', Accept: 'text/html' },
      }),
    ).toEqual({
      method: 'POST',
      target: '/v1/a%20b/c?q=x%20y&n=1&n=2&fixed=yes',
      headers: { accept: 'application/json', 'x-team': 'crm' },
      body: null,
    })
    expect(render(any, { path: '/v1' }).target).toBe('/v1?fixed=yes')
  })

  test.each(
    [
      ['', 'v1', '//evil.example/x', '/a b', '/a?b=1', '/a#b', '/a\\b', '/a\nb', 'https://evil.example/'],
      ['/../x', '/a/..', '/a/./b', '/%2e%2E/x', '/a/.%2e/b'],
    ].flat(),
  )('[VN2] refuses the path %j', (path) => {
    expect(() => render(any, { path })).toThrow(ExpressionError)
  })

  test.each([{ Authorization: 'x' }, { cookie: 'a=b' }, { 'a b': 'x' }, { 'x-a': 'b\r\nc: d' }])(
    '[VN2] refuses the headers %j',
    (headers) => {
      expect(() => render(any, { path: '/', headers })).toThrow(ExpressionError)
    },
  )
})

describe('the meaning of a response beyond its status', () => {
  const judge = (status: number, as: OperationDocument['refine'][number]['as'], classify = {}) => {
    const { refine, policy } = compileOperation({
      ...PLAIN,
      classify,
      refine: [{ when: "result.body.code == 'x'", as }],
    })
    const facts = { kind: 'response', status, retryAfterMs: null } as const
    return refine({ status, headers: {}, body: { code: 'x' } }, classifyCall(facts, policy))
  }

  test.each(['auth', 'config', 'rate_limited', 'transient', 'validation', 'unknown'] as const)(
    '[VN24] %s does not settle the unknown outcome of a 5xx',
    (as) => {
      expect(judge(502, as)).toMatchObject({ as: 'failed', class: as, effect: 'maybe' })
    },
  )

  test('[VN24] done settles an unknown outcome, and so does a refusal that is not a 5xx', () => {
    expect(judge(502, 'done')).toEqual({ as: 'done' })
    const doubt = { 409: 'unknown' }
    expect(judge(409, 'validation', doubt)).toMatchObject({ class: 'validation', effect: 'none' })
    expect(judge(409, 'transient', doubt)).toMatchObject({ class: 'transient', effect: 'maybe' })
  })

  test('[VN24] where the outcome was known, only unknown changes that', () => {
    for (const status of [200, 400, 503]) {
      expect(judge(status, 'transient')).toMatchObject({ class: 'transient', effect: 'none' })
      expect(judge(status, 'unknown')).toMatchObject({ class: 'unknown', effect: 'maybe' })
    }
  })
})
