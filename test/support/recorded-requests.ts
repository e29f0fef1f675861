// The requests of test/recorded-answers.test.ts: every operation of the API over a node that has something of everything, then requests
// that each operation must refuse.

import type { OpenApiDocument, OpenApiSchema } from '../../src/http/document.fixture.ts'
import type { RecordedAnswer, RecordedNode, RecordedRequest } from './recorded-node.ts'

const DEFINITIONS = `
kind: Source
name: shop
description: of the shop
verify: { scheme: none }
subject: "shop.events.{{ payload.kind }}"
event: { id: payload.id, objectType: order, objectId: payload.order }
sensitive: [payload.email]
catalog: { subjects: [{ subject: shop.events.paid }, { subject: shop.events.told, description: never sent }] }
---
kind: Route
name: book
description: one booking per order
on: [shop.events.paid]
key: "'book:' + payload.id"
retry: { attempts: 1 }
do:
  http: { method: POST, url: "http://vendor.example/{{ payload.status }}", body: { note: "{{ payload.note }}" } }
---
kind: Route
name: ordered
on: [shop.events.ordered]
key: "'ordered:' + payload.id"
order: { by: payload.order, onBlocked: hold }
retry: { attempts: 1 }
do:
  http: { method: POST, url: "http://vendor.example/{{ payload.status }}" }
---
kind: Workflow
name: case
description: a case of the shop
version: 1.0.0
start: open
triggers:
  - { manual: {}, map: { note: payload.note } }
  - { on: [shop.events.opened], action: create, correlate: payload.order, map: { note: payload.note } }
  - { on: [shop.events.changed], action: update, correlate: payload.order, map: { note: payload.note } }
places:
  open: { type: review }
  waiting: {}
  closed: { final: true }
transitions:
  wait: { from: open, to: waiting, on: manual }
  close: { from: [waiting], to: closed, on: manual, input: { properties: { why: { type: string } }, required: [why] } }
  book:
    from: waiting
    to: open
    on: manual
    key: "'case:' + instance.id"
    do: { http: { method: POST, url: "http://vendor.example/422" } }
`

const PROVIDER = {
  name: 'acme',
  description: 'a vendor',
  baseUrl: 'http://vendor.example',
  auth: ['bearer'],
  probe: { path: '/200' },
  operations: { book: { method: 'POST', path: '/201' } },
}

export interface Recorder {
  /** Sends a request and records its answer; the parsed body is returned. */
  // biome-ignore lint/suspicious/noExplicitAny: the recording compares every byte; the script reads ids.
  ask(method: string, url: string, body?: unknown, more?: Partial<RecordedRequest>): Promise<any>
}

export type Recorded = { readonly request: RecordedRequest; readonly answer: RecordedAnswer }

export function makeRecorder(node: RecordedNode, recorded: Recorded[]): Recorder {
  return {
    async ask(method, url, body, more = {}) {
      const request = { method, url, ...(body !== undefined && { body }), ...more }
      const answer = await node.call(request)
      recorded.push({ request, answer })
      const isJson = answer.headers['content-type']?.includes('json') === true
      return isJson && answer.text !== '' ? JSON.parse(answer.text) : null
    },
  }
}

/** Something of everything: rows in every list, and an answer of every operation that reads or changes them. */
export async function askEverything(node: RecordedNode, { ask }: Recorder): Promise<void> {
  const get = (url: string, more?: Partial<RecordedRequest>) => ask('GET', url, undefined, more)
  const post = (url: string, body: unknown = {}, more?: Partial<RecordedRequest>) =>
    ask('POST', url, body, more)
  for (const url of [
    '/',
    '/healthz',
    '/readyz',
    '/metrics',
    '/errors/not_found',
    '/errors/nothing',
    '/nothing',
  ])
    await get(url, { key: null })
  await get('/v1/me')
  await get('/v1/me', { key: null })
  await get('/v1/me', { key: 'wrong' })

  await post('/v1/tenants', { name: 'acme', description: 'another customer' })
  await get('/v1/tenants')
  const viewer = (await post('/v1/keys', { name: 'viewer', role: 'viewer' })).key as string
  const operator = (await post('/v1/keys', { name: 'operator', role: 'operator', permissions: ['a.b'] })).key
  const gone = await post('/v1/keys', { name: 'gone', role: 'admin', expiresIn: '30d' })
  await post('/v1/keys', { name: 'other', role: 'admin', tenant: 'acme' })
  await get('/v1/keys')
  await get('/v1/keys?limit=2')
  await ask('DELETE', `/v1/keys/${gone.id}`)
  await ask('DELETE', `/v1/keys/${gone.id}`)
  await get('/v1/me', { key: viewer })
  await get('/v1/me', { key: operator })
  const session = {
    headers: { origin: 'http://localhost:80', host: 'localhost:80', 'millrace-console': '1' },
  }
  await post('/v1/session', { key: viewer }, { key: null, ...session })
  await post('/v1/session', { key: 'wrong' }, { key: null, ...session })
  await post('/v1/session', {}, { key: null, ...session })
  await ask('DELETE', '/v1/session')
  await post('/v1/session/links')
  await post('/v1/node/confirm-copy', { code: '0a1b2c3d' })
  await get('/v1/code/refused')
  await get(`/v1/code/refused/${'ab'.repeat(32)}`)
  await get(`/v1/code/refused/${'cd'.repeat(32)}`)
  await post(`/v1/code/refused/${'ab'.repeat(32)}/sign`, { reason: 'looked at' })

  await post('/v1/secrets', { name: 'TOKEN', value: 'a secret value' })
  await post('/v1/secrets', { name: 'TOKEN', value: 'the next value', overlap: '1h' })
  await post('/v1/secrets', { name: 'HELD', value: 'a held value', pending: true })
  await post('/v1/secrets/HELD/promote', {})
  await post('/v1/secrets/NONE/promote', {})
  await post('/v1/secrets/rewrap')
  await get('/v1/secrets')
  await ask('DELETE', '/v1/secrets/HELD')

  const files = [{ path: 'all.yaml', text: DEFINITIONS }]
  await post('/v1/definitions/check', { files })
  await post('/v1/definitions/check', { files: [{ path: 'a.yaml', text: 'kind: Route\nnam: book\n' }] })
  await post('/v1/definitions/plan', { files })
  const applied = await post('/v1/definitions/apply', { files, reason: 'the first' })
  if (applied.version === undefined) throw new Error(JSON.stringify(applied))
  await post('/v1/definitions/apply', { files: [{ path: 'a.yaml', text: 'kind: Route\nname: x\n' }] })
  await post('/v1/definitions/plan', { files: [], prune: true })
  for (const url of [
    '',
    '?kind=Route',
    '/versions',
    '/Route/book',
    '/Source/shop',
    '/Workflow/case',
    '/Route/none',
  ])
    await get(`/v1/definitions${url}`)
  await post('/v1/definitions/Route/book/pause', { reason: 'a pause' })
  await post('/v1/definitions/Route/book/resume', {})
  await post('/v1/definitions/Route/ordered/disable', {})
  await post('/v1/definitions/Route/ordered/resume', { reason: 'again' })
  await post('/v1/definitions/rollback', { to: applied.version + 7 })

  await post('/v1/webhooks/subscriptions', {
    url: 'http://hook.example/200?token=abc',
    on: ['shop.events.hooked'],
    metadata: { of: 'us' },
  })
  await post('/v1/webhooks/subscriptions', {
    name: 'dead',
    url: 'http://hook.example/410',
    on: 'shop.events.hooked',
    headers: { 'x-a': 'b' },
    retry: { attempts: 1 },
  })
  await post('/v1/webhooks/subscriptions', {
    name: 'signed',
    url: 'http://hook.example/200',
    on: ['none.events'],
    signing: 'ed25519',
    description: 'with a public key',
  })
  await post('/v1/webhooks/subscriptions', { name: 'bad', url: 'ftp://hook.example/200', on: [], more: 1 })
  await post('/v1/integrations/providers', PROVIDER)
  await post('/v1/integrations/providers', { ...PROVIDER, nam: 'x' })
  await post('/v1/integrations/credentials', {
    name: 'acme_key',
    provider: 'acme',
    auth: 'bearer',
    secret: { ref: 'TOKEN' },
  })
  await post('/v1/integrations/connections', {
    name: 'account',
    provider: 'acme',
    credential: 'acme_key',
    probe: 'none',
  })
  const tested = await post('/v1/integrations/connections/account/test')

  const shop = (id: string, kind: string, status: number, order = id) =>
    node.send({ id, kind, status, order, note: `note of ${id}`, email: 'jo@example.com', amount: 12.5 })
  const done = await shop('done', 'paid', 201)
  await shop('done', 'paid', 201)
  await shop('parked', 'paid', 0)
  await shop('parked-2', 'paid', 0)
  await shop('dead', 'paid', 422)
  await shop('dead-2', 'paid', 422)
  await shop('dead-3', 'paid', 401)
  await shop('unheard', 'unheard', 200)
  await shop('hooked', 'hooked', 200)
  await shop('first', 'ordered', 422, 'o1')
  await shop('second', 'ordered', 201, 'o1')
  await shop('opened', 'opened', 200, 'o2')
  await shop('changed', 'changed', 200, 'o9')
  await shop('changed-2', 'changed', 200, 'o8')
  await node.settle(60_000)
  const cloud = {
    specversion: '1.0',
    id: 'c1',
    source: 'https://a.example/x',
    type: 'shop.events.told',
    data: { a: 1 },
  }
  await post('/v1/events', cloud, { headers: { 'content-type': 'application/cloudevents+json' } })
  await post('/v1/events', [cloud, { ...cloud, id: 'c2', time: 'yesterday' }], {
    headers: { 'content-type': 'application/cloudevents-batch+json' },
  })
  await post('/v1/events', {})

  for (const query of [
    '',
    '?limit=2',
    '?unmatched=true',
    '?q=done',
    '?source=shop&subject=shop.events.paid',
    '?objectId=o1',
    '?from=2026-11-15T12:00:00Z&to=2026-11-16T00:00:00Z',
  ])
    await get(`/v1/events${query}`)
  const { nextCursor } = await get('/v1/events?limit=1')
  await get(`/v1/events?limit=1&cursor=${encodeURIComponent(nextCursor)}`)
  await get('/v1/events?cursor=nonsense')
  await get('/v1/unmatched')
  for (const key of [undefined, viewer]) await get(`/v1/events/${done}`, key === undefined ? {} : { key })
  await get(`/v1/events/${done}`, { headers: { accept: 'application/cloudevents+json' } })
  await get(`/v1/events/${done}/body`)
  await get(`/v1/events/${done}/body`, { key: viewer })
  await get(`/v1/events/${done}/explain`)
  await get('/v1/events/none')
  await get('/v1/rejections')
  await get('/v1/catalog')
  await get('/v1/catalog?source=shop&wanted=true')
  await get('/v1/catalog/shop.events.paid')
  await get('/v1/catalog/none.events.paid')

  await get('/v1/pace')
  await get('/v1/pace/book')
  await get('/v1/pace/none')
  await post('/v1/pace/book/close-circuit', { reason: 'it is well' })
  const work = await get('/v1/work')
  for (const query of ['?state=parked', '?consumer=book', '?class=unknown', '?limit=1', '?state=nothing'])
    await get(`/v1/work${query}`)
  const ofState = (state: string) => work.items.filter((one: { state: string }) => one.state === state)
  for (const { id } of work.items) await get(`/v1/work/${id}`)
  await get('/v1/work/none')
  const [parked, parkedToo] = ofState('parked')
  await post(`/v1/work/${parked.id}/probe`, { reason: 'look' })
  await post(`/v1/work/${parked.id}/resolve`, { as: 'done', reason: 'it is there' })
  await post(`/v1/work/${parkedToo.id}/retry`, { reason: 'again' })
  await post(`/v1/work/${parkedToo.id}/cancel`, { reason: 'no more' })
  await get('/v1/ledger')
  await get('/v1/ledger?state=unknown')
  await get('/v1/ledger?key=book%3Adone')
  await get('/v1/ledger/history?key=book%3Adone')
  const lanes = await get('/v1/lanes/held')
  await post(`/v1/work/${lanes.items[0].work.id}/leave-lane`, { reason: 'let the others pass' })

  const letters = await get('/v1/dead-letters')
  for (const query of [
    '?state=open',
    '?class=validation',
    '?limit=1',
    '?severity=error',
    '?cause=x',
    '/groups',
    '/groups?state=discarded',
    '/none',
  ])
    await get(`/v1/dead-letters${query}`)
  const [first, second, third, fourth] = letters.items.map(({ id }: { id: string }) => id)
  for (const key of [undefined, viewer])
    await get(`/v1/dead-letters/${first}`, key === undefined ? {} : { key })
  await post(`/v1/dead-letters/${first}/ready`, { reason: 'fixed' })
  await post(
    `/v1/dead-letters/${first}/replay`,
    { reason: 'again' },
    { headers: { 'idempotency-key': 'k-1' } },
  )
  await post(
    `/v1/dead-letters/${first}/replay`,
    { reason: 'again' },
    { headers: { 'idempotency-key': 'k-1' } },
  )
  await post(`/v1/dead-letters/${second}/edit`, {
    data: { id: 'dead', kind: 'paid', status: 201 },
    reason: 'a better one',
  })
  await post(`/v1/dead-letters/${third}/discard`, { reason: 'give up' })
  await post('/v1/dead-letters/replay', { filter: { state: 'open' }, dryRun: true })
  const replay = await post('/v1/dead-letters/replay', {
    filter: { ids: [fourth] },
    reason: 'all',
    perSecond: 10,
  })
  await post('/v1/events/replay', { ids: [done], dryRun: true })
  await post('/v1/events/replay', { filter: { source: 'shop' }, dryRun: true })
  await post('/v1/events/replay', { ids: [done] })
  await get('/v1/replays')
  await get(`/v1/replays/${replay.replayId}`)
  await post(`/v1/replays/${replay.replayId}/cancel`, { reason: 'enough' })
  const slow = await post('/v1/events/replay', { filter: { source: 'shop' }, perSecond: 0.01 })
  await post(`/v1/replays/${slow.replayId}/cancel`, { reason: 'enough' })
  const failures = await get('/v1/failures')
  await get('/v1/failures?state=open&consumer=book')
  await get(`/v1/failures/${failures.items[0].id}`)
  await get('/v1/failures/none')
  const escalations = await get('/v1/escalations')
  await get('/v1/escalations?consumer=book')
  await get(`/v1/escalations/${escalations.items[0].id}`)
  await post(`/v1/escalations/${escalations.items[0].id}/acknowledge`, { note: 'on it' })
  await post('/v1/escalations/none/acknowledge')

  await get('/v1/workflows')
  await get('/v1/workflows/case')
  await get('/v1/workflows/none')
  await post('/v1/workflows/case/instances', { input: { note: 'by hand' }, metadata: { a: 1 } })
  await post('/v1/workflows/case/instances', { input: { note: 'another' } })
  await post('/v1/workflows/case/migrate', { dryRun: true })
  const instances = await get('/v1/workflows/case/instances')
  await get('/v1/workflows/case/instances?place=open&limit=1')
  const [one, two] = instances.items.map(({ id }: { id: string }) => id)
  await post(`/v1/instances/${one}/fire`, { transition: 'wait', comment: 'a word' })
  await post(`/v1/instances/${one}/fire`, { transition: 'close', input: {} })
  await post(`/v1/instances/${one}/fire`, { transition: 'book' })
  for (const url of [
    '',
    '?at=1',
    '?at=x',
    '/history',
    '/history?after=1&limit=1',
    '/why',
    '/why?transition=close',
    '/work',
  ])
    await get(`/v1/instances/${one}${url}`)
  await get(`/v1/instances/${one}`, { key: viewer })
  await post(`/v1/instances/${one}/retry`, { reason: 'again' })
  await post(`/v1/instances/${one}/edit`, { changes: [{ path: 'data.note', value: 'x' }], dryRun: true })
  await post(`/v1/instances/${two}/edit`, { changes: [{ path: 'data.note', value: 'x' }], reason: 'a typo' })
  await post(`/v1/instances/${two}/move`, { from: 'open', to: 'waiting', reason: 'on' })
  await post(`/v1/instances/${two}/migrate`, { dryRun: true })
  await post(`/v1/instances/${two}/cancel`, { reason: 'no' })
  await get(`/v1/instances/${two}`)
  const orphans = await get('/v1/orphans')
  await get('/v1/orphans?workflow=case&state=open')
  await get('/v1/orphans/none')
  const [orphan, other] = orphans.items.map(({ id }: { id: string }) => id)
  await get(`/v1/orphans/${orphan}`)
  await post('/v1/orphans/retry', { workflow: 'case' })
  await post(`/v1/orphans/${orphan}/correlate`, { instance: one, reason: 'it is that one' })
  await post(`/v1/orphans/${other}/discard`, { reason: 'nothing' })

  const hooks = await get('/v1/webhooks/subscriptions')
  const hook = hooks.items.find(({ url }: { url: string }) => url.includes('token')).name as string
  await get('/v1/webhooks/subscriptions?status=active&q=hook', { key: viewer })
  for (const key of [undefined, viewer])
    await get(`/v1/webhooks/subscriptions/${hook}`, key === undefined ? {} : { key })
  await get('/v1/webhooks/subscriptions/none')
  await get('/webhooks/default/signed/keys', { key: null })
  await ask('PATCH', `/v1/webhooks/subscriptions/${hook}`, { description: 'changed', timeout: '5s' })
  await ask('PATCH', `/v1/webhooks/subscriptions/${hook}`, { timeout: 'soon' })
  for (const verb of ['pause', 'enable', 'disable'])
    await post(`/v1/webhooks/subscriptions/${hook}/${verb}`, { reason: verb })
  await post(`/v1/webhooks/subscriptions/${hook}/enable`)
  await post(`/v1/webhooks/subscriptions/${hook}/test`)
  await post(`/v1/webhooks/subscriptions/${hook}/rotate-secret`, { overlap: '1h' })
  await post(`/v1/webhooks/subscriptions/${hook}/reveal-secret`)
  await post(`/v1/webhooks/subscriptions/${hook}/recover`, { since: '2026-11-15T00:00:00Z', dryRun: true })
  await post(`/v1/webhooks/subscriptions/${hook}/recover`, { since: '2026-11-15T00:00:00Z' })
  const deliveries = await get('/v1/webhooks/deliveries')
  for (const query of [
    '?state=delivered',
    `?subscription=${hook}`,
    '?limit=1',
    '?from=2026-11-15T00:00:00Z',
    '/none',
  ])
    await get(`/v1/webhooks/deliveries${query}`)
  for (const { id } of deliveries.items) {
    await get(`/v1/webhooks/deliveries/${id}`)
    await get(`/v1/webhooks/deliveries/${id}`, { key: viewer })
    await post(`/v1/webhooks/deliveries/${id}/retry`, { reason: 'again' })
    await post(`/v1/webhooks/deliveries/${id}/cancel`, { reason: 'no' })
  }
  await post(`/v1/webhooks/subscriptions/${hook}/pause`)
  await shop('hooked-2', 'hooked', 200)
  const waiting = (await get('/v1/webhooks/deliveries?limit=1')).items[0].id as string
  await get(`/v1/webhooks/deliveries/${waiting}`)
  await post(`/v1/webhooks/deliveries/${waiting}/cancel`, { reason: 'no' })
  await post('/v1/webhooks/deliveries/retry', { filter: { subscription: 'dead' }, dryRun: true })
  await post('/v1/webhooks/deliveries/retry', { filter: { subscription: 'dead' } })
  await ask('DELETE', '/v1/webhooks/subscriptions/signed')

  await get('/v1/integrations/providers')
  for (const id of ['acme', 'stripe', 'none']) await get(`/v1/integrations/providers/${id}`)
  await get('/v1/integrations/connections')
  await get('/v1/integrations/connections/account')
  await get('/v1/integrations/connections/account/health')
  await post('/v1/integrations/connections/account/circuit', {
    is: 'open',
    reason: 'a stop',
    until: '2026-11-20T00:00:00Z',
  })
  await get('/v1/integrations/connections/account')
  await post('/v1/integrations/connections/account/retire', { reason: 'the end' })
  await get('/v1/integrations/credentials')
  await get('/v1/integrations/credentials/acme_key')
  await post('/v1/integrations/credentials/rotate', { credentialId: 'acme_key', reason: 'a new one' })
  await get('/v1/integrations/credentials/acme_key')
  await post('/v1/integrations/credentials/acme_key/authorize')
  await get('/v1/integrations/oauth/callback?state=none&code=none', { key: null })
  await get('/v1/integrations/runs')
  await get('/v1/integrations/runs?connection=account&state=succeeded')
  for (const key of [undefined, viewer])
    await get(`/v1/integrations/runs/${tested?.run?.id}`, key === undefined ? {} : { key })
  await get('/v1/integrations/runs/none')

  await post('/v1/definitions/apply', { files: [], prune: true, base: applied.version + 99 })
  const { items } = await get('/v1/definitions/versions')
  await post('/v1/definitions/rollback', { to: items[0].version, reason: 'back' })
  await get('/v1/overview')
  await get('/v1/stats')
  await get('/v1/stats?minutes=5')
  await get('/v1/demo')
  await post('/v1/demo', { count: 1 })
  await post('/v1/demo/stop')
  const event = { subject: 'shop.events.paid', source: 'shop', data: { id: 'x', status: 201, note: 'n' } }
  await post('/v1/try', { route: 'book', event })
  await post('/v1/try', { route: 'book', event: done })
  await post('/v1/try', { yaml: DEFINITIONS, event })
  await post('/v1/try/expression', { expression: 'payload.status > 200', as: 'condition', event })
  await post('/v1/try/expression', { expression: 'payload.', as: 'pick', event: done })
  await get('/v1/events', { key: viewer })
  await post('/v1/tenants', { name: 'third' }, { key: operator })
  await ask('PUT', '/v1/vars', { values: { crm: 'https://crm.example', batch: 25 }, reason: 'the first' })
  await ask('PUT', '/v1/vars/crm', { value: 'https://crm.qa.example', environment: 'QA' })
  await ask('PUT', '/v1/vars/self', { value: 'x' })
  await get('/v1/vars')
  await get('/v1/vars/crm')
  await get('/v1/vars/none')
}

/** Wrong in one place each: every parameter and every member of a body of every operation, and one that is not known. */
export function badRequests(document: OpenApiDocument): readonly RecordedRequest[] {
  const requests: RecordedRequest[] = []
  for (const [path, item] of Object.entries(document.paths)) {
    if (!path.startsWith('/v1/') || path === '/v1/stream') continue
    const url = path.replaceAll(/\{(\w+)\}/g, 'none')
    for (const [name, operation] of Object.entries(item)) {
      const method = name.toUpperCase()
      const query = (operation.parameters ?? []).filter((one) => one.in === 'query')
      for (const { name: parameter, schema } of query)
        for (const value of badTexts(schema)) requests.push({ method, url: `${url}?${parameter}=${value}` })
      requests.push({ method, url: `${url}?unknown=1` })
      const long = path.replaceAll(/\{(\w+)\}/g, 'x'.repeat(600))
      if (long !== path)
        requests.push({ method, url: long, ...(method === 'GET' || method === 'DELETE' ? {} : { body: {} }) })
      const schema = operation.requestBody?.content['application/json']?.schema
      if (schema === undefined) continue
      requests.push(
        { method, url, body: {} },
        { method, url, body: [] },
        { method, url, body: { unknown: 1 } },
        { method, url, body: '{"a":' },
      )
      for (const body of badBodies(schema)) requests.push({ method, url, body })
    }
  }
  return requests
}

const badTexts = (schema: OpenApiSchema) =>
  schema.type === 'integer'
    ? ['', '0', '-1', '1.5', '100000']
    : schema.type === 'string'
      ? ['', 'x'.repeat(3_000)]
      : ['', 'perhaps']

const WRONG: readonly unknown[] = [
  null,
  '',
  ' ',
  'a\u0000b',
  'x'.repeat(5_000),
  -1,
  1.5,
  [],
  [1],
  {},
  { unknown: [] },
  true,
]

/** One wrong member at a time, also inside members that are objects. */
function badBodies(schema: OpenApiSchema): readonly unknown[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    ...WRONG.map((value) => ({ [name]: value })),
    ...(member.properties === undefined ? [] : badBodies(member).map((inner) => ({ [name]: inner }))),
  ])
}
