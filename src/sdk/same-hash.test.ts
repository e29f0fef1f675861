// A document built in TypeScript and one written in YAML are the same, field by field.

import { expect, test } from 'vitest'
import { hashDocument } from '../core/definitions/documents/index.ts'
import { KINDS } from '../definitions/kinds/index.ts'
import { compileDefinitions } from '../definitions/language.ts'
import {
  defineConnection,
  defineCredential,
  defineProfile,
  defineProvider,
  defineRoute,
  defineSubscription,
  expr,
} from './index.ts'

const deps = { functions: () => 'sha256:code' }

/** As code is read: plain data, no text of a file. */
function compileBuilt(...built: readonly object[]) {
  const files = built.map((one, index) => ({ path: `${index}.json`, text: JSON.stringify(one) }))
  return compileDefinitions(files, deps)
}

const YAML = `
kind: Profile
name: gentle
rate: { perMinute: 30, burst: 5 }
---
kind: Profile
name: nightly
drain: { every: 1d, events: 500, cycles: 2 }
---
kind: Route
name: actual_hours_export
on: [workfront.events.hour.updated]
each: { of: payload.entries, as: entry, max: 100 }
key: "'SAP:ACTUAL_HOURS:' + entry.id + ':' + entry.revision"
uniqueness: operation
keyMigration: { from: payload.id, note: it was never in use }
ledger: { keep: 120d }
drain: nightly
rateLimit: gentle
order: { by: entry.id, version: entry.revision, stale: skip, onBlocked: skip }
debounce: { by: entry.id, window: 60s, maxWait: 10m, keep: last }
batch: { size: 50, maxWait: 5s, results: result.body.items, item: { key: item.ref, ok: item.status == 'OK' } }
circuit: { failures: 3, ratio: 0.25, of: 40, openFor: 2m }
priority: low
fanOut: first
do:
  http:
    method: PUT
    url: https://sap.example.com/hours
    body: { items: "{{ batch.map(b, {'ref': b.key, 'hours': b.entry.hours}) }}" }
---
kind: Route
name: invoice_upsert
on: billing.events.invoice.created
concurrency: { limit: 10, by: payload.account }
circuit: off
do:
  upsert:
    baseUrl: https://books.example.com
    headers: { x-team: billing, x-key: "{{ secret('books') }}" }
    auth: { basic: { user: billing, password: { env: BOOKS_PASSWORD } } }
    extRef: "{{ payload.id }}"
    find: { path: "/invoices?ref={{ extRef }}", found: result.body.items.size() > 0, id: "result.body.items[0].id", after: 1m }
    create: { path: /invoices, body: { ref: "{{ extRef }}" }, keyTtl: 24h }
    update: { method: PATCH, path: "/invoices/{{ found.id }}", body: { total: "{{ payload.total }}" }, idempotent: true }
    lock: single
  classify: { 409: done }
`

const gentle = defineProfile({ name: 'gentle', rate: { perMinute: 30, burst: 5 } })
const nightly = defineProfile({ name: 'nightly', drain: { every: '1d', events: 500, cycles: 2 } })

const hours = defineRoute({
  name: 'actual_hours_export',
  on: ['workfront.events.hour.updated'],
  each: { of: 'payload.entries', as: 'entry', max: 100 },
  key: expr`'SAP:ACTUAL_HOURS:' + entry.id + ':' + entry.revision`,
  uniqueness: 'operation',
  keyMigration: { from: 'payload.id', note: 'it was never in use' },
  ledger: { keep: '120d' },
  drain: 'nightly',
  rateLimit: 'gentle',
  order: { by: 'entry.id', version: 'entry.revision', stale: 'skip', onBlocked: 'skip' },
  debounce: { by: 'entry.id', window: '60s', maxWait: '10m', keep: 'last' },
  batch: {
    size: 50,
    maxWait: '5s',
    results: 'result.body.items',
    item: { key: 'item.ref', ok: "item.status == 'OK'" },
  },
  circuit: { failures: 3, ratio: 0.25, of: 40, openFor: '2m' },
  priority: 'low',
  fanOut: 'first',
  do: {
    http: {
      method: 'PUT',
      url: 'https://sap.example.com/hours',
      body: { items: "{{ batch.map(b, {'ref': b.key, 'hours': b.entry.hours}) }}" },
    },
  },
})

const invoices = defineRoute({
  name: 'invoice_upsert',
  on: 'billing.events.invoice.created',
  concurrency: { limit: 10, by: 'payload.account' },
  circuit: 'off',
  do: {
    upsert: {
      baseUrl: 'https://books.example.com',
      headers: { 'x-team': 'billing', 'x-key': "{{ secret('books') }}" },
      auth: { basic: { user: 'billing', password: { env: 'BOOKS_PASSWORD' } } },
      extRef: '{{ payload.id }}',
      find: {
        path: '/invoices?ref={{ extRef }}',
        found: 'result.body.items.size() > 0',
        id: 'result.body.items[0].id',
        after: '1m',
      },
      create: { path: '/invoices', body: { ref: '{{ extRef }}' }, keyTtl: '24h' },
      update: {
        method: 'PATCH',
        path: '/invoices/{{ found.id }}',
        body: { total: '{{ payload.total }}' },
        idempotent: true,
      },
      lock: 'single',
    },
    classify: { 409: 'done' },
  },
})

test('[DF15] YAML and the builders give the same documents and hashes', () => {
  const written = compileDefinitions([{ path: 'a.yaml', text: YAML }], deps)
  const built = compileBuilt(gentle, nightly, hours, invoices)
  expect([...written.findings, ...built.findings].filter(({ severity }) => severity === 'error')).toEqual([])
  expect(built.documents).toEqual(written.documents)
  expect(built.documents.map(hashDocument)).toEqual(written.documents.map(hashDocument))
  expect(built.documents).toHaveLength(4)
})

const SUBSCRIPTION = `
kind: Subscription
name: crm
description: for the customers
url: "{{ vars.self }}/hooks"
on: [github.events.push, "integration.run.>"]
where: { path: payload.total, greaterThan: 100 }
status: paused
transform: { id: "{{ event.id }}", what: "{{ payload }}", tags: [a, 1, true] }
sensitive: send
headers: { X-Team: crm }
auth: { header: { name: X-Api-Key, value: { file: crm-key } } }
secret: { ref: crm-signing }
signing: ed25519
retry: { attempts: 3, delays: [1m, 5m] }
timeout: 30s
maxWait: 2h
disableAfter: never
rateLimit: { perMinute: 600, burst: 20 }
concurrency: { limit: 20 }
order: { by: event.objectId, onBlocked: skip }
deadLetter: { severity: high, runbook: docs/crm.md }
metadata: { owner: crm-team }
`

const crm = defineSubscription({
  name: 'crm',
  description: 'for the customers',
  url: '{{ vars.self }}/hooks',
  on: ['github.events.push', 'integration.run.>'],
  where: { path: 'payload.total', greaterThan: 100 },
  status: 'paused',
  transform: { id: '{{ event.id }}', what: '{{ payload }}', tags: ['a', 1, true] },
  sensitive: 'send',
  headers: { 'X-Team': 'crm' },
  auth: { header: { name: 'X-Api-Key', value: { file: 'crm-key' } } },
  secret: { ref: 'crm-signing' },
  signing: 'ed25519',
  retry: { attempts: 3, delays: ['1m', '5m'] },
  timeout: '30s',
  maxWait: '2h',
  disableAfter: 'never',
  rateLimit: { perMinute: 600, burst: 20 },
  concurrency: { limit: 20 },
  order: { by: expr`event.objectId`, onBlocked: 'skip' },
  deadLetter: { severity: 'high', runbook: 'docs/crm.md' },
  metadata: { owner: 'crm-team' },
})

test('[SL18] a built subscription is the same as a written one', () => {
  const written = compileDefinitions([{ path: 'a.yaml', text: SUBSCRIPTION }], deps)
  const built = compileBuilt(crm)
  expect([...written.findings, ...built.findings]).toEqual([])
  expect(built.documents).toEqual(written.documents)
  expect(built.documents.map(hashDocument)).toEqual(written.documents.map(hashDocument))
})

const ACCOUNT = `
kind: Provider
name: acme
title: Acme
description: bookings
category: erp
baseUrl: "https://{{ config.host }}/v1"
auth: [apiKey, oauth2]
authentication: { header: X-Key, prefix: "Key " }
oauth2: { authorizeUrl: https://acme.example/allow, tokenUrl: https://acme.example/token, scopes: [book], parameters: { prompt: consent }, clientAuth: body }
endpoints: { uploads: "https://up.{{ config.host }}" }
config: { type: object, required: [host] }
capabilities: [bookings]
rate: { perMinute: 300, burst: 20 }
buckets: { search: { perMinute: 30 } }
probe: { method: HEAD, path: /me, query: { a: "1" }, headers: { Accept: application/json }, timeout: 5s }
classify: { 423: transient }
refine: [{ when: result.body.error == 'busy', as: rate_limited }]
operations:
  book:
    description: books hours
    method: PUT
    path: "/book/{{ input.id }}"
    query: { dry: "{{ input.dry }}" }
    headers: { X-Ref: "{{ extRef }}" }
    body: { hours: "{{ input.hours }}" }
    encoding: form
    endpoint: uploads
    input: { type: object }
    output: { type: object }
    idempotency: lookup
    lookup: { method: GET, path: "/book?ref={{ extRef }}", query: { a: b }, headers: { Accept: x }, found: result.status == 200, id: result.body.id, after: 5s }
    result: result.body.booking
    ref: result.body.id
    classify: { 409: done }
    refine: [{ when: result.body.gone, as: config }]
    timeout: 20s
    buckets: [search]
    scopes: [book]
    deprecated: use bookAll
  makeKey: { path: /keys, idempotency: native, keyTtl: 24h, keyHeader: X-Request-Id }
rotation: { create: makeKey, secret: result.body.key, revoke: makeKey }
inbound: { scheme: hmac, subjects: github }
deprecated: use zenith
---
kind: Credential
name: acme-key
description: ours
environment: DEV
provider: acme
auth: apiKey
secret: { file: acme-key }
rotation: { coolDown: 5m, overlap: 2m }
---
kind: Connection
name: acme-main
description: ours
environment: DEV
provider: acme
credential: acme-key
config: { host: api.acme.example }
endpoints: { default: "https://{{ config.host }}" }
status: retired
probe: { every: 5m, timeout: 5s }
buckets: { search: { perMinute: 10, burst: 2 } }
circuit: { failures: 3, ratio: 0.25, of: 40, openFor: 2m }
---
kind: Route
name: book
on: a.b
do: { operation: acme.book, connection: acme-main, with: { id: "{{ payload.id }}" }, timeout: 5s, classify: { 404: done } }
`

const acme = defineProvider({
  name: 'acme',
  title: 'Acme',
  description: 'bookings',
  category: 'erp',
  baseUrl: 'https://{{ config.host }}/v1',
  auth: ['apiKey', 'oauth2'],
  authentication: { header: 'X-Key', prefix: 'Key ' },
  oauth2: {
    authorizeUrl: 'https://acme.example/allow',
    tokenUrl: 'https://acme.example/token',
    scopes: ['book'],
    parameters: { prompt: 'consent' },
    clientAuth: 'body',
  },
  endpoints: { uploads: 'https://up.{{ config.host }}' },
  config: { type: 'object', required: ['host'] },
  capabilities: ['bookings'],
  rate: { perMinute: 300, burst: 20 },
  buckets: { search: { perMinute: 30 } },
  probe: {
    method: 'HEAD',
    path: '/me',
    query: { a: '1' },
    headers: { Accept: 'application/json' },
    timeout: '5s',
  },
  classify: { 423: 'transient' },
  refine: [{ when: expr`result.body.error == 'busy'`, as: 'rate_limited' }],
  operations: {
    book: {
      description: 'books hours',
      method: 'PUT',
      path: '/book/{{ input.id }}',
      query: { dry: '{{ input.dry }}' },
      headers: { 'X-Ref': '{{ extRef }}' },
      body: { hours: '{{ input.hours }}' },
      encoding: 'form',
      endpoint: 'uploads',
      input: { type: 'object' },
      output: { type: 'object' },
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: '/book?ref={{ extRef }}',
        query: { a: 'b' },
        headers: { Accept: 'x' },
        found: expr`result.status == 200`,
        id: 'result.body.id',
        after: '5s',
      },
      result: 'result.body.booking',
      ref: 'result.body.id',
      classify: { 409: 'done' },
      refine: [{ when: 'result.body.gone', as: 'config' }],
      timeout: '20s',
      buckets: ['search'],
      scopes: ['book'],
      deprecated: 'use bookAll',
    },
    makeKey: { path: '/keys', idempotency: 'native', keyTtl: '24h', keyHeader: 'X-Request-Id' },
  },
  rotation: { create: 'makeKey', secret: 'result.body.key', revoke: 'makeKey' },
  inbound: { scheme: 'hmac', subjects: 'github' },
  deprecated: 'use zenith',
})
const acmeKey = defineCredential({
  name: 'acme-key',
  description: 'ours',
  environment: 'DEV',
  provider: acme.name,
  auth: 'apiKey',
  secret: { file: 'acme-key' },
  rotation: { coolDown: '5m', overlap: '2m' },
})
const acmeMain = defineConnection({
  name: 'acme-main',
  description: 'ours',
  environment: 'DEV',
  provider: acme.name,
  credential: acmeKey.name,
  config: { host: 'api.acme.example' },
  endpoints: { default: 'https://{{ config.host }}' },
  status: 'retired',
  probe: { every: '5m', timeout: '5s' },
  buckets: { search: { perMinute: 10, burst: 2 } },
  circuit: { failures: 3, ratio: 0.25, of: 40, openFor: '2m' },
})
const book = defineRoute({
  name: 'book',
  on: 'a.b',
  do: {
    operation: 'acme.book',
    connection: acmeMain.name,
    with: { id: '{{ payload.id }}' },
    timeout: '5s',
    classify: { 404: 'done' },
  },
})

test('[PV23] a built provider, credential and connection are the same as written ones', () => {
  const written = compileDefinitions([{ path: 'a.yaml', text: ACCOUNT }], deps)
  const built = compileBuilt(acme, acmeKey, acmeMain, book)
  const isError = ({ severity }: { severity: string }) => severity === 'error'
  expect([...written.findings, ...built.findings].filter(isError)).toEqual([])
  expect(built.documents).toHaveLength(4)
  expect(built.documents).toEqual(written.documents)
  expect(built.documents.map(hashDocument)).toEqual(written.documents.map(hashDocument))
  // Every field of the language is in it, except those of other credential models.
  const fields = (kind: 'Provider' | 'Connection' | 'Credential') =>
    Object.keys(KINDS[kind].schema().shape).filter((name) => name !== 'apiVersion')
  expect(Object.keys(acme).sort()).toEqual(fields('Provider').sort())
  expect(Object.keys(acmeMain).sort()).toEqual(fields('Connection').sort())
  const others = ['username', 'oauth2', 'githubApp', 'serviceAccount', 'hmac']
  expect([...Object.keys(acmeKey), ...others].sort()).toEqual(fields('Credential').sort())
})
