import { describe, expect, test } from 'vitest'
import type { SourceDocument } from '../core/definitions/documents/index.ts'
import type { StreamList } from '../core/ingest/bus-message/index.ts'
import { streamsOf } from './index.ts'
import { compileDefinitions } from './language.ts'

const compile = (text: string) => compileDefinitions([{ path: 'a.yaml', text }], { functions: () => null })
const source = (text: string, name = 'a') => `kind: Source\nname: ${name}\n${text}\n`

function sourceOf(text: string): SourceDocument {
  const { documents, findings } = compile(source(text))
  expect(findings).toEqual([])
  return documents[0] as SourceDocument
}

const told = (text: string) => compile(text).findings.map(({ rule, line, column }) => [rule, line, column])

describe('[BU50] a source that consumes from NATS', () => {
  test('needs neither a sender nor a name for its events, and contains only what was written', () => {
    const document = sourceOf('nats: { subjects: gitlab.events.> }')
    expect(document).toMatchObject({
      verify: { scheme: 'closed' },
      subject: '{{ header.nats-subject }}',
      dedup: { by: null },
      nats: { subjects: ['gitlab.events.>'] },
    })
    expect(Object.keys(document.nats ?? {})).toEqual(['subjects'])
  })

  test('names its events itself if it says so, and may do what other sources do', () => {
    const text = `nats: { stream: ORDERS, subjects: [orders.*.paid, orders.*.cancelled], durable: shop }
subject: "shop.{{ header.x-kind }}"
event: { id: payload.id, objectType: order, objectId: payload.order, occurredAt: payload.at }
dedup: { by: payload.id, window: 14d }
limits: { body: 64KiB, depth: 8 }
status: paused
rateLimit: { perMinute: 60 }
sensitive: [payload.email]
retention: 7d
unmatched: deadLetter
dispatch: { rules: [{ emit: shop.seen }] }
catalog: { mismatch: quarantine, subjects: [{ subject: shop.paid, schema: { type: object } }] }`
    expect(sourceOf(text)).toMatchObject({
      subject: 'shop.{{ header.x-kind }}',
      status: 'paused',
      nats: { stream: 'ORDERS', subjects: ['orders.*.paid', 'orders.*.cancelled'], durable: 'shop' },
    })
    expect(sourceOf('nats: { subjects: a.b }\nsubjects: gitlab')).toMatchObject({ mapping: 'gitlab' })
  })

  test.each([
    'verify: { scheme: none }',
    'allow: github',
    'respond: { body: ok }',
    'handshake: { when: "true" }',
  ])('is not allowed beside %s', (line) => {
    expect(compile(source(`nats: { subjects: a.b }\n${line}`)).findings).toMatchObject([
      { rule: 'F35', line: 4, column: 1, message: expect.stringContaining('leave it out') },
    ])
  })

  test('is not a schedule too', () => {
    const text = source('nats: { subjects: a.b }\nschedule: { cron: "0 2 * * *" }')
    expect(compile(text).findings).toMatchObject([
      { rule: 'F35', line: 4, message: expect.stringContaining('make two sources') },
    ])
  })
})

test.each([
  ['nats: { subjects: a..b }', [['F24', 3, 21]]],
  ['nats: { subjects: [a.b, "a.>.b"] }', [['F24', 3, 28]]],
  ['nats: { subjects: "{{ payload.x }}" }', [['F17', 3, 20]]],
  ['nats: { subjects: [] }', [['F19', 3, 19]]],
  ['nats: { stream: A }', [['F14', 3, 1]]],
  ['nats: { subjects: a.b, streams: A }', [['F12', 3, 24]]],
])('[BU50] %s is reported at its position', (text, findings) => {
  expect(told(source(text))).toEqual(findings)
})

test.each([
  ['stream: my.orders', 'my-orders'],
  ['durable: "a b"', 'a-b'],
  ['durable: "a*"', 'a'],
  ['stream: a/b', 'a-b'],
])('[BU51] not a valid name in NATS: %s', (field, suggestion) => {
  expect(compile(source(`nats:\n  subjects: a.b\n  ${field}`)).findings).toMatchObject([
    { rule: 'BU51', severity: 'error', line: 5, suggestion },
  ])
})

test.each(['">"', 'millrace.acme.events.>', '"*.acme.events.x"', '[a.b, millrace.>]'])(
  '[BU52] %s would consume what we publish',
  (subjects) => {
    expect(compile(source(`nats: { subjects: ${subjects} }`)).findings).toMatchObject([
      { rule: 'BU52', severity: 'error', line: 3, message: expect.stringContaining('for ever') },
    ])
  },
)

test('[BU52] the nodes’ subjects are known by their prefix, which is assumed if it is unknown', () => {
  const compileFor = (busPrefix: string | undefined, subjects: string) =>
    compileDefinitions([{ path: 'a.yaml', text: source(`nats: { subjects: ${subjects} }`) }], {
      functions: () => null,
      busPrefix,
    }).findings.map(({ rule, message }) => [rule, message.includes('MILLRACE_NATS_PREFIX')])
  expect(compileFor(undefined, 'millrace.x.events.y')).toEqual([['BU52', true]])
  expect(compileFor('millrace', 'millrace.x.events.y')).toEqual([['BU52', false]])
  expect(compileFor('acme.eu', 'millrace.x.events.y')).toEqual([])
  expect(compileFor('acme.eu', 'acme.*.default.events.y')).toEqual([['BU52', false]])
})

test('[BU53] overlapping patterns of one source would deliver a message twice', () => {
  expect(told(source('nats: { subjects: [a.>, b.c, "a.*"] }'))).toEqual([['BU53', 3, 30]])
  expect(told(source('nats: { subjects: [a.*, a.*.c, b.>] }'))).toEqual([])
})

test('[BU54] two sources of one tenant share no durable', () => {
  const one = source('nats: { subjects: a.b, durable: shared }')
  const other = source('nats: { subjects: c.d, durable: shared }', 'b')
  expect(compile(`${one}---\n${other}`).findings).toMatchObject([
    { rule: 'BU54', severity: 'error', line: 7, message: expect.stringContaining('`a`') },
  ])
  expect(compile(`${one}---\n${source('nats: { subjects: a.b }', 'b')}`).findings).toEqual([])
  const beside = compileDefinitions([{ path: 'b.yaml', text: other }], {
    functions: () => null,
    deployedDocuments: compile(one).documents,
  })
  expect(beside.findings).toMatchObject([{ rule: 'BU54' }])
})

describe('[BU55] what it publishes', () => {
  const route = (on: string) => `kind: Route\nname: r\non: ${on}\ndo: { emit: x.y }\n`
  const unpublished = (text: string) => told(text).filter(([rule]) => rule === 'CA16')

  test('is what its patterns match', () => {
    const consumer = source('nats: { subjects: [gitlab.events.>, "a.*.c"] }')
    for (const on of ['gitlab.events.issue.created', 'a.b.c', '">"'])
      expect(unpublished(`${consumer}---\n${route(on)}`)).toEqual([])
    for (const on of ['gitlab.event.issue', 'a.b.d'])
      expect(unpublished(`${consumer}---\n${route(on)}`)).toHaveLength(1)
  })

  test('is what it names, if it does', () => {
    const consumer = source('nats: { subjects: raw.> }\nsubject: "shop.{{ payload.kind }}"')
    expect(unpublished(`${consumer}---\n${route('shop.paid')}`)).toEqual([])
    expect(unpublished(`${consumer}---\n${route('raw.paid')}`)).toHaveLength(1)
  })

  test('is what its catalog lists, if it does', () => {
    const consumer = source('nats: { subjects: raw.> }\ncatalog: { subjects: [{ subject: raw.paid }] }')
    expect(unpublished(`${consumer}---\n${route('raw.paid')}`)).toEqual([])
    expect(unpublished(`${consumer}---\n${route('raw.payed')}`)).toHaveLength(1)
  })
})

describe('[BU74] which streams the tenant may read', () => {
  const find = (nats: string, list: StreamList | undefined, tenant = 'acme') =>
    compileDefinitions([{ path: 'a.yaml', text: source(`nats: ${nats}`) }], {
      functions: () => null,
      streams: streamsOf(tenant, list),
    }).findings.map(({ rule, message }) => `${rule} ${message}`)

  test('a stream that is not allowed is an error that names the setting', () => {
    const list = [{ tenant: 'acme', stream: 'ACME_*' }]
    expect(find('{ stream: ACME_CRM, subjects: crm.> }', list)).toEqual([])
    expect(find('{ stream: ORDERS, subjects: crm.> }', list)).toEqual([
      expect.stringMatching(/^BU74 .*`acme` may not read the stream `ORDERS`.*MILLRACE_NATS_STREAMS=acme=/),
    ])
    expect(find('{ subjects: crm.> }', list)).toEqual([])
  })

  test('without a list only `default` reads, and nothing is reported if no node was asked', () => {
    expect(find('{ subjects: crm.> }', null)).toEqual([expect.stringMatching(/^BU74 .*may read no stream/)])
    expect(find('{ stream: ORDERS, subjects: crm.> }', null, 'default')).toEqual([])
    expect(find('{ stream: MILLRACE_EVENTS, subjects: crm.> }', null, 'default')).toHaveLength(1)
    expect(find('{ stream: ORDERS, subjects: crm.> }', undefined)).toEqual([])
  })
})
