import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hashBundle, hashDocument } from '../core/definitions/documents/index.ts'
import { compileTemplate } from '../core/expression/index.ts'
import type { Finding } from './finding.ts'
import { RULES } from './index.ts'
import { compileDefinitions } from './language.ts'

const functions = (name: string) => (name === 'export_hours' ? 'sha256:code' : null)
const secrets = (name: string) => name !== 'not-set'
const compile = (text: string, path = 'a.yaml') =>
  compileDefinitions([{ path, text }], { functions, secrets })

/** `¦` stands before the character that the finding must point at. */
function expectFinding(
  marked: string,
  rule: string,
  message: string,
  suggestion: string | undefined,
  path = 'a.yaml',
) {
  const at = marked.indexOf('¦')
  const before = marked.slice(0, at).split('\n')
  const { findings, documents } = compile(marked.replace('¦', ''), path)
  const severity = ['F32', 'F33', 'F34', 'VA9'].includes(rule) ? 'warning' : 'error'
  const expected: Record<string, unknown> = {
    severity,
    rule,
    message: expect.stringContaining(message),
    file: path,
    line: before.length,
    column: before.at(-1)!.length + 1,
  }
  if (suggestion !== undefined) expected.suggestion = suggestion
  expect(findings).toEqual([expected])
  expect(documents).toHaveLength(severity === 'error' ? 0 : 1)
}

const source = (rest: string) => `kind: Source\nname: shop\n${rest}`
const verified = (rest: string) => source(`verify: { scheme: none }\n${rest}`)
const subject = 'subject: shop.events\n'
const hmac = (rest: string) => source(`${subject}verify: { scheme: hmac, secret: { env: S }, ${rest} }`)
const emit = 'do: { emit: b.c }\n'
const route = (rest: string) => `kind: Route\nname: r\non: a.b\n${rest}`
const plain = (rest: string) => route(`${emit}${rest}`)
const http = (rest: string) => route(`do: { http: { method: PUT, url: "https://x.example/", ${rest} } }`)

type Row = readonly [rule: string, text: string, message: string, suggestion?: string]

const READING: readonly Row[] = [
  ['[F1]', plain("key: 'SAP:' ¦+ payload.id"), 'more follows', `"'SAP:' + payload.id"`],
  ['[F1]', plain("where: ¦payload.a == 'x: y'"), '`: ` in it needs quotes', `"payload.a == 'x: y'"`],
  ['[F1]', plain('key: ¦@x'), 'cannot begin with this', '"@x"'],
  ['[F1]', route('do:\n¦\temit: x'), 'spaces, not with tabs'],
  ['[F1]', '¦%YAML 1.1\n---\nkind: Route\n', 'YAML 1.2'],
  ['[F2]', plain('status: active\n¦status: paused'), 'stands here twice'],
  ['[F3]', plain('where: ¦!payload.draft'), 'text needs quotes', '"!payload.draft"'],
  [
    '[F3]',
    plain('where: ¦!payload.draft && payload.a'),
    'text needs quotes',
    '"!payload.draft && payload.a"',
  ],
  ['[F3]', plain('description: ¦!!binary aGk='), 'text needs quotes', '"!!binary aGk="'],
  ['[F4]', plain('key: ¦{{ payload.id }}'), 'a template needs quotes', '"{{ payload.id }}"'],
  [
    '[F4]',
    route('do: { emit: x, data: { a: ¦{{ payload.id }} } }'),
    'a template needs quotes',
    '"{{ payload.id }}"',
  ],
  ['[F4]', route('do: { emit: x, data: { ¦5: a } }'), 'is a text', '"5"'],
  ['[F4]', route('do: { emit: x, data: { ¦true: a } }'), 'is a text', '"true"'],
  ['[F4]', route('do: { emit: x, data: { ¦__proto__: a } }'), 'is a text'],
  ['[F5]', 'kind: Route\nname: r\non: ¦*.push\ndo: { emit: b.c }', 'text needs quotes', '"*.push"'],
  ['[F5]', route('do: { emit: x, data: &x { a: ¦*x } }'), 'contains itself'],
  ['[F7]', '¦- a', 'a document is a map'],
  ['[F7]', '¦text', 'a document is a map'],
  ['[F15]', route('do: { emit: x, data: ¦.inf }'), 'no number in JSON', '".inf"'],
]

const DOCUMENTS: readonly Row[] = [
  ['[F8]', '¦name: x', '`kind` is missing'],
  ['[F8]', 'kind: ¦Rout\nname: x', 'no kind `Rout`', 'Route'],
  ['[F8]', 'kind: ¦5\nname: x', 'one of `Source`'],
  ['[F13]', 'kind: ¦AlertRoute\nname: x', 'not available in this version'],
  ['[F9]', plain('apiVersion: ¦millrace/v2'), '`millrace/v1`', 'millrace/v1'],
  ['[F10]', `kind: Route\nname: ¦Actual Hours\non: a.b\n${emit}`, 'small letters', 'actual_hours'],
  ['[F10]', `kind: Route\nname: ¦actualHours\non: a.b\n${emit}`, 'small letters', 'actual_hours'],
  ['[F10]', `kind: Route\nname: ${'a'.repeat(100)}¦a\non: a.b\n${emit}`, 'at most 100'],
  ['[F17]', `kind: Route\nname: "a¦{{ b }}"\non: a.b\n${emit}`, 'this is a literal'],
]

const FIELDS: readonly Row[] = [
  ['[F12]', plain('¦retyr: STANDARD'), 'did you mean `retry`?', 'retry'],
  ['[F12]', plain('¦colour: red'), 'there is no field `colour` here'],
  ['[F12]', plain('¦debonce: {}'), 'did you mean `debounce`?', 'debounce'],
  ['[F12]', hmac('¦headr: x'), 'did you mean `header`?', 'header'],
  [
    '[F12]',
    source(`${subject}verify: { scheme: github, secret: { env: S, ¦nv: S } }`),
    'did you mean `env`?',
    'env',
  ],
  ['[F12]', plain('retry: { attempts: 1, ¦dleays: [] }'), 'did you mean `delays`?', 'delays'],
  ['[F12]', http('¦classify: { 404: done }'), 'stands beside `http`'],
  ['[F12]', route('do: { ¦htpp: {} }'), 'did you mean `http`?', 'http'],
  ['[F13]', plain('key: ¦vars.x'), '`vars` is not available'],
  ['[F14]', `¦kind: Route\nname: r\n${emit}`, '`on` is missing'],
  ['[F14]', `¦kind: Route\non: a.b\n${emit}`, '`name` is missing'],
  ['[F14]', route('do: { ¦http: { method: PUT } }'), '`url` is missing'],
  ['[F14]', source(`${subject}¦verify: { secret: { env: S } }`), '`scheme` is missing'],
  ['[F14]', source(`${subject}¦verify: { scheme: github }`), '`secret` is missing'],
  ['[F15]', plain('key: ¦5'), 'it needs quotes', '"5"'],
  ['[F15]', plain('description: ¦true'), 'it needs quotes', '"true"'],
  ['[F15]', plain('¦key:'), '`key` is empty'],
  ['[F15]', plain('¦key: # payload.id'), '`#` begins a comment'],
  ['[F15]', plain('key: ¦[a]'), 'a text, not a list'],
  ['[F15]', route('do: ¦b.c'), 'a map, not a text'],
  ['[F15]', plain('retry: ¦[1m]'), 'a text or a map, not a list'],
  ['[F15]', http('idempotent: ¦yes'), '`true` or `false`', 'true'],
  ['[F16]', plain('status: ¦activ'), 'one of `active`', 'active'],
  ['[F16]', plain('deadLetter: { severity: ¦urgent }'), 'one of `low`'],
  ['[F16]', source(`${subject}verify: { scheme: ¦githb, secret: { env: S } }`), 'one of `none`', 'github'],
  ['[F16]', source(`${subject}verify: { scheme: github, secret: { env: ¦a-b } }`), 'environment variable'],
  ['[F16]', route('do: { http: { url: "https://x.example/", method: ¦put } }'), 'one of `GET`', 'PUT'],
  [
    '[F16]',
    route('do: { http: { method: PUT, url: "https://x.example/" }, classify: { 409: ¦dne } }'),
    'one of `done`',
    'done',
  ],
  [
    '[F16]',
    route('do: { http: { method: PUT, url: "https://x.example/" }, classify: { ¦4xx: done } }'),
    'HTTP status',
  ],
  ['[F17]', plain('retry: "¦{{ payload.x }}"'), 'this is a literal'],
  ['[F17]', route('do: { emit: x, data: { ¦"{{ a }}": 1 } }'), 'a field name is a literal'],
  ['[F18]', plain('maxWait: ¦30'), 'a duration needs a unit', '30s'],
  ['[F18]', plain('maxWait: ¦5 min'), 'whole number with a unit', '5m'],
  ['[F18]', plain('retry: { attempts: 2, delays: [¦1.5h] }'), 'whole number with a unit'],
  ['[F18]', verified(`${subject}limits: { body: ¦1MB }`), 'a size is', '1MiB'],
  ['[F18]', verified(`${subject}limits: { body: ¦1000 }`), 'a size needs a unit', '1000B'],
  ['[F19]', route('do: { function: export_hours, timeout: ¦11m }'), 'between `1ms` and `10m`', '10m'],
  ['[F19]', verified(`${subject}limits: { depth: ¦1000 }`), 'at most 256', '256'],
  ['[F19]', verified(`${subject}limits: { body: ¦1GiB }`), 'bytes'],
  ['[F19]', `kind: Route\nname: r\non: ¦[]\n${emit}`, 'at least 1 entries'],
]

const EXPRESSIONS: readonly Row[] = [
  ['[F20]', plain('where: payload.a ¦= 5'), 'write `==`', 'payload.a == 5'],
  ['[F20]', plain('where: payload.a ¦= 5 # a comment'), 'write `==`', 'payload.a == 5'],
  ['[F20]', plain("where: payload.a == ¦'a #1'"), 'not closed', `"payload.a == 'a #1'"`],
  ['[F20]', plain('key: ¦EUR'), 'text needs quotes', `"'EUR'"`],
  ['[F20]', plain('key: ¦paylod.id'), 'did you mean `payload`?', 'payload.id'],
  ['[F20]', plain(`key: "'x' + ¦paylod.id"`), 'did you mean `payload`?', `"'x' + payload.id"`],
  ['[F20]', plain(`key: "'\\u0041\\t' + ¦paylod.id"`), 'did you mean `payload`?', `"'A\\t' + payload.id"`],
  ['[F20]', plain(`key: '''x'' + ¦paylod.id'`), 'did you mean `payload`?', `"'x' + payload.id"`],
  ['[F20]', plain("key: |\n  'x' +\n    ¦paylod.id\n"), 'did you mean `payload`?'],
  ['[F20]', plain("key: ¦>\n  'x' +\n  paylod.id\n"), 'did you mean `payload`?'],
  ['[F20]', plain('order: { by: "¦{{ payload.id }}" }'), 'without `{{ }}`', 'payload.id'],
  ['[F20]', plain('where: { all: [payload.a, { not: ¦paylod.b }] }'), 'did you mean', 'payload.b'],
  ['[F20]', verified(`${subject}dedup: { by: ¦key }`), 'not in scope', `"'key'"`],
  ['[F20]', verified(`${subject}event: { id: ¦event.id }`), 'not in scope', `"'event.id'"`],
  ['[F21]', route('do: { emit: x, data: { a: ["x {{ payload.a ¦payload.b }}"] } }'), 'operator is missing'],
  ['[F21]', http('headers: { x-a: "{{ ¦payl }}" }'), 'not in scope', `"{{ 'payl' }}"`],
  ['[F21]', http('body: "a ¦{{ payload.a"'), 'not closed'],
  ['[F21]', hmac('signed: "{{ ¦payload.id }}"'), 'not in scope', `"{{ 'payload.id' }}"`],
  ['[F22]', http('body: { a: ¦payload.id }'), 'looks like a path', '"{{ payload.id }}"'],
  ['[F22]', http('headers: { x-a: ¦event.id }'), 'looks like a path', '"{{ event.id }}"'],
  ['[F23]', plain('¦where:'), 'the condition is empty'],
  ['[F23]', plain('¦where: #urgent'), 'text needs quotes'],
  ['[F23]', plain('where: ¦""'), 'empty condition'],
  ['[F23]', plain('where: ¦{}'), 'empty condition'],
  ['[F23]', plain('where: { all: ¦[] }'), 'empty condition'],
  ['[F23]', plain('where: ¦true'), 'put quotes around it', `"'true'"`],
  ['[F23]', plain('where: { path: payload.a, ¦equal: 5 }'), 'did you mean `equals`?', 'equals'],
  ['[F24]', `kind: Route\nname: r\non: [a.¦>.b, c]\n${emit}`, 'put it last'],
  ['[F24]', `kind: Route\nname: r\non: a.¦.b\n${emit}`, 'a token is empty'],
  ['[F24]', verified('subject: "shop.{{ payload.type }}.¦*"'), 'no wildcards'],
  ['[F24]', verified('subject: "shop.{{ payload.type }}.¦.x"'), 'a token is empty'],
]

const RELATIONS: readonly Row[] = [
  ['[F25]', plain('retry: ¦standard'), 'no retry profile `standard`', 'STANDARD'],
  ['[F25]', plain('retry: ¦forever'), 'no retry profile `forever`'],
  [
    '[F26]',
    plain('retry: { attempts: 3, delays: ¦[1m] }'),
    '3 attempts have 2 delays, here are 1',
    'attempts: 2',
  ],
  ['[F26]', plain('retry: { attempts: ¦3 }'), '3 attempts have 2 delays', 'attempts: 1'],
  [
    '[F27]',
    '¦kind: Source\nname: s\nsubject: a.b',
    'how its senders are verified',
    'verify: { scheme: hmac, secret: { env: WEBHOOK_SECRET } }',
  ],
  ['[F28]', verified(`${subject}¦subjects: github`), 'exclude each other'],
  [
    '[F28]',
    '¦kind: Source\nname: shop\nverify: { scheme: none }',
    'names its events',
    'subject: "shop.events.{{ payload.type }}"',
  ],
  ['[F28]', route('do: { emit: x, ¦function: export_hours }'), 'does one thing'],
  ['[F28]', route('¦do: {}'), 'say what to do'],
  ['[F16]', source(`${subject}verify: { scheme: github, secret: { ref: ¦"a b" } }`), 'a secret’s name has'],
  ['[F16]', source(`${subject}verify: { scheme: github, secret: { ref: ¦credentials.a } }`), 'keeps tokens'],
  [
    '[VA9]',
    source(`${subject}verify: { scheme: github, secret: [{ env: A }, { ref: ¦not-set }] }`),
    'the secret `not-set` is not set',
  ],
  ['[F28]', source(`${subject}verify: { scheme: github, secret: ¦{} }`), 'a secret is'],
  ['[F28]', source(`${subject}verify: { scheme: github, secret: [{ env: A }, ¦{}] }`), 'a secret is'],
  ['[F29]', route('do: { function: ¦import_hours }'), 'no function `import_hours`'],
  ['[F30]', route('do: { http: { method: PUT, url: ¦api.example.com/x } }'), 'begins with `https://`'],
  ['[F30]', route('do: { http: { method: PUT, url: ¦"{{ payload.url }}" } }'), 'begins with `https://`'],
  ['[F30]', route('do: { http: { method: PUT, url: ¦"https://a:b@x.example/" } }'), 'no user or password'],
  ['[F30]', route('do: { http: { method: PUT, url: ¦"https://x.example:port/" } }'), 'no address'],
  ['[F31]', http('headers: { ¦Host: x }'), 'set by the engine'],
  ['[F31]', http('headers: { ¦"a b": x }'), 'a header name has'],
  ['[F31]', hmac('header: ¦"a b"'), 'a header name has'],
  ['[F32]', route('do: { ¦http: { url: "https://x.example/" } }'), 'will park for a person'],
  [
    '[F32]',
    route('do: { ¦http: { url: "https://x.example/", method: PATCH, idempotent: false } }'),
    'will park',
  ],
  [
    '[F33]',
    hmac('timestampHeader: ¦x-timestamp'),
    'the time is not signed',
    'signed: "{{ header.x-timestamp }}.{{ body }}"',
  ],
  ['[F34]', 'kind: Route\nname: r\non: [x, a.>]\ndo: { emit: ¦a.b }', 'would start itself again'],
  ['[F35]', route('do: { emit: x, ¦with: {} }'), 'belongs to `function`', 'data'],
  ['[F35]', route('do: { function: export_hours, ¦data: {} }'), 'belongs to `emit`', 'with'],
  ['[F35]', route('do: { emit: x, ¦timeout: 5s }'), 'belongs to `http`, `upsert`, `function`'],
  ['[F35]', route('do: { function: export_hours, ¦classify: {} }'), 'belongs to `http`'],
  ['[F35]', hmac('¦tolerance: 5m'), 'needs a `timestampHeader`'],
]

describe.each([
  ['reading', READING],
  ['documents', DOCUMENTS],
  ['fields', FIELDS],
  ['expressions', EXPRESSIONS],
  ['relations', RELATIONS],
])('%s', (_name, rows) => {
  test.each(rows.map((row) => [row[0], row[1], row[2], row[3]] as const))(
    '%s %j: %s',
    (quoted, text, message, suggestion) => {
      const rule = quoted.slice(1, -1)
      expectFinding(text, rule, message, suggestion)
      expectFinding(`# a comment\r\n\r\n${text}`.replaceAll(/\r?\n/g, '\r\n'), rule, message, suggestion)
    },
  )
})

describe('json', () => {
  const rows: readonly Row[] = [
    ['[F1]', '{\n\t"kind": "Route",\n\t¦name: "r"\n}', 'not JSON that can be read'],
    ['[F1]', '¦kind: Route', 'not JSON that can be read'],
    ['[F2]', '{"kind":"Profile","name":"p","retry":{"attempts":1},¦"name":"p"}', 'stands here twice'],
    [
      '[F12]',
      '{"kind":"Profile","name":"p",\n\t¦"rety":{},\n\t"retry":{"attempts":1}}',
      'did you mean',
      'retry',
    ],
    [
      '[F20]',
      '{"kind":"Route","name":"r","on":"a.b","do":{"emit":"x"},"key":"\\"\\/\\" + ¦paylod.id"}',
      'did you mean',
    ],
    ['[F20]', '{"kind":"Route","name":"r","on":"a.b","do":{"emit":"x"},"key":"¦EUR"}', 'quotes', `"'EUR'"`],
    ['[F7]', '¦null', 'a document is a map'],
  ]
  test.each(rows.map((row) => [row[0], row[1], row[2], row[3]] as const))('%s %j: %s', (...row) => {
    const [quoted, text, message, suggestion] = row
    const rule = quoted.slice(1, -1)
    const at = text.indexOf('¦')
    const { findings } = compile(text.replace('¦', ''), 'a.json')
    const lines = text.slice(0, at).split('\n')
    expect(findings[0]).toMatchObject({ rule, line: lines.length, column: lines.at(-1)!.length + 1 })
    expect(findings[0]?.message).toContain(message)
    if (suggestion !== undefined) expect(findings[0]?.suggestion).toBe(suggestion)
  })
})

describe('all at once', () => {
  test('[F11] a second document of the same kind and name says where the first is', () => {
    const profile = 'kind: Profile\nname: p\nretry: { attempts: 1 }\n'
    const files = [
      { path: 'b.yaml', text: `${profile}---\n${profile}` },
      { path: 'c.yml', text: `# later\n${profile}` },
    ]
    const { findings } = compileDefinitions(files, { functions })
    const message = 'there is a Profile `p` already, at b.yaml:2:7: rename one'
    expect(findings).toEqual([
      { severity: 'error', rule: 'F11', message, file: 'b.yaml', line: 6, column: 7 },
      { severity: 'error', rule: 'F11', message, file: 'c.yml', line: 3, column: 7 },
    ])
  })

  test('one bad document does not hide another, and one mistake is reported once', () => {
    const { findings, documents } = compile(
      [
        'kind: Route\nname: A\non: [a..b, "c.*d"]\nwhere: !x\nkey: EUR\ndo: { http: { url: x, method: put, retires: 3 } }',
        'kind: Source\nname: ok\nverify: { scheme: none }\nsubject: a.b',
        "kind: Route\nname: b\nkey: 'a' + b",
        'kind: Rout\nname: c',
      ].join('\n---\n'),
    )
    const places = findings.map(({ rule, line, column }) => `${rule} ${line}:${column}`)
    expect(places).toEqual([
      'F10 2:7',
      'F24 3:8',
      'F24 3:15',
      'F3 4:8',
      'F20 5:6',
      'F30 6:20',
      'F16 6:31',
      'F12 6:36',
      'F1 15:10',
      'F8 17:7',
    ])
    expect(documents.map((document) => document.name)).toEqual(['ok'])
  })

  test('[F13] every part of the language that is not supported yet is refused by name', () => {
    for (const kind of ['AlertRoute']) {
      expect(compile(`kind: ${kind}\nname: x`).findings.map((one) => one.rule)).toEqual(['F13'])
    }
  })
})

const GOOD = `
kind: Source
name: github
apiVersion: millrace/v1
verify: { scheme: github, secret: { env: GITHUB_WEBHOOK_SECRET } }
subjects: github
---
kind: Source
name: shop
description: Orders of the shop   # a comment
verify:
  scheme: hmac
  secret: [{ env: NEW }, { env: OLD }]
  header: X-Shop-Signature
  signed: "{{ header.x-timestamp }}.{{ body }}"
  timestampHeader: X-Timestamp
subject: "shop.events.{{ payload.type }}"
event: { id: payload.id, objectType: order, objectId: payload.order.id, occurredAt: payload.at }
---
kind: Profile
name: patient
retry: { attempts: 3, delays: [1m, 2h] }
---
kind: Route
name: actual-hours
on: shop.events.>
where: { all: [{ path: payload.total, greaterThan: 9007199254740993 }, payload.status == 'APPROVED'] }
retry: patient
do:
  http:
    url: "https://api.example.com/x/{{ payload.id }}"
    headers: { X-Team: crm }
    body: { id: "{{ payload.id }}", big: 12345678901234567890, on: true }
    probe: { url: "https://api.example.com/x?ref={{ key }}", found: result.body.items.size() > 0 }
  classify: { 409: done, 423: transient }
---
kind: Route
name: to_function
on: [shop.events.>, github.events.push]
do: { function: export_hours }
---
kind: Route
name: to_event
on: [shop.events.>]
retry: { attempts: 1 }
do: { emit: event.created }
`

describe('normal form', () => {
  const { documents, findings } = compile(GOOD)

  test('[F37] defaults are filled in', () => {
    expect(findings).toEqual([])
    expect(documents).toEqual([
      {
        kind: 'Source',
        name: 'github',
        description: null,
        verify: { scheme: 'github', secret: [{ env: 'GITHUB_WEBHOOK_SECRET' }] },
        subject: expect.stringContaining('github.events.'),
        event: {
          id: 'header.x-github-delivery',
          objectType: expect.stringContaining("'repository'"),
          objectId: expect.stringContaining('payload.repository.id'),
          occurredAt: expect.stringContaining('payload.issue.updated_at'),
        },
        dedup: { by: 'event.id', windowMs: 604_800_000 },
        limits: { bodyBytes: 1_048_576, depth: 64 },
        status: 'active',
        mapping: 'github',
      },
      {
        kind: 'Source',
        name: 'shop',
        description: 'Orders of the shop',
        verify: {
          scheme: 'hmac',
          secret: [{ env: 'NEW' }, { env: 'OLD' }],
          header: 'x-shop-signature',
          algorithm: 'sha256',
          encoding: 'hex',
          prefix: '',
          signed: '{{ header.x-timestamp }}.{{ body }}',
          timestampHeader: 'x-timestamp',
          toleranceMs: 300_000,
        },
        subject: 'shop.events.{{ payload.type }}',
        event: {
          id: 'payload.id',
          objectType: 'order',
          objectId: 'payload.order.id',
          occurredAt: 'payload.at',
        },
        dedup: { by: 'event.id', windowMs: 604_800_000 },
        limits: { bodyBytes: 1_048_576, depth: 64 },
        status: 'active',
      },
      {
        kind: 'Profile',
        name: 'patient',
        description: null,
        retry: { profile: 'patient', attempts: 3, delaysMs: [60_000, 7_200_000] },
      },
      {
        kind: 'Route',
        name: 'actual-hours',
        description: null,
        on: ['shop.events.>'],
        where: {
          all: [{ path: 'payload.total', greaterThan: 9007199254740993n }, "payload.status == 'APPROVED'"],
        },
        status: 'active',
        key: null,
        uniqueness: 'operation',
        retry: { profile: 'patient', attempts: 3, delaysMs: [60_000, 7_200_000] },
        maxWaitMs: 86_400_000,
        deadLetter: { severity: 'medium', runbook: null },
        do: {
          type: 'http',
          method: 'POST',
          url: 'https://api.example.com/x/{{ payload.id }}',
          headers: { 'x-team': 'crm' },
          body: { id: '{{ payload.id }}', big: 12345678901234567890n, on: true },
          idempotent: false,
          keyTtlMs: null,
          probe: {
            method: 'GET',
            url: 'https://api.example.com/x?ref={{ key }}',
            headers: {},
            found: 'result.body.items.size() > 0',
            afterMs: 30_000,
          },
          timeoutMs: 10_000,
          classify: { '409': 'done', '423': 'transient' },
        },
      },
      {
        kind: 'Route',
        name: 'to_function',
        description: null,
        on: ['shop.events.>', 'github.events.push'],
        where: null,
        status: 'active',
        key: null,
        uniqueness: 'operation',
        retry: expect.objectContaining({ profile: 'STANDARD', attempts: 6 }),
        maxWaitMs: 86_400_000,
        deadLetter: { severity: 'medium', runbook: null },
        do: {
          type: 'function',
          name: 'export_hours',
          codeHash: 'sha256:code',
          with: null,
          timeoutMs: 10_000,
        },
      },
      expect.objectContaining({
        name: 'to_event',
        retry: { profile: null, attempts: 1, delaysMs: [] },
        do: { type: 'emit', subject: 'event.created', data: '{{ payload }}' },
      }),
    ])
  })

  test('[F38] the ready mapping leaves the action out if there is none', () => {
    const github = documents[0]
    const compiled = compileTemplate(github?.kind === 'Source' ? github.subject : '')
    const render = (event: string, payload: object) =>
      compiled.ok && compiled.template.render({ header: { 'x-github-event': event }, payload })
    expect(render('push', { ref: 'main' })).toBe('github.events.push')
    expect(render('issues', { action: 'opened' })).toBe('github.events.issues.opened')
  })

  test('[F36] YAML and JSON, comments, key order and positions give the same hashes', () => {
    const text = (document: string) => `# note\n\n${document}`
    const route = {
      yaml: text(
        'kind: Route\nname: r\non: a.b\ndo: { emit: x, data: { n: 1.0, big: 9007199254740993, s: "ä" } }\n',
      ),
      json: '{"do":{"data":{"s":"\\u00e4","big":9007199254740993,"n":1},"emit":"x"},"on":["a.b"],"name":"r","kind":"Route"}',
      tabs: '{\n\t"kind": "Route",\n\t"name": "r",\n\t"on": "a.b",\n\t"do": {\n\t\t"emit": "x",\n\t\t"data": {"n": 1e0, "big": 9007199254740993, "s": "ä"}\n\t}\n}',
    }
    const hashes = [
      compile(route.yaml, 'r.yaml'),
      compile(route.json, 'r.json'),
      compile(route.tabs, 'r.json'),
      compile(`\ufeff${route.yaml}`.replaceAll('\n', '\r\n'), 'r.yml'),
    ].map((result) => {
      expect(result.findings).toEqual([])
      return hashDocument(result.documents[0]!)
    })
    expect(new Set(hashes).size).toBe(1)
    const parts = GOOD.split('\n---\n')
    expect(hashBundle(compile(parts.reverse().join('\n---\n')).documents)).toBe(hashBundle(documents))
  })

  test('[F39] a route whose profile has an error is left out with it', () => {
    const bad = compile(`kind: Profile\nname: p\nretry: { attempts: 0 }\n---\n${plain('retry: p')}`)
    expect(bad.findings.map((finding) => finding.rule)).toEqual(['F19'])
    expect(bad.documents).toEqual([])
  })
})

describe('rules', () => {
  const spec = readFileSync(new URL('../../docs/spec/definitions.md', import.meta.url), 'utf8')
  const listed = [...spec.matchAll(/^- \*\*(F\d+)\*\* (\(warning\))?/gm)].map((match) => match[1]!)
  const folder = new URL('.', import.meta.url)
  const tests = readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('\n')

  test('every rule of the code is in the specification, with its own id', () => {
    const ids: readonly Finding['rule'][] = Object.values(RULES)
    expect(new Set(ids).size).toBe(ids.length)
    expect(listed).toEqual(Array.from({ length: listed.length }, (_, index) => `F${index + 1}`))
    // Rules about code, secrets, the catalog, sensitive data and verification have their own pages and ids.
    const own = ids.filter((id) => /^F\d/.test(id))
    expect(listed.slice(0, own.length)).toEqual(own)
    const code = readFileSync(new URL('../../docs/spec/functions.md', import.meta.url), 'utf8')
    const coded = [...code.matchAll(/^- \*\*(FN\d+)\*\*/gm)].map((match) => match[1])
    const ofCode = ids.filter((id) => id.startsWith('FN'))
    expect(ofCode).toEqual(coded.slice(0, ofCode.length))
    const pages = {
      VA: 'secrets',
      CA: 'catalog',
      SE: 'sensitive',
      SV: 'sources',
      KY: 'key-checks',
      DF: 'definitions',
      WL: 'workflow-language',
      AN: 'analysis',
      SL: 'subscription-language',
      PV: 'provider-language',
      BU: 'bus',
      SF: 'short-forms',
      VR: 'vars',
      PO: 'pollers',
      IX: 'inline-auth',
    }
    const others = Object.entries(pages).flatMap(([prefix, name]) => {
      const page = readFileSync(new URL(`../../docs/spec/${name}.md`, import.meta.url), 'utf8')
      const ofPage = ids.filter((id) => id.startsWith(prefix))
      expect(ofPage.filter((id) => !page.includes(`- **${id}**`))).toEqual([])
      return ofPage
    })
    expect(own.length + ofCode.length + others.length).toBe(ids.length)
  })

  test('every rule is quoted by a test', () => {
    expect(listed.filter((id) => !tests.includes(`'${id}'`) && !tests.includes(`[${id}]`))).toEqual([])
  })
})
