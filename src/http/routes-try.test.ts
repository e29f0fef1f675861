import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ACTION_TYPES } from '../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type EventId } from '../core/foundation/ids/index.ts'
import { makeDefinitionWorld, ROUTE_YAML, SOURCE_YAML } from './definitions.fixture.ts'

let world: ReturnType<typeof makeDefinitionWorld>
const EVENT = 'evt_1' as EventId
const PAYLOAD = '{"kind":"paid","id":"d1","order":"o1","amount":12345678901234567890}'

beforeEach(async () => {
  world = makeDefinitionWorld()
  await world.folder(`${SOURCE_YAML}---\n${ROUTE_YAML}`)
  const event = {
    id: EVENT,
    tenant: DEFAULT_TENANT,
    source: 'shop',
    subject: 'shop.events.paid',
    objectType: 'order',
    objectId: 'o1',
    occurredAt: null,
    correlationId: 'c',
    causationId: null,
    traceId: 't',
    dedupKey: 'd1',
    payloadHash: 'sha256:x',
    headers: '{}',
    data: PAYLOAD,
    raw: null,
    sensitive: [],
    matched: 0,
  }
  await world.store.commit({
    tenant: DEFAULT_TENANT,
    guards: [],
    writes: [{ w: 'event.append', event, dedupForMs: 1_000 }],
  })
})
afterEach(async () => {
  expect(world.faults).toEqual([])
  await world.server.close()
})

const given = (data: object) => ({ subject: 'shop.events.paid', data })

test('[TR2] tries a deployed route on an accepted event, digit for digit', async () => {
  const { status, body, text } = await world.post('/try', { route: 'book', event: EVENT })
  expect(status).toBe(200)
  expect(body).toMatchObject({
    route: { name: 'book', status: 'active' },
    subjectFits: true,
    matched: true,
    key: 'BOOK:o1',
    action: { type: 'http', request: { method: 'POST', url: 'https://vendor.example/orders' } },
    ledger: { verdict: 'would-call' },
  })
  expect(text).toContain('{\\"amount\\":12345678901234567890}')
  expect(body.problem).toBeUndefined()
})

test.each<readonly [type: string, does: string, shown: unknown]>([
  [
    'emit',
    '{ emit: shop.due, data: { order: "{{ payload.order }}" } }',
    { subject: 'shop.due', data: { order: 'o2' } },
  ],
  [
    'schedule',
    '{ schedule: { name: "{{ payload.order }}", cron: 0 9 * * *, emit: shop.due } }',
    { name: 'o2', cron: '0 9 * * *', zone: 'UTC', subject: 'shop.due', data: null },
  ],
  ['unschedule', '{ unschedule: "{{ payload.order }}" }', { name: 'o2' }],
])('[TR2] shows what %s would do, under its name', async (type, does, shown) => {
  const yaml = `kind: Route\nname: other\non: shop.events.paid\ndo: ${does}\n`
  const { body } = await world.post('/try', { yaml, event: given({ order: 'o2' }) })
  expect(body.action).toEqual({ type, [type]: shown })
})

test('the document describes what each action shows', () => {
  const { paths } = JSON.parse(readFileSync(new URL('openapi.generated.json', import.meta.url), 'utf8')) as {
    readonly paths: Readonly<Record<string, unknown>>
  }
  const text = JSON.stringify(paths['/v1/try'])
  for (const type of ACTION_TYPES.filter((one) => one !== 'http' && one !== 'upsert'))
    expect(text).toContain(`"${type}":{"type":"object"`)
})

test('[TR5] tries a text that is not applied, with its findings', async () => {
  const yaml = ROUTE_YAML.replace('    idempotent: true\n', '')
  const { body } = await world.post('/try', { yaml, event: given({ amount: 60, order: 'o2' }) })
  expect(body).toMatchObject({ matched: true, key: 'BOOK:o2', findings: [{ severity: 'warning' }] })
  const broken = await world.post('/try', { yaml: ROUTE_YAML.replace('> 50', '>'), event: given({}) })
  expect(broken).toMatchObject({ status: 422, body: { code: 'definitions_invalid' } })
  expect((await world.post('/try', { yaml: SOURCE_YAML, event: given({}) })).body).toMatchObject({
    code: 'invalid_request',
    details: { fields: [{ path: '/yaml' }] },
  })
  expect((await world.get('/definitions')).body.items).toHaveLength(2)
})

test('[TR4] says what cannot be made', async () => {
  const { body } = await world.post('/try', { route: 'book', event: given({ amount: 60, order: null }) })
  expect(body).toMatchObject({ matched: true, key: null, action: null, ledger: null })
  expect(body.problem ?? null).toMatchObject({ at: 'key' })
})

test('[TR5] one of route and yaml, and both must be there to be tried', async () => {
  expect((await world.post('/try', { event: EVENT })).status).toBe(400)
  expect((await world.post('/try', { route: 'book', yaml: ROUTE_YAML, event: EVENT })).status).toBe(400)
  expect((await world.post('/try', { route: 'nobody', event: EVENT })).status).toBe(404)
  expect((await world.post('/try', { route: 'book', event: 'evt_none' })).status).toBe(404)
  expect((await world.post('/try', { route: 'book', event: { data: {} } })).status).toBe(400)
})

test('[TR8] computes an expression over an event', async () => {
  const compute = async (expression: string, as: string, event: unknown = EVENT) =>
    (await world.post('/try/expression', { expression, as, event })).body
  expect(await compute('payload.order', 'pick')).toEqual({ ok: true, value: 'o1', type: 'string' })
  expect(await compute('{{ payload.order }}!', 'send')).toEqual({ ok: true, value: 'o1!', type: 'string' })
  expect(await compute('payload.amount > 50', 'condition')).toEqual({ ok: true, value: true, type: 'bool' })
  expect(await compute('payload.', 'pick')).toMatchObject({ ok: false, at: 8 })
  expect(await compute('payload.a.size()', 'pick', given({ a: 3 }))).toEqual({
    ok: false,
    message: expect.stringContaining('payload.a'),
  })
  expect((await world.post('/try/expression', { expression: 'a', as: 'guess', event: EVENT })).status).toBe(
    400,
  )
})

test('[TR7] explains an accepted event', async () => {
  expect((await world.get(`/events/${EVENT}/explain`)).body).toEqual({
    eventId: EVENT,
    subject: 'shop.events.paid',
    consumers: [
      {
        kind: 'route',
        name: 'book',
        // It came into force after the event.
        verdict: 'would-match',
        status: 'active',
        patterns: ['shop.events.paid'],
        why: [{ part: 'payload.amount > 50', holds: true, saw: 'payload.amount = 12345678901234567890' }],
      },
    ],
  })
  expect((await world.get('/events/evt_none/explain')).status).toBe(404)
})

test('[AC17] a viewer may try and explain, an operator may write; another tenant finds nothing', async () => {
  const viewer = await world.key('viewer')
  expect((await world.post('/try', { route: 'book', event: EVENT }, viewer)).status).toBe(200)
  expect((await world.get(`/events/${EVENT}/explain`, viewer)).status).toBe(200)
  expect((await world.post('/try', { yaml: ROUTE_YAML, event: EVENT }, viewer)).status).toBe(403)
  const operator = await world.key('operator')
  expect((await world.post('/try', { yaml: ROUTE_YAML, event: EVENT }, operator)).status).toBe(200)
  const other = await world.key('admin', 'other')
  expect((await world.post('/try', { route: 'book', event: given({}) }, other)).status).toBe(404)
  expect((await world.post('/try', { yaml: ROUTE_YAML, event: EVENT }, other)).status).toBe(404)
  expect(
    (await world.post('/try/expression', { expression: 'payload', as: 'pick', event: EVENT }, other)).status,
  ).toBe(404)
  expect((await world.get(`/events/${EVENT}/explain`, other)).status).toBe(404)
})
