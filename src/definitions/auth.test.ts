// Inline auth and `{{ secret('…') }}`: where they are allowed, and the findings where they are not.
import { describe, expect, test } from 'vitest'
import { hashDocument, languageOf } from '../core/definitions/documents/index.ts'
import { compileDefinitions } from './compile.ts'

const check = (text: string, more: object = {}) =>
  compileDefinitions([{ path: 'a.yaml', text }], { functions: () => 'hash', ...more })

const errors = (text: string, more: object = {}) =>
  check(text, more)
    .findings.filter(({ severity }) => severity === 'error')
    .map(({ rule, line, message }) => ({ rule, line, message }))

const SECRET = `"{{ secret('books') }}"`

const route = (action: string, more = '') => `
kind: Route
name: book
on: shop.paid
${more}
do: ${action}
`
const http = (fields: string) => route(`{ http: { url: https://books.example/x, keyTtl: 1h, ${fields} } }`)

const workflow = (transition: string, more = '') => `
kind: Workflow
name: orders
version: 1.0.0
start: new
triggers:
  - { on: shop.paid, action: create, correlate: payload.id }
${more}
places: { new: {}, done: { final: true } }
transitions:
  book: { from: new, to: done, ${transition} }
`

describe('where a secret is allowed', () => {
  test.each([
    ['a header of http', http(`headers: { x-key: ${SECRET}, x-other: "key {{ secret('books') }}" }`)],
    ['a body of http', http(`body: { a: [{ key: ${SECRET} }] }`)],
    ['a body that is a text', http(`body: ${SECRET}`)],
    ['a query', route(`{ http: { url: "https://books.example/x?k={{ secret('books') }}", keyTtl: 1h } }`)],
    [
      'a query behind a base',
      route(`{ http: { url: "{{ vars.self }}/x?k={{ secret('books') }}", keyTtl: 1h } }`),
    ],
    [
      'a probe',
      http(`probe: { url: https://books.example/x, found: result.status == 200, headers: { k: ${SECRET} } }`),
    ],
    [
      'requests of an upsert',
      route(
        `{ upsert: { baseUrl: https://books.example, headers: { k: ${SECRET} }, extRef: "{{ payload.id }}", find: { path: "/x?ref={{ extRef }}&k={{ secret('books') }}", found: result.status == 200 }, create: { path: /x, body: { ref: "{{ extRef }}", k: ${SECRET} } }, update: none } }`,
      ),
    ],
    ['a step', workflow(`do: { http: { url: https://a.example, keyTtl: 1h, headers: { k: ${SECRET} } } }`)],
    [
      'what undoes a step',
      workflow(`do: { emit: a.b }, undo: { http: { url: https://a.example, keyTtl: 1h, body: ${SECRET} } }`),
    ],
    [
      'a header of an agent',
      `kind: Agent\nname: judge\nbaseUrl: https://a.example\nmodel: m\nuser: hello\nheaders: { k: ${SECRET} }`,
    ],
    [
      'a subscription',
      `kind: Subscription\nname: crm\nurl: "https://crm.example/x?k={{ secret('books') }}"\non: shop.paid\nheaders: { k: ${SECRET} }\ntransform: { id: "{{ event.id }}", k: ${SECRET} }`,
    ],
  ])('[IX1] %s', (_where, text) => {
    expect(errors(text)).toEqual([])
    expect(check(text).documents.map(languageOf)).toEqual([2])
  })

  test.each([
    ['a key', route('{ emit: a.b }', `key: "secret('books')"`)],
    ['a key, as a template', route('{ emit: a.b }', `key: ${SECRET}`)],
    ['a condition', route('{ emit: a.b }', `where: "payload.token == secret('books')"`)],
    ['order', route('{ emit: a.b }', `order: { by: "secret('books')" }`)],
    ['concurrency', route('{ emit: a.b }', `concurrency: { limit: 1, by: "secret('books')" }`)],
    ['debounce', route('{ emit: a.b }', `debounce: { by: "secret('books')", window: 1s }`)],
    ['data of an event', route(`{ emit: a.b, data: { k: ${SECRET} } }`)],
    ['a subject', route(`{ emit: "a.{{ secret('books') }}" }`)],
    ['input of a function', route(`{ function: f, with: { k: ${SECRET} } }`)],
    ['input of a workflow', route(`{ start: orders, with: { k: ${SECRET} } }`)],
    ['a schedule', route(`{ schedule: { name: ${SECRET}, cron: "0 0 * * *", emit: a.b } }`)],
    [
      'the reference of an upsert',
      route(
        `{ upsert: { baseUrl: https://a.example, extRef: ${SECRET}, find: { path: "/{{ extRef }}", found: result.status == 200 }, create: { path: /x, body: "{{ extRef }}" }, update: none } }`,
      ),
    ],
    [
      'what a probe looks for',
      http(`probe: { url: https://books.example/x, found: "result.body.key == secret('books')" }`),
    ],
    [
      'the path of an address',
      route(`{ http: { url: "https://books.example/{{ secret('books') }}", keyTtl: 1h } }`),
    ],
    ['out', workflow(`do: { emit: a.b }, out: { k: "secret('books')" }`)],
    ['when', workflow(`do: { emit: a.b }, when: "secret('books') == data.k"`)],
    [
      'map',
      workflow('do: { emit: a.b }').replace(
        'correlate: payload.id',
        `correlate: payload.id, map: { k: "secret('books')" }`,
      ),
    ],
    [
      'correlate',
      workflow('do: { emit: a.b }').replace('correlate: payload.id', `correlate: "secret('books')"`),
    ],
    ['a lock', workflow('do: { emit: a.b }', `lock: { by: "secret('books')", ttl: 1m }`)],
    [
      'the words for an agent',
      `kind: Agent\nname: judge\nbaseUrl: https://a.example\nmodel: m\nuser: ${SECRET}`,
    ],
    [
      'a deduplication',
      `kind: Source\nname: s\nverify: { scheme: none }\nsubject: a.b\ndedup: { by: "secret('books')" }`,
    ],
    [
      'data of a dispatch',
      `kind: Source\nname: s\nverify: { scheme: none }\nsubject: a.b\ndispatch: { rules: [{ emit: a.c, data: { k: ${SECRET} } }] }`,
    ],
    [
      'the order of deliveries',
      `kind: Subscription\nname: crm\nurl: https://crm.example\non: a.b\norder: { by: "secret('books')" }`,
    ],
    ['a computed value', http(`headers: { k: "{{ 'Bearer ' + secret('books') }}" }`)],
    ['a hash', http(`headers: { k: "{{ hash(secret('books')) }}" }`)],
    ['a name that is computed', http(`headers: { k: "{{ secret(payload.name) }}" }`)],
    ['a token of a credential', http(`headers: { k: "{{ secret('credentials.x') }}" }`)],
  ])('[IX1] not in %s', (_where, text) => {
    const found = errors(text).filter(({ rule }) => rule === 'IX1')
    expect(found, JSON.stringify(errors(text))).toHaveLength(1)
    expect(found[0]?.message).toMatch(/secret/)
  })

  test('[IX1] the syntax of other tools is answered with what to write here', () => {
    const text = http('headers: { k: "Bearer {{ secrets.tok }}" }')
    const [finding] = check(text).findings.filter(({ rule }) => rule === 'IX1')
    expect(finding?.message).toContain("write `{{ secret('name') }}`")
    expect(finding?.suggestion).toContain("Bearer {{ secret('tok') }}")
  })
})

describe('auth', () => {
  test('[IX2] is one of three methods, with a secret of the environment, the vault or a file', () => {
    for (const auth of [
      '{ bearer: { ref: books } }',
      '{ bearer: { env: BOOKS } }',
      '{ basic: { user: x, password: { file: y } } }',
      '{ header: { name: X-Api-Key, value: { ref: z } } }',
    ]) {
      expect(errors(http(`auth: ${auth}`)), auth).toEqual([])
    }
    const [document] = check(http('auth: { header: { name: X-Api-Key, value: { ref: z } } }')).documents
    expect(document).toMatchObject({ do: { auth: { header: { name: 'x-api-key', value: { ref: 'z' } } } } })
  })

  test.each([
    ['no way', http('auth: {}'), 'F28'],
    ['two ways', http('auth: { bearer: { ref: a }, header: { name: x, value: { ref: b } } }'), 'F28'],
    ['a secret in two places', http('auth: { bearer: { ref: a, env: B } }'), 'F28'],
    ['no secret', http('auth: { bearer: {} }'), 'F28'],
    ['the value itself', http('auth: { bearer: abc }'), 'F15'],
    ['a user with a colon', http('auth: { basic: { user: "a:b", password: { ref: a } } }'), 'F16'],
    ['a header of ours', http('auth: { header: { name: Idempotency-Key, value: { ref: a } } }'), 'F31'],
    [
      'a header that is written beside it',
      http('auth: { bearer: { ref: a } }, headers: { Authorization: x }'),
      'F35',
    ],
    [
      'a probe at another host',
      http(
        'auth: { bearer: { ref: a } }, probe: { url: https://other.example/x, found: result.status == 200 }',
      ),
      'F35',
    ],
    [
      'the secret of an agent',
      'kind: Agent\nname: judge\nbaseUrl: https://a.example\nmodel: m\nuser: hi\nsecret: { ref: a }\nauth: { bearer: { ref: a } }',
      'F35',
    ],
    [
      'a signature of ours',
      'kind: Subscription\nname: crm\nurl: https://crm.example\non: a.b\nauth: { header: { name: webhook-signature, value: { ref: a } } }',
      'F31',
    ],
  ])('[IX2] is refused with %s', (_what, text, rule) => {
    expect(errors(text).map((one) => one.rule)).toEqual([rule])
  })

  test('[IX2] is refused beside a connection', () => {
    const connection =
      'kind: Provider\nname: acme\nbaseUrl: https://acme.example\nauth: none\n---\nkind: Connection\nname: acme\nprovider: acme\n---'
    const text =
      connection + route('{ http: { connection: acme, url: /x, keyTtl: 1h, auth: { bearer: { ref: a } } } }')
    expect(errors(text)).toMatchObject([
      { rule: 'F35', message: expect.stringContaining('leave `auth` out') },
    ])
  })

  test('[IX2] only the tenant `default` may read the environment, here too', () => {
    const text = http('auth: { bearer: { env: BOOKS } }')
    expect(errors(text, { hasEnvironment: false })).toMatchObject([{ rule: 'VA10' }])
  })

  test('[IX9] a document without any of it keeps its hash and its language', () => {
    const [document] = check(http('headers: { x: y }')).documents
    if (document === undefined) throw new Error('it compiles')
    expect(languageOf(document)).toBe(1)
    expect(hashDocument(document)).toMatchInlineSnapshot(
      `"sha256:316e56bbe1177e952b2c5039dace135ab959af492a8f08398e2792b15bb03b06"`,
    )
    for (const text of [
      http('auth: { bearer: { ref: a } }'),
      http(
        'probe: { url: https://books.example, found: result.status == 200, auth: { bearer: { ref: a } } }',
      ),
      workflow(
        'do: { emit: a.b }, undo: { http: { url: https://a.example, keyTtl: 1h, auth: { bearer: { ref: a } } } }',
      ),
    ])
      expect(check(text).documents.map(languageOf)).toEqual([2])
  })
})
