// What is built in TypeScript and what is written in YAML are one document, field by field.

import { expect, test } from 'vitest'
import { hashDocument } from '../core/definition/index.ts'
import { compileDefinitions } from '../definitions/index.ts'
import { SCHEMAS } from '../definitions/schema.ts'
import { defineProfile, defineRoute, defineSubscription, expr } from './index.ts'

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
    headers: { x-team: billing }
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
      headers: { 'x-team': 'billing' },
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

test('[SL18] a subscription that is built is the one that is written', () => {
  const written = compileDefinitions([{ path: 'a.yaml', text: SUBSCRIPTION }], deps)
  const built = compileBuilt(crm)
  expect([...written.findings, ...built.findings]).toEqual([])
  expect(built.documents).toEqual(written.documents)
  expect(built.documents.map(hashDocument)).toEqual(written.documents.map(hashDocument))
  // Every field of the language is in it.
  const fields = Object.keys(SCHEMAS.Subscription.shape).filter((name) => name !== 'apiVersion')
  expect(Object.keys(crm).sort()).toEqual(fields.sort())
})
