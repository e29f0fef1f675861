// Findings about keys, rule by rule (docs/spec/key-checks.md): each row shows a formula that is reported, and a similar one
// that is not.

import { describe, expect, test } from 'vitest'
import type { DefinitionDocument } from '../core/definitions/documents/index.ts'
import { type Finding, formatFindings } from './index.ts'
import { compileDefinitions } from './language.ts'

const functions = () => 'sha256:code'

function check(text: string, deployedDocuments: readonly DefinitionDocument[] = []): readonly Finding[] {
  return compileDefinitions([{ path: 'a.yaml', text }], { functions, deployedDocuments }).findings
}

interface Parts {
  readonly name?: string
  readonly on?: string
  readonly key?: string
  readonly more?: string
  readonly do?: string
}

function route(parts: Parts): string {
  const { name = 'r', on = 'shop.order.paid', key, more = '', do: action = '{ function: work }' } = parts
  const formula = key === undefined ? '' : `key: ${JSON.stringify(key)}\n`
  return `kind: Route\nname: ${name}\non: ${on}\n${formula}${more === '' ? '' : `${more}\n`}do: ${action}\n`
}

const rulesOf = (parts: Parts) => check(route(parts)).map(({ rule, severity }) => `${rule} ${severity}`)
const keyed = (key: string, more: Omit<Parts, 'key'> = {}) => rulesOf({ key, ...more })

describe('parts that differ the next time', () => {
  test.each([
    'event.correlationId',
    'event.traceId',
    'event.receivedAt',
    'event.attempt',
    'event.runId',
    'event.nonsense',
    'hash(event)',
    'hash(header)',
    'header.date',
    'header.x-request-id',
    "header['X-Request-Id']",
    'header.traceparent',
    'header.x-b3-traceid',
    'header.x-hub-signature-256',
    'header.x-slack-retry-num',
    'header.x-delivery-attempt',
    'hash(payload.id, header.user-agent)',
    'payload.id == null ? event.traceId : payload.id',
  ])('[KY1] %s is refused in a key', (part) => {
    expect(keyed(`'A:' + ${part}`)).toEqual(['KY1 error'])
  })

  test.each([
    'event.dedupKey',
    'event.objectId',
    'event.occurredAt',
    'event.payloadHash',
    'header.x-github-delivery',
    'payload.date',
    'payload.order.trace',
  ])('[KY1] %s is not', (part) => {
    expect(keyed(`'A:' + ${part}`)).toEqual([])
  })

  test('[KY1] the finding points at the part', () => {
    const [finding] = check(route({ key: "'A:' + payload.id + event.traceId" }))
    expect(finding).toMatchObject({ line: 4, column: 27 })
    expect(finding?.message).toContain('`event.traceId` differs with each delivery')
  })

  test('[KY2] the event’s own id is reported, and its id at the source is not', () => {
    const findings = check(route({ key: "'A:' + event.id" }))
    expect(findings).toMatchObject([{ rule: 'KY2', severity: 'warning' }])
    expect(findings[0]?.message).toMatch(/after its dedup window.*Write `event\.dedupKey`/)
    expect(keyed("'A:' + event.causationId")).toEqual(['KY2 warning'])
    expect(keyed("'A:' + event.dedupKey")).toEqual([])
    expect(rulesOf({})).toEqual([])
  })

  test.each(['payload.deliveryId', 'payload.meta.request_id', 'payload.retryCount', 'payload.sentAt'])(
    '[KY4] %s looks like a part of the delivery',
    (part) => {
      expect(keyed(`'A:' + payload.id + ${part}`)).toEqual(['KY4 warning'])
    },
  )

  test('[KY8] a key that does not depend on the event', () => {
    for (const key of ["'ONCE'", "'A:' + tenant", "'A:' + source + event.subject"])
      expect(keyed(key)).toEqual(['KY8 warning'])
    expect(keyed("'A:' + event.subject + payload.id")).toEqual([])
  })
})

const put = '{ http: { method: PUT, url: "https://x.example/a" } }'

describe('too broad', () => {
  test.each([
    { on: 'shop.order.updated' },
    { on: '[shop.order.created, shop.order.changed]' },
    { on: 'crm.contact.edited' },
    { on: 'crm.contact_modified' },
    { do: put },
    { do: put.replace('PUT', 'PATCH').replace('{ method', '{ idempotent: true, method') },
  ])('[KY3] an update whose key has no version: %j', (more) => {
    expect(keyed("'A:' + payload.id", more)).toEqual(['KY3 warning'])
  })

  test.each([
    'payload.version',
    'payload.revision',
    'payload.updatedAt',
    'payload.updated_at',
    'payload.order.lastModified',
    'payload.status',
    'payload.sha',
    'hash(payload)',
    'hash(payload.order)',
    'event.occurredAt',
    'event.payloadHash',
    'event.dedupKey',
  ])('[KY3] with %s it has one', (part) => {
    expect(keyed(`'A:' + payload.id + ':' + ${part}`, { on: 'shop.order.updated' })).toEqual([])
  })

  test('[KY3] one effect per object may be intended, if nothing is updated', () => {
    const on = 'shop.order.updated'
    expect(keyed("'A:' + payload.id", { on, more: 'uniqueness: record' })).toEqual([])
    expect(keyed("'A:' + hash(payload.id)", { on })).toEqual(['KY3 warning'])
    expect(rulesOf({ on })).toEqual([])
    expect(keyed("'A:' + payload.id", { on: 'shop.order.paid' })).toEqual([])
    // The subject says more than the method.
    expect(keyed("'A:' + payload.id", { on: 'shop.order.created', do: put })).toEqual([])
  })
})

describe('too narrow', () => {
  test.each([
    "'A:' + payload.id + payload.updatedAt",
    "'A:' + payload.id + payload.timestamp",
    "'A:' + payload.id + payload.revision",
    "'A:' + payload.id + hash(payload)",
    "'A:' + payload.id + event.payloadHash",
  ])('[KY4] %s of an object that is created once', (key) => {
    expect(keyed(key, { on: 'shop.order.created' })).toEqual(['KY4 warning'])
    expect(keyed(key, { more: 'uniqueness: record' })).toEqual(['KY4 warning'])
    expect(keyed(key, { on: '[shop.order.created, shop.order.updated]' })).toEqual([])
    expect(keyed(key)).toEqual([])
  })

  test.each([
    "'A:' + payload.id + payload.action",
    "'A:' + payload.id + event.subject",
    "'A:' + payload.id + payload.event_type",
    "extRef('a', 'b', 'c', payload.id, 'update')",
  ])('[KY4] a record has no operation: %s', (key) => {
    expect(keyed(key, { more: 'uniqueness: record' })).toEqual(['KY4 warning'])
    expect(keyed(key)).toEqual([])
  })

  test('[KY4] the object’s name is not a change of it', () => {
    const more = 'uniqueness: record'
    expect(keyed("'A:' + payload.id + ':' + payload.status", { on: 'shop.order.created' })).toEqual([])
    expect(keyed("extRef('a', 'b', 'c', payload.id)", { more })).toEqual([])
    expect(keyed("'A:' + hash(payload.email)", { more })).toEqual([])
  })
})

describe('elements', () => {
  const each = 'each: { of: payload.entries, as: entry }'
  test('[KY6] a key without the element is refused', () => {
    expect(keyed("'A:' + payload.id", { more: each })).toEqual(['KY6 error'])
    expect(keyed("'A:' + payload.id", { more: 'each: { of: payload.entries }' })).toEqual(['KY6 error'])
    expect(keyed("'A:' + payload.entryId", { more: each })).toEqual(['KY6 error'])
  })
  test('[KY6] with it, or by default, it is accepted', () => {
    expect(keyed("'A:' + payload.id + entry.id", { more: each })).toEqual([])
    expect(keyed("'A:' + hash(entry)", { more: each })).toEqual([])
    expect(keyed("'A:' + element.id", { more: 'each: { of: payload.entries }' })).toEqual([])
    expect(rulesOf({ more: each })).toEqual([])
  })
})

describe('keys that collide', () => {
  const two = (one: Parts, other: Parts) =>
    check(`${route({ name: 'one', ...one })}---\n${route({ name: 'two', ...other })}`)

  test.each([
    ["'A:' + payload.id", "'A:' + payload.number"],
    ["'A:' + payload.id", "'A:B:' + payload.number"],
    ["'A:B:' + payload.id", "'A:' + payload.number"],
    ["'A:' + payload.id", "payload.x ? 'B:' + payload.id : 'A:x' + payload.id"],
    ["extRef('a', 'b', 'c', payload.id)", "'a:b:' + payload.id"],
    ["'A:' + payload.id", "'A:' + payload.id"],
  ])('[KY5] %s and %s', (one, other) => {
    const findings = two({ key: one }, { key: other })
    expect(findings).toMatchObject([{ rule: 'KY5', severity: 'warning', line: 10 }])
    expect(findings[0]?.message).toContain('the keys of `one` begin with')
  })

  test.each([
    ["'A:' + payload.id", "'B:' + payload.id"],
    ["'BOOK:' + payload.id", "'BOOKING:' + payload.id"],
    ["payload.x ? 'A:' + payload.id : 'C:' + payload.id", "'B:' + payload.id"],
  ])('[KY5] not %s and %s', (one, other) => {
    expect(two({ key: one }, { key: other })).toEqual([])
  })

  test('[KY5] a route’s default key counts too', () => {
    expect(two({}, { key: "'one:' + payload.id" })).toMatchObject([{ rule: 'KY5', line: 9 }])
    expect(two({ key: "'two:x:' + payload.id" }, {})).toMatchObject([{ rule: 'KY5', line: 4 }])
    expect(two({}, { key: "'ones:' + payload.id" })).toEqual([])
  })

  test('[KY5] the engine’s own keys are refused', () => {
    expect(keyed("'millrace:lock:' + payload.id")).toEqual(['KY5 error'])
    expect(keyed("'millraces:' + payload.id")).toEqual([])
  })

  test('[KY5] a key that starts with a value is reported if it is not the only one', () => {
    expect(rulesOf({ key: 'payload.id' })).toEqual([])
    const findings = two({ key: 'payload.id' }, { key: "'B:' + payload.id" })
    expect(findings).toMatchObject([{ rule: 'KY5', line: 4 }])
    expect(findings[0]?.message).toContain("'ONE:' + …")
  })

  test('[KY5] deployed routes beside the files count, and the older version of the same route does not', () => {
    const deployedDocuments = compileDefinitions(
      [{ path: 'b.yaml', text: `${route({ name: 'old', key: "'A:' + payload.id" })}` }],
      { functions },
    ).documents
    expect(check(route({ key: "'A:' + payload.x" }), deployedDocuments)).toMatchObject([{ rule: 'KY5' }])
    expect(check(route({ name: 'old', key: "'A:' + payload.id" }), deployedDocuments)).toEqual([])
  })
})

describe('a formula that changed', () => {
  const now = (parts: Parts) =>
    compileDefinitions([{ path: 'a.yaml', text: route(parts) }], { functions }).documents

  test('[KY7] is refused, with both shown and what to write', () => {
    const findings = check(route({ key: "'A:' + payload.number" }), now({ key: "'A:' + payload.id" }))
    expect(findings).toMatchObject([{ rule: 'KY7', severity: 'error', line: 4 }])
    expect(findings[0]?.message).toContain("was `'A:' + payload.id` and would be `'A:' + payload.number`")
    expect(findings[0]?.suggestion).toContain('keyMigration: { from: "\'A:\' + payload.id", note:')
  })

  test('[KY7] is accepted with the deployed formula and a note', () => {
    const deployedDocuments = now({ key: "'A:' + payload.id" })
    const migration = (from: string) =>
      `keyMigration: { from: ${JSON.stringify(from)}, note: numbers are ids }`
    const key = "'A:' + payload.number"
    expect(check(route({ key, more: migration("'A:'+payload.id") }), deployedDocuments)).toEqual([])
    const wrong = check(route({ key, more: migration("'B:' + payload.id") }), deployedDocuments)
    expect(wrong).toMatchObject([{ rule: 'KY7', line: 5 }])
    expect(wrong[0]?.message).toContain("`'B:' + payload.id`, which is not in force")
    expect(
      check(route({ key, more: 'keyMigration: { from: x, note: " " }' }), deployedDocuments),
    ).toMatchObject([{ rule: 'F14' }])
  })

  test('[KY7] counts from and to no key, and with elements', () => {
    const key = "'A:' + payload.id"
    expect(check(route({ key }), now({}))[0]?.message).toContain("was `'r:' + event.id`")
    expect(check(route({}), now({ key }))[0]?.message).toContain("would be `'r:' + event.id`")
    const each = 'each: { of: payload.entries }'
    expect(check(route({ more: each }), now({}))[0]?.message).toContain("':' + index`")
    const from = `keyMigration: { from: "'r:' + event.id", note: never used yet }`
    expect(check(route({ key, more: from }), now({}))).toEqual([])
  })

  test('[KY7] another spelling is the same formula, and a new route has none', () => {
    expect(check(route({ key: '"A:"+payload.id' }), now({ key: "'A:' + payload.id" }))).toEqual([])
    expect(
      check(route({ name: 'fresh', key: "'B:' + payload.id" }), now({ key: "'A:' + payload.id" })),
    ).toEqual([])
  })

  test('[KY7] can be checked later, by a caller that knows what is deployed then', () => {
    const text = route({ key: "'A:' + payload.number" })
    const compiled = compileDefinitions([{ path: 'a.yaml', text }], { functions })
    expect(compiled.findings).toEqual([])
    const changed = compiled.changedKeys(now({ key: "'A:' + payload.id" }))
    expect(changed).toMatchObject([{ rule: 'KY7', file: 'a.yaml', line: 4 }])
    expect(formatFindings(changed, [{ path: 'a.yaml', text }])).toContain('write: keyMigration:')
    expect(compiled.changedKeys(now({ key: "'A:' + payload.number" }))).toEqual([])
  })
})

describe('how long the ledger remembers', () => {
  const source = (retention: string) =>
    `kind: Source\nname: shop\nverify: { scheme: none }\nsubject: "shop.order.{{ payload.kind }}"\n${retention}---\n`
  const keep = (text: string) => `ledger: { keep: ${text} }`

  test('[KY9] the sum is shown', () => {
    const text = `${source('retention: 60d\n')}${route({ more: `${keep('30d')}\nretry: { attempts: 2, delays: [10m] }` })}`
    const findings = check(text)
    expect(findings).toMatchObject([{ rule: 'KY9', severity: 'error', suggestion: '70d' }])
    expect(findings[0]?.message).toContain(
      '60d replays + 7d look-back + 12m retries + 1d maxWait + 1d overlap = 69d 12m, and `keep` is 30d',
    )
  })

  test('[KY9] 30 days are assumed if a source says nothing, and if there is none', () => {
    const enough = { more: `${keep('39d')}\nretry: { attempts: 1 }` }
    const less = { more: `${keep('38d')}\nretry: { attempts: 1 }` }
    for (const before of [source(''), '']) {
      expect(check(`${before}${route(enough)}`)).toEqual([])
      expect(check(`${before}${route(less)}`)).toMatchObject([{ rule: 'KY9' }])
    }
  })

  test('[KY9] only sources that can publish to it count, through other routes too', () => {
    const long = source('retention: 365d\n')
    const once = 'retry: { attempts: 1 }\n'
    const other = route({ on: 'crm.contact.added', more: `${once}${keep('60d')}` })
    expect(check(`${long}${other}`).map(({ rule }) => rule)).toEqual(['CA16'])
    const chain = route({ name: 'chain', do: '{ emit: crm.contact.added }' })
    expect(check(`${long}${other}---\n${chain}`)).toMatchObject([{ rule: 'KY9' }])
  })
})

describe('the reference of an upsert', () => {
  const upsert = (extRef: string) =>
    `{ upsert: { baseUrl: "https://x.example", extRef: ${JSON.stringify(extRef)}, find: { path: "/a?ref={{ extRef }}", found: "true" }, create: { path: /a, body: { ref: "{{ extRef }}" } } } }`
  test.each([
    ['{{ payload.id }}', []],
    ["{{ extRef('shop', 'orders', 'order', payload.id) }}", []],
    ['{{ key }}', []],
    ['{{ event.traceId }}', ['KY1 error']],
    ['shop-{{ event.id }}', ['KY2 warning']],
    ['shop', ['KY8 warning']],
    ['{{ payload.id }}-{{ payload.updatedAt }}', ['KY4 warning']],
  ])('[KY1] [KY2] [KY4] [KY8] %s', (extRef, rules) => {
    expect(rulesOf({ do: upsert(extRef) })).toEqual(rules)
  })
})
