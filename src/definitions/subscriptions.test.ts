import { describe, expect, test } from 'vitest'
import { makeOutboundPolicy } from '../core/access/network/index.ts'
import { hashDocument, type SubscriptionDocument } from '../core/definitions/documents/index.ts'
import { type CompileDeps, patchFields } from './index.ts'
import { checkSubscription, compileDefinitions } from './language.ts'

const FUNCTIONS = { functions: () => null }

function compile(text: string, deps: Partial<CompileDeps> = {}) {
  return compileDefinitions([{ path: 'a.yaml', text }], { ...FUNCTIONS, ...deps })
}

/** A subscription with these lines besides the required ones. */
function subscription(lines: string, needed = 'url: https://crm.example.com/hooks\non: a.b'): string {
  return `kind: Subscription\nname: crm\n${needed}\n${lines}`
}

function resolved(text: string, deps: Partial<CompileDeps> = {}): SubscriptionDocument {
  const { documents, findings } = compile(text, deps)
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  return documents.find(({ kind }) => kind === 'Subscription') as SubscriptionDocument
}

const MIN: SubscriptionDocument = {
  kind: 'Subscription',
  name: 'crm',
  description: null,
  url: 'https://crm.example.com/hooks',
  on: ['a.b'],
  where: null,
  status: 'active',
  secret: null,
  signing: 'standard',
  headers: {},
  retry: {
    profile: 'DELIVERY',
    attempts: 8,
    delaysMs: [5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 18_000_000],
  },
  timeoutMs: 15_000,
  maxWaitMs: 86_400_000,
  disableAfterMs: 432_000_000,
  deadLetter: { severity: 'medium', runbook: null },
  metadata: {},
}

const FULL = `
kind: Profile
name: patient
retry: { attempts: 2, delays: [1m] }
---
kind: Profile
name: gentle
rate: { perMinute: 30 }
---
kind: Subscription
name: crm
description: for the customers
url: "{{ vars.self }}/hooks?a=1"
on: ["github.events.push", "integration.run.>"]
where: payload.total > 100
status: paused
transform: { id: "{{ event.id }}", what: "{{ payload }}", of: "{{ vars.self }}" }
headers: { X-Team: crm, x-id: "{{ payload.id }}" }
secret: { ref: crm-signing }
signing: ed25519
retry: patient
timeout: 30s
maxWait: 2h
disableAfter: never
rateLimit: gentle
concurrency: { limit: 20 }
order: { by: event.objectId, onBlocked: skip }
deadLetter: { severity: high, runbook: docs/crm.md }
sensitive: send
metadata: { owner: crm-team }
`

test('[SL1] the required fields give the defaults, and everything that can be written has its normal form', () => {
  expect(resolved(subscription(''))).toEqual(MIN)
  expect(resolved(FULL)).toEqual({
    ...MIN,
    description: 'for the customers',
    url: '{{ vars.self }}/hooks?a=1',
    on: ['github.events.push', 'integration.run.>'],
    where: 'payload.total > 100',
    status: 'paused',
    transform: { id: '{{ event.id }}', what: '{{ payload }}', of: '{{ vars.self }}' },
    headers: { 'x-team': 'crm', 'x-id': '{{ payload.id }}' },
    secret: { ref: 'crm-signing' },
    signing: 'ed25519',
    retry: { profile: 'patient', attempts: 2, delaysMs: [60_000] },
    timeoutMs: 30_000,
    maxWaitMs: 7_200_000,
    disableAfterMs: null,
    rateLimit: { profile: 'gentle', perMinute: 30, burst: 5 },
    concurrency: { limit: 20 },
    order: { by: 'event.objectId', onBlocked: 'skip' },
    deadLetter: { severity: 'high', runbook: 'docs/crm.md' },
    sensitive: 'send',
    metadata: { owner: 'crm-team' },
  })
})

/** `¦` marks the finding; warnings are marked by `warning`. */
type Row = readonly [rule: string, text: string, message: string, suggestion?: string]

const address = (url: string) => `kind: Subscription\nname: crm\non: a.b\nurl: ${url}`

const ERRORS: readonly Row[] = [
  ['[SL1] F14', '¦kind: Subscription\nname: crm\nurl: https://a.example', '`on` is missing'],
  ['[SL1] F14', '¦kind: Subscription\nname: crm\non: a.b', '`url` is missing'],
  ['[SL1] F12', subscription('¦retrys: DELIVERY'), 'did you mean `retry`?', 'retry'],
  ['[SL1] F12', subscription('order: { by: event.objectId, ¦stale: skip }'), 'no field `stale`'],
  ['[SL1] F12', subscription('concurrency: { limit: 5, ¦by: payload.id }'), 'no field `by`'],
  ['[SL1] F16', subscription('signing: ¦githb'), 'one of `standard`', 'github'],
  ['[SL1] F19', subscription('timeout: ¦5m'), 'between `1s` and `1m`', '1m'],
  ['[SL1] F18', subscription('disableAfter: ¦always'), 'or `never`'],
  ['[SL1] F18', subscription('disableAfter: ¦5'), 'needs a unit', '5s'],
  ['[SL1] F25', subscription('retry: ¦DELIVRY'), 'no retry profile', 'DELIVERY'],
  ['[SL1] F25', subscription('rateLimit: ¦STANDARD'), 'is a retry profile'],
  ['[SL1] F26', subscription('retry: { attempts: 3, delays: ¦[1m] }'), '3 attempts have 2 delays'],
  ['[SL1] F24', subscription('', 'url: https://a.example\non: [a.b, "a.¦>.b"]'), '`>`'],
  ['[SL1] F15', subscription('transform: ¦null'), 'leave `transform` out'],
  ['[SL2] F20', subscription('where: ¦paylod.total > 1'), '`paylod` is not in scope', 'payload.total > 1'],
  ['[SL2] F21', subscription('transform: { a: "{{ ¦data.x }}" }'), '`data` is not in scope'],
  ['[SL2] F20', subscription('order: { by: ¦key }'), '`key` is not in scope here'],
  ['[SL2] F22', subscription('transform: { a: ¦payload.id }'), 'looks like a path', '"{{ payload.id }}"'],
  ['[SL2] F21', address('"https://{{ ¦payload.host }}/x"'), '`payload` is not in scope'],
  ['[SL3] F30', address('¦ftp://crm.example.com/x'), 'begins with `https://`'],
  ['[SL3] F30', address('¦/hooks'), 'begins with `https://`'],
  ['[SL3] F30', address('¦https://me:secret@crm.example.com/x'), 'credentials'],
  ['[SL3] F30', address('¦https://@crm.example.com/x'), 'credentials'],
  ['[SL3] F30', address('"https://crm.example.com/x¦#a"'), 'behind #', '"https://crm.example.com/x"'],
  ['[SL3] F30', address('¦"https://crm.example.com\\\\@a.example"'), 'backslash'],
  ['[SL3] F30', address('¦"https://crm.example.com/\\r\\nx: y"'), 'control characters'],
  ['[SL3] F30', address('¦https://crm.example.com:25/'), 'port 25'],
  ['[SL4] F31', subscription('headers: { ¦Webhook-Id: x }'), 'is set by the engine'],
  ['[SL4] F31', subscription('headers: { ¦content-type: x }'), 'is set by the engine'],
  ['[SL4] F31', subscription('headers: { "¦a b": x }').replace('"¦', '¦"'), 'letters, digits'],
  ['[SL4] F31', subscription('headers: { x-a: "1", ¦X-A: "2" }'), 'twice'],
  ['[SL4] F31', subscription('headers: { x-a: "a¦\\r\\nb: c" }'), 'one line'],
  [
    '[SL4] F31',
    subscription('headers: { x-a: "Vertrieb ¦– Ost {{ vars.a }}" }'),
    '`–` cannot stand in a header',
  ],
  ['[SL4] F31', subscription('headers: { x-a: "¦😀" }'), '`😀` cannot stand in a header'],
  ['[SL5] F15', subscription('secret: ¦[{ ref: a }]'), 'a map, not a list'],
  ['[SL5] F28', subscription('secret: ¦{}'), 'a secret is `{ env: NAME }`'],
  ['[SL5] F16', subscription('secret: { ref: ¦"whsec_a/b+c" }'), 'the value itself does not belong here'],
  ['[SL13] F11', `${subscription('')}\n---\n${subscription('').replace('crm', '¦crm')}`, 'already'],
]

const WARNINGS: readonly Row[] = [
  ['[SL6] SL6', address('¦http://10.0.0.5/x'), 'private network'],
  ['[SL6] SL6', address('¦https://0x7f.1/'), 'this machine itself'],
  ['[SL6] SL6', address('¦https://[::ffff:169.254.169.254]/latest'), 'metadata'],
  ['[SL6] SL6', address('¦http://localhost:4000/'), 'MILLRACE_OUTBOUND_ALLOW says loopback'],
  [
    '[SL8] SL8',
    subscription('¦transform: { text: something happened, at: "{{ vars.self }}" }'),
    'the same for',
  ],
  ['[SL8] SL8', subscription('¦transform: hello'), 'the same for'],
  ['[SL9] SL9', subscription('', 'url: https://a.example\non: [a.b, ¦">"]'), 'integration.failed'],
  ['[SL9] SL9', subscription('', 'url: https://a.example\non: ¦">"'), 'integration.failed'],
  ['[SL11] SL11', subscription('disableAfter: ¦1h'), 'disables itself'],
  ['[SL11] SL11', subscription('retry: ¦{ attempts: 2, delays: [6d] }'), 'disables itself'],
  ['[SL12] SL12', subscription('rateLimit: { perMinute: 60, burst: ¦100 }'), 'up to 160'],
  ['[SL1] DF3', subscription('order: { by: ¦event.id }'), 'no two belong together'],
  [
    '[SL14] CA16',
    `kind: Source\nname: a\nverify: { scheme: none }\nsubject: a.created\n---\n${subscription('', 'url: https://a.example\non: [a.created, ¦a.craeted]')}`,
    'did you mean `a.created`?',
    'a.created',
  ],
]

function expectFinding(severity: string, [name, marked, message, suggestion]: Row, deps = {}) {
  const rule = name.replace(/^\[\w+\] /, '')
  const before = marked.slice(0, marked.indexOf('¦')).split('\n')
  const { findings } = compile(marked.replace('¦', ''), deps)
  expect(findings).toMatchObject([
    {
      rule,
      severity,
      message: expect.stringContaining(message),
      line: before.length,
      column: (before.at(-1) as string).length + 1,
      ...(suggestion === undefined ? {} : { suggestion }),
    },
  ])
}

describe('what is found', () => {
  test.each(ERRORS)('%s: %j', (...row) => expectFinding('error', row as unknown as Row))
  test.each(WARNINGS)('%s (warning): %j', (...row) => expectFinding('warning', row as unknown as Row))
})

describe('[SL6] on a node the operator’s policy judges the address', () => {
  const url = (text: string, allowed: readonly string[]) =>
    compile(address(text), { outbound: makeOutboundPolicy(allowed) }).findings

  test('a forbidden address is an error', () => {
    expect(url('http://10.0.0.5/x', [])).toMatchObject([{ rule: 'SL6', severity: 'error', line: 4 }])
    expect(url('http://2130706433/x', [])).toMatchObject([{ rule: 'SL6', severity: 'error' }])
  })

  test('an allowed one is not, nor a name, which is resolved when it is called', () => {
    expect(url('http://10.0.0.5/x', ['10.0.0.0/8'])).toEqual([])
    expect(url('http://localhost:4000/x', ['loopback'])).toEqual([])
    expect(url('https://crm.internal/x', [])).toEqual([])
    expect(url('"{{ vars.self }}/x"', [])).toEqual([])
  })
})

test('[SL7] http is warned of in production only', () => {
  const text = address('http://crm.example.com/x')
  expect(compile(text).findings).toEqual([])
  expect(compile(text, { isProduction: true }).findings).toMatchObject([
    { rule: 'SL7', severity: 'warning', suggestion: '"https://crm.example.com/x"' },
  ])
  expect(compile(address('https://crm.example.com/x'), { isProduction: true }).findings).toEqual([])
})

test('[SL5] a secret that is not set yet is reported, and `{ env }` is for one tenant only', () => {
  const text = subscription('secret: { ref: crm-signing }')
  expect(compile(text, { secrets: () => false }).findings).toMatchObject([
    {
      rule: 'VA9',
      severity: 'warning',
      message: expect.stringContaining('millrace secrets set crm-signing'),
    },
  ])
  expect(compile(text, { secrets: () => true }).findings).toEqual([])
  expect(compile(subscription('secret: { env: A }'), { hasEnvironment: false }).findings).toMatchObject([
    { rule: 'VA10' },
  ])
})

test('[SL9] with a condition `>` is intended, and `webhook.>` is fine', () => {
  const on = (pattern: string, more = '') =>
    compile(subscription(more, `url: https://a.example\non: "${pattern}"`)).findings
  expect(on('>', 'where: payload.total > 1')).toEqual([])
  expect(on('webhook.>')).toEqual([])
})

describe('[SL10] what a source hides', () => {
  const SOURCE =
    'kind: Source\nname: shop\nverify: { scheme: none }\nsubject: shop.sold\nsensitive: [payload.user.email]\n---\n'
  const told = (lines: string, on = 'shop.sold') =>
    compile(`${SOURCE}${subscription(lines, `url: https://a.example\non: ${on}`)}`).findings

  test.each([
    'where: payload.user.email != null',
    'where: { all: [{ path: payload.user.email, exists: true }] }',
    'transform: { to: "{{ payload.user.email }}", id: "{{ event.id }}" }',
    'headers: { x-to: "{{ payload.user.email }}" }',
  ])('%s', (lines) => {
    expect(told(lines)).toMatchObject([{ rule: 'SL10', severity: 'warning', suggestion: 'sensitive: send' }])
    expect(told(`${lines}\nsensitive: send`)).toEqual([])
  })

  test('is not reported as a part of a whole, or of other events', () => {
    expect(told('transform: { all: "{{ payload }}" }')).toEqual([])
    expect(
      told('where: payload.user.email != null', 'millrace.>').filter(({ rule }) => rule === 'SL10'),
    ).toEqual([])
  })

  test('must not order deliveries, also if its source is deployed beside the file', () => {
    const text = subscription('order: { by: payload.user.email }', 'url: https://a.example\non: shop.sold')
    const deployedDocuments = compile(SOURCE.replace('---\n', '')).documents
    expect(compile(text, { deployedDocuments }).findings).toMatchObject([
      { rule: 'SE4', severity: 'warning' },
    ])
  })
})

test('[SL13] a name that the API has is refused, at once or when it is known later', () => {
  const isHeld = (name: string) => name === 'crm'
  const error = { rule: 'SL13', severity: 'error', line: 2, column: 7 }
  expect(compile(subscription(''), { isHeld }).findings).toMatchObject([error])
  const compiled = compile(subscription(''))
  expect(compiled.findings).toEqual([])
  expect(compiled.heldNames(isHeld)).toMatchObject([error])
  expect(compiled.heldNames(() => false)).toEqual([])
})

describe('through the API', () => {
  const GIVEN = { name: 'crm', url: 'https://crm.example.com/hooks', on: ['a.b'] }

  test('[SL15] the same fields give the same document and hash', () => {
    const checked = checkSubscription({ ...GIVEN, order: { by: 'event.objectId' }, description: null }, {})
    expect(checked).toMatchObject({
      ok: true,
      warnings: [],
      written: { ...GIVEN, order: { by: 'event.objectId' } },
    })
    const document = checked.ok ? checked.document : null
    const file = resolved(subscription('order: { by: event.objectId }'))
    expect(hashDocument(document as SubscriptionDocument)).toBe(hashDocument(file))
  })

  test('[SL15] findings name the field, errors first', () => {
    const given = {
      ...GIVEN,
      on: ['>', 'a..b'],
      order: { by: 'paylod.id' },
      headers: { 'webhook-id': '1' },
      clr: 1,
    }
    expect(checkSubscription(given, {})).toEqual({
      ok: false,
      findings: [
        { severity: 'error', rule: 'F12', field: 'clr', message: expect.any(String) },
        {
          severity: 'error',
          rule: 'F20',
          field: 'order.by',
          message: expect.any(String),
          suggestion: 'payload.id',
        },
        { severity: 'error', rule: 'F24', field: 'on[1]', message: expect.any(String) },
        { severity: 'error', rule: 'F31', field: 'headers.webhook-id', message: expect.any(String) },
        { severity: 'warning', rule: 'SL9', field: 'on[0]', message: expect.any(String) },
      ],
    })
  })

  test('[SL15] a missing or too deep document, another kind or a value that is not a map is refused', () => {
    const refused = (given: unknown) => {
      const checked = checkSubscription(given, {})
      return checked.ok ? [] : checked.findings.map(({ rule, field }) => `${rule} ${field}`)
    }
    expect(refused({})).toEqual(['F14 name', 'F14 url', 'F14 on'])
    expect(refused({ ...GIVEN, kind: 'Route' })).toEqual(['F8 kind'])
    expect(refused({ ...GIVEN, kind: 'Subscription' })).toEqual([])
    for (const none of [null, [], 'x', 5]) expect(refused(none)).toEqual(['F7 '])
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level += 1) deep = [deep]
    expect(refused({ ...GIVEN, transform: deep })).toEqual(['F6 '])
  })

  test('[SL15] profiles, secrets and the node’s policy count', () => {
    const profiles = new Map([
      [
        'slow',
        {
          kind: 'Profile',
          name: 'slow',
          description: null,
          rate: { profile: 'slow', perMinute: 6, burst: 1 },
        },
      ],
    ] as const)
    const given = { ...GIVEN, rateLimit: 'slow', secret: { ref: 'x' } }
    expect(checkSubscription(given, { profiles, secrets: () => false })).toMatchObject({
      ok: true,
      document: { rateLimit: { perMinute: 6 } },
      warnings: [{ rule: 'VA9', field: 'secret.ref' }],
    })
    expect(checkSubscription({ ...GIVEN, url: 'http://127.0.0.1/' }, {})).toMatchObject({
      ok: true,
      warnings: [],
    })
    const outbound = makeOutboundPolicy([])
    expect(checkSubscription({ ...GIVEN, url: 'http://127.0.0.1/' }, { outbound })).toMatchObject({
      ok: false,
      findings: [{ rule: 'SL6', field: 'url', severity: 'error' }],
    })
  })

  test('[SL16] a change replaces whole fields, and null removes one', () => {
    const written = { ...GIVEN, headers: { a: '1', b: '2' }, description: 'old', status: 'paused' }
    const changed = patchFields(written, {
      headers: { c: '3' },
      description: null,
      timeout: '5s',
      kind: 'x',
    })
    expect(changed).toEqual({ ...GIVEN, headers: { c: '3' }, status: 'paused', timeout: '5s' })
    expect(checkSubscription(patchFields(written, { url: null }), {})).toMatchObject({
      ok: false,
      findings: [{ rule: 'F14', field: 'url' }],
    })
  })
})

describe('[SL19] the spelling of older documents', () => {
  const OLD = `kind: WebhookSubscription
subscriptionId: crm
endpointUrl: https://crm.example.com/hooks
eventTypes: [a.b]
signingSecretRef: crm-signing
status: Active
`

  test('is read as the same subscription, and says what it was read as', () => {
    expect(resolved(OLD)).toEqual({ ...MIN, secret: { ref: 'crm-signing' } })
    expect(
      compile(OLD).findings.map(({ severity, line, message }) => `${severity} ${line} ${message}`),
    ).toEqual([
      'info 1 read as `Subscription`',
      'info 2 read as `name`',
      'info 3 read as `url`',
      'info 4 read as `on`',
      'info 5 read as `secret`',
    ])
  })

  test('keeps the positions of findings', () => {
    const errors = (text: string) =>
      compile(text)
        .findings.filter(({ severity }) => severity === 'error')
        .map(({ rule, line, column }) => `${rule} ${line}:${column}`)
    expect(errors(OLD.replace('https:', 'ftp:'))).toEqual(['F30 3:14'])
    expect(errors(OLD.replace('[a.b]', '[a.b, a..b]'))).toEqual(['F24 4:21'])
    expect(errors(OLD.replace('crm-signing', '"no name!"'))).toEqual(['F16 5:19'])
    expect(errors(OLD.replace('Active', 'Retired'))).toEqual(['F16 6:9'])
    // In both spellings: one of them is an unknown field.
    expect(errors(`${OLD}url: https://a.example`)).toEqual(['F12 3:1'])
  })

  test('is accepted for single fields too, also through the API, where a change uses the usual ones', () => {
    const text = subscription('', 'endpoint: https://crm.example.com/hooks\neventFilter: a.b')
    expect(resolved(text)).toEqual(MIN)
    const checked = checkSubscription(
      { name: 'crm', endpointUrl: 'https://old.example', eventTypes: ['a.b'] },
      {},
    )
    const written = checked.ok ? checked.written : {}
    expect(written).toEqual({ name: 'crm', url: 'https://old.example', on: ['a.b'] })
    const changed = checkSubscription(patchFields(written, { url: MIN.url }), {})
    expect(changed).toMatchObject({ ok: true, document: MIN })
  })
})
