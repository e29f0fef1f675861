import { expect, test } from 'vitest'
import type { SourceDocument } from '../../core/definitions/documents/index.ts'
import { compileAction, type HttpAction, type UpsertAction } from '../../core/effects/action/index.ts'
import { type Keyed, makeHmac, type Scope } from '../../core/expression/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { compileSource } from '../../core/ingest/source/index.ts'
import { compileRoute } from '../../core/routing/index.ts'
import { compileSubscription, type DeliveredEvent } from '../../core/webhooks/subscription/index.ts'
import { created, makeCase, makeEnv } from '../../core/workflows/machine/case.fixture.ts'
import { compileWorkflow, explainTransitions, planMigration } from '../../core/workflows/machine/index.ts'
import { sketchWorkflow } from '../../core/workflows/machine/nets.fixture.ts'
import { HTTP, ROUTE, SOURCE } from '../engine.fixture.ts'
import { HOOK } from '../webhooks/subscriptions/subscriptions.fixture.ts'

const HMAC = makeHmac(new Uint8Array(32).fill(3))
const KEYED: Keyed = { hmac: HMAC }
const DIGEST = HMAC('["ada"]')
const CALL = "hmac('ada')"
const TEXT = `{{ ${CALL} }}`
const HOLDS = `${CALL} == '${DIGEST}'`
const SCOPE: Scope = { event: { id: 'evt_1' }, payload: {}, header: {}, source: 's', tenant: 't', vars: {} }
const RESPONSE = { status: 200, headers: {}, body: {} }

test('[HK7] every text of a route is computed with the key of its tenant', () => {
  const route = compileRoute(
    {
      ...ROUTE,
      where: HOLDS,
      key: CALL,
      each: { of: `[${CALL}]`, as: 'one', max: 5 },
      order: { by: CALL, version: CALL },
      batch: { size: 2, maxWaitMs: 1, results: `[{'k': ${CALL}}]`, item: { key: 'item.k', ok: HOLDS } },
    },
    KEYED,
  )
  expect(route.wants(SCOPE)).toBe(true)
  expect(route.keyOf(SCOPE)).toBe(DIGEST)
  expect(route.each?.at(SCOPE, 0)).toBe(DIGEST)
  expect(route.lane?.of(SCOPE).key).toBe(DIGEST)
  expect(route.lane?.version?.(SCOPE)).toContain(DIGEST)
  expect(route.batch?.outcomesOf([DIGEST], null)).toMatchObject([{ as: 'done' }])
  const debounced = compileRoute(
    { ...ROUTE, debounce: { by: CALL, quietMs: 1, maxWaitMs: 2 } as never },
    KEYED,
  )
  expect(debounced.lane?.of(SCOPE).key).toBe(DIGEST)
  const limited = compileRoute({ ...ROUTE, concurrency: { by: CALL, limit: 1 } }, KEYED)
  expect(limited.lane?.of(SCOPE).key).toBe(DIGEST)
})

test('[HK7] so is every text of an action', () => {
  const probe = { method: 'GET', url: `https://a.example/${TEXT}`, headers: {}, found: HOLDS, afterMs: 0 }
  const http = compileAction(
    {
      ...HTTP,
      url: `https://a.example/${TEXT}`,
      headers: { 'X-Id': TEXT },
      body: { id: TEXT },
      probe,
    } as never,
    KEYED,
  ) as HttpAction
  const sent = { url: `https://a.example/${DIGEST}`, headers: { 'x-id': DIGEST }, body: `{"id":"${DIGEST}"}` }
  expect(http.render(SCOPE, 'k')).toMatchObject(sent)
  expect(http.probe?.render(SCOPE).url).toBe(sent.url)
  expect(http.probe?.found(SCOPE, RESPONSE)).toBe(true)

  const call = { method: 'POST', path: `/${TEXT}`, body: { id: TEXT }, idempotent: false, keyTtlMs: null }
  const upsert = compileAction(
    {
      ...{ type: 'upsert', baseUrl: 'https://a.example', headers: { 'x-id': TEXT }, extRef: TEXT },
      find: { method: 'GET', path: `/${TEXT}`, found: HOLDS, id: CALL, afterMs: 0 },
      ...{ create: call, update: call, lock: 'single', classify: {}, timeoutMs: 1_000 },
    } as never,
    KEYED,
  ) as UpsertAction
  const inner = upsert.scopeOf(SCOPE)
  expect(inner.extRef).toBe(DIGEST)
  expect(upsert.find.render(inner)).toMatchObject({ url: sent.url, headers: sent.headers })
  expect(upsert.find.read(inner, RESPONSE)).toEqual({ is: 'found', id: DIGEST })
  expect(upsert.create.render(inner, 'k')).toMatchObject(sent)
  expect(upsert.update?.render(inner, 'k')).toMatchObject(sent)

  const rendered = (document: object) => {
    const action = compileAction(document as never, KEYED) as {
      input?(scope: Scope): JsonValue
      render?(scope: Scope): JsonValue
    }
    return action.input?.(SCOPE) ?? action.render?.(SCOPE)
  }
  expect(rendered({ type: 'function', name: 'f', codeHash: '', timeoutMs: 1, with: TEXT })).toBe(DIGEST)
  expect(rendered({ type: 'emit', subject: `a.${TEXT}`, data: [TEXT] })).toEqual({
    subject: `a.${DIGEST}`,
    data: [DIGEST],
  })
  expect(rendered({ type: 'start', workflow: 'w', wait: false, with: [TEXT] })).toEqual([DIGEST])
  const schedule = {
    type: 'schedule',
    name: TEXT,
    cron: '* * * * *',
    zone: 'UTC',
    emit: `a.${TEXT}`,
    data: TEXT,
  }
  expect(rendered(schedule)).toMatchObject({ name: DIGEST, subject: `a.${DIGEST}`, data: DIGEST })
  expect(rendered({ type: 'unschedule', name: TEXT })).toBe(DIGEST)
  const agent = {
    ...{ name: 'a', baseUrl: `https://a.example/${TEXT}`, headers: { 'x-id': TEXT }, secret: null },
    ...{ system: `s ${TEXT}`, user: `{{ given }} ${TEXT}`, timeoutMs: 1_000 },
  }
  expect(rendered({ type: 'agent', agent, with: { given: TEXT } })).toMatchObject({
    request: { url: `https://a.example/${DIGEST}`, headers: { 'x-id': DIGEST } },
    system: `s ${DIGEST}`,
    user: `${DIGEST} ${DIGEST}`,
  })
})

test('[HK7] so is every text of a source', () => {
  const document: SourceDocument = {
    ...SOURCE,
    subject: `shop.${TEXT}`,
    event: { id: CALL, objectType: TEXT, objectId: CALL, occurredAt: null },
    dedup: { by: `'by:' + ${CALL}`, windowMs: 1 },
    dispatch: { mode: 'all', rules: [{ when: HOLDS, emit: `shop.${TEXT}`, data: TEXT }], otherwise: 'keep' },
    respond: { status: 200, contentType: 'text/plain', body: TEXT },
    handshake: { method: 'GET', when: HOLDS, status: 200, contentType: 'text/plain', body: TEXT },
  }
  const source = compileSource(document, KEYED)
  expect(source.name({ header: {}, payload: {}, tenant: 't', payloadHash: 'h' })).toMatchObject({
    names: { subject: `shop.${DIGEST}`, objectType: DIGEST, objectId: DIGEST, dedupKey: `by:${DIGEST}` },
  })
  expect(source.dispatch?.select(SCOPE)).toMatchObject([{ subject: `shop.${DIGEST}`, data: DIGEST }])
  expect(source.guards.respond?.(SCOPE).body).toBe(DIGEST)
  expect(source.guards.handshake?.answer(SCOPE)?.body).toBe(DIGEST)
})

test('[HK7] so is every text of a subscription', () => {
  const document = { ...HOOK, where: HOLDS, headers: { 'x-id': TEXT }, transform: { id: TEXT } }
  const subscription = compileSubscription(document, 'active', KEYED)
  expect(subscription.route.wants(SCOPE)).toBe(true)
  const event = { source: 'shop', subject: 'shop.events.paid', data: '{}', sensitive: [] }
  expect(subscription.bodyOf(event as unknown as DeliveredEvent, () => SCOPE)).toBe(`{"id":"${DIGEST}"}`)
  expect(subscription.headersOf(() => SCOPE)).toEqual({ 'x-id': DIGEST })
  const ordered = compileSubscription({ ...HOOK, order: { by: CALL } } as never, 'active', KEYED)
  expect(ordered.route.lane?.of(SCOPE).key).toBe(DIGEST)
})

test('[HK7] so is every text of a workflow, of its migrations and of its explanation', () => {
  const emit = { type: 'emit', subject: 'a.b', data: TEXT } as const
  const sketch = {
    places: { open: {}, done: { type: 'final' } },
    transitions: {
      book: {
        ...{ from: ['open'], to: ['done'], on: 'manual' as const, when: HOLDS, notBy: CALL },
        ...{
          choose: [{ when: HOLDS, to: ['done'] }],
          out: { 'data.id': CALL },
          key: CALL,
          do: emit,
          undo: emit,
        },
      },
    },
    triggers: [
      { id: 'paid', on: ['a.b'], where: HOLDS, correlate: { id: CALL }, map: { 'data.mapped': CALL } },
    ],
    lock: { by: CALL, ttlMs: 1, whenHeld: 'wait' },
  } as const
  const workflow = compileWorkflow(sketchWorkflow(sketch), KEYED)
  const book = workflow.transitions.get('book')
  expect(book?.when(SCOPE)).toBe(true)
  expect(book?.targets(SCOPE)).toEqual(['done'])
  expect(book?.out(SCOPE)).toEqual([{ path: 'data.id', value: DIGEST }])
  expect(book?.notBy(SCOPE)).toBe(DIGEST)
  expect(workflow.lockOf(SCOPE)).toBe(DIGEST)
  expect(workflow.parts.get('fire/book')?.keyOf(SCOPE)).toBe(DIGEST)
  const undo = workflow.parts.get('undo/book')?.action as { render(scope: Scope): { data: JsonValue } }
  expect(undo.render(SCOPE).data).toBe(DIGEST)
  const [trigger] = workflow.triggers
  expect(trigger?.route?.wants(SCOPE)).toBe(true)
  expect(trigger?.keysOf(SCOPE)).toEqual([{ name: 'id', value: DIGEST }])
  expect(trigger?.map(SCOPE)).toEqual([{ path: 'data.mapped', value: DIGEST }])

  const plain = compileWorkflow(sketchWorkflow({ ...sketch, lock: undefined } as never), KEYED)
  const one = makeCase(plain, created())
  const [why] = explainTransitions(plain, one.now(), makeEnv())
  expect(why?.rules.find(({ rule }) => rule === 'when')).toMatchObject({ holds: true })
  expect(why?.rules.find(({ rule }) => rule === 'when')?.message).toContain(DIGEST)
  const next = compileWorkflow(
    sketchWorkflow({
      ...{ ...sketch, lock: undefined, version: '2.0.0' },
      migrations: [
        { from: '1.0.0', to: '2.0.0', strategy: 'inPlace', places: {}, data: [{ set: 'id', value: CALL }] },
      ],
    } as never),
    KEYED,
  )
  expect(planMigration(plain, next, one.now())).toMatchObject({
    ok: true,
    changes: [expect.objectContaining({ path: 'data.id' })],
  })
})
