import { type Agent, request as httpRequest, Agent as KeepAliveAgent } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { makeSystemClock } from '../adapters/clock-system/index.ts'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { makeSystemRandom } from '../adapters/random-system/index.ts'
import { makeMemoryStore } from '../adapters/store-memory/index.ts'
import { makeLocalVault } from '../adapters/vault-local/index.ts'
import type { NewLedgerEntry } from '../core/effects/ledger/index.ts'
import type { NewEvent } from '../core/events/event/index.ts'
import type { NewDeadLetter } from '../core/failures/dead-letter/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import {
  DEFAULT_TENANT,
  type DeadLetterId,
  type EventId,
  type NodeId,
  type TenantId,
  type WorkId,
} from '../core/foundation/ids/index.ts'
import { ROLES } from '../core/queue/node-role/index.ts'
import { EMPTY_NOTE, type NewWork } from '../core/queue/work/index.ts'
import { makeMasterKeys } from '../core/secrets/index.ts'
import { makeDemoApi } from '../demo/index.ts'
import { makeIdempotency } from '../engine/access/idempotency-keys.ts'
import { makeAccess } from '../engine/access/index.ts'
import { makeFeed } from '../engine/observe/change-feed.ts'
import { makeMeter } from '../engine/observe/meter.ts'
import { type Store, StoreError, type TenantReads, type Write } from '../ports/store.ts'
import { checkAnswers } from './answers.fixture.ts'
import type { HttpApi, Readiness } from './api.ts'
import { type HttpServer, makeHttpServer } from './server.ts'

const KEY = 'test-key'
const NOW = Date.UTC(2026, 10, 15, 12)
const WELL: Readiness = { ready: true, reasons: [], checks: { store: 'ok', lease: 'held', bus: 'none' } }

const servers: HttpServer[] = []
const answers: { readonly faults: readonly string[] }[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
  // Whatever a test asks: the answer is as the document says.
  expect(answers.splice(0).flatMap(({ faults }) => faults)).toEqual([])
})

function makeWorld(over: Partial<HttpApi> = {}, closeMs = 1_000) {
  const store = makeMemoryStore({ now: () => NOW, defer: (callback) => queueMicrotask(callback) })
  const log = makeMemoryLog()
  const [clock, random] = [makeSystemClock(), makeSystemRandom()]
  const calls: unknown[][] = []
  const feed = makeFeed()
  const api: HttpApi = {
    sourceBodyMax: () => Number.POSITIVE_INFINITY,
    receive: async () => ({ eventId: 'evt_new' as EventId, duplicate: false }),
    refused: () => {},
    confirmCopy: async (...args) => void calls.push(['confirmCopy', ...args]),
    refusedCode: {
      list: async () => [],
      one: async () => null,
      sign: async (...args) => void calls.push(['signRefusedCode', ...args]),
    },
    rejections: { list: async () => ({ items: [], counts: [], nextCursor: null }) },
    flowControl: {} as HttpApi['flowControl'],
    publish: async () => [],
    reads: (tenant) => store.forTenant(tenant),
    deadLetters: {
      ready: async (...args) => void calls.push(['ready', ...args]),
      discard: async (...args) => void calls.push(['discard', ...args]),
      edit: async (...args) => {
        calls.push(['edit', ...args])
        return { eventId: 'evt_copy' as EventId }
      },
      replay: async (...args) => {
        calls.push(['replay', ...args])
        return { workId: 'wrk_replay' as WorkId }
      },
    },
    escalations: {
      acknowledge: async (...args) => {
        calls.push(['acknowledge', ...args])
        return { id: args[1] } as never
      },
    },
    work: {
      resolve: async (...args) => void calls.push(['resolve', ...args]),
      probe: async (...args) => void calls.push(['probe', ...args]),
      retry: async (...args) => void calls.push(['retry', ...args]),
      cancel: async (...args) => void calls.push(['cancel', ...args]),
      allowed: async () => ['retry'],
    },
    replays: {} as HttpApi['replays'],
    lanes: {} as HttpApi['lanes'],
    workflows: {} as HttpApi['workflows'],
    orphans: {} as HttpApi['orphans'],
    subscriptions: {
      counts: async () => ({ active: 1, failing: 2, paused: 0, disabled: 0 }),
    } as unknown as HttpApi['subscriptions'],
    deliveries: {} as HttpApi['deliveries'],
    integrations: {} as HttpApi['integrations'],
    vetSubscription: async () => ({ ok: true }),
    access: makeAccess({ store, clock, random, log, adminKey: KEY }),
    secrets: makeLocalVault({ store, clock, random, log, keys: makeMasterKeys(new Uint8Array(32)) }),
    demo: makeDemoApi(null, async () => false),
    // Their own tests have real ones.
    definitions: { versionOf: async () => null } as unknown as HttpApi['definitions'],
    inspect: {} as HttpApi['inspect'],
    watch: (watcher) => feed.watch(watcher),
    meter: makeMeter({ clock: { now: () => NOW } }),
    now: () => NOW,
    idempotency: makeIdempotency({ store, clock, log, life: 'life', tenants: async () => [] }),
    about: { environment: 'DEV', version: '0.0.0', node: 'node-1', roles: [...ROLES] },
    health: async () => WELL,
    ...over,
  }
  let requests = 0
  const server = makeHttpServer(api, {
    bodyBytesMax: 1_000,
    closeMs,
    requestId: () => {
      requests += 1
      return `r-${requests}`
    },
    log,
  })
  servers.push(server)
  answers.push(checkAnswers(server.app))
  const inject = async (method: 'GET' | 'POST', url: string, payload?: unknown, key: string | null = KEY) => {
    const answer = await server.app.inject({
      method,
      url,
      headers: key === null ? {} : { authorization: `Bearer ${key}` },
      ...(payload !== undefined && { payload: payload as object }),
    })
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text: answer.body,
      body: JSON.parse(answer.body),
    }
  }
  return {
    store,
    log,
    calls,
    feed,
    server,
    get: (url: string, key?: string | null) => inject('GET', url, undefined, key),
    post: (url: string, payload?: unknown) => inject('POST', url, payload),
  }
}

async function write(
  store: Store,
  writes: readonly Write[],
  tenant: TenantId = DEFAULT_TENANT,
): Promise<void> {
  const result = await store.commit({ tenant, guards: [], writes })
  expect(result.ok).toBe(true)
}

const event = (id: string, over: Partial<NewEvent> = {}): Write => ({
  w: 'event.append',
  dedupForMs: 60_000,
  event: {
    id: id as EventId,
    tenant: DEFAULT_TENANT,
    source: 'shop',
    subject: 'shop.events.paid',
    objectType: 'order',
    objectId: '7',
    occurredAt: NOW - 1_000,
    correlationId: `cor-${id}`,
    causationId: null,
    traceId: 'trace-1',
    dedupKey: `key-${id}`,
    payloadHash: 'hash-1',
    headers: '{"x-a":"b"}',
    data: '{"id":12345678901234567890}',
    raw: null,
    sensitive: [],
    matched: 1,
    ...over,
  },
})

const work = (id: string, eventId: string, over: Partial<NewWork> = {}): Write => ({
  w: 'work.add',
  lease: null,
  delayMs: 0,
  work: {
    id: id as WorkId,
    kind: 'route',
    consumer: 'route:book',
    definition: 'def-1',
    codeHash: null,
    eventId: eventId as EventId,
    expiresInMs: 60_000,
    replayOf: null,
    ...over,
  },
})

const entry = (key: string, workId: string, eventId: string): NewLedgerEntry => ({
  key,
  work: workId as WorkId,
  epoch: 1,
  consumer: 'route:book',
  eventId: eventId as EventId,
  objectId: '7',
  payloadHash: 'hash-1',
  correlationId: `cor-${eventId}`,
})

const letter = (id: string, workId: string, eventId: string, over: Partial<NewDeadLetter> = {}): Write => ({
  w: 'deadLetter.put',
  row: {
    id: id as DeadLetterId,
    version: 1,
    state: 'open',
    class: 'validation',
    reason: 'rejected',
    consumer: 'route:book',
    eventId: eventId as EventId,
    workId: workId as WorkId,
    attempts: 1,
    replays: 0,
    lastError: 'status 422',
    key: 'BOOK:7',
    correlationId: `cor-${eventId}`,
    payloadHash: 'hash-1',
    runbook: 'docs/runbooks/book.md',
    severity: 'high',
    step: null,
    failureId: null,
    ...over,
  },
})

/** One event that died at `book` and was done by `mail`. */
async function writeStory(store: Store): Promise<void> {
  await store.join('node-1' as NodeId, 60_000)
  await write(store, [
    event('evt_1', { matched: 2 }),
    work('wrk_1', 'evt_1'),
    work('wrk_2', 'evt_1', { consumer: 'route:mail' }),
  ])
  const counters = { attempts: 1, waits: 0, losses: 0 }
  await write(store, [
    {
      w: 'attempt.append',
      work: 'wrk_1' as WorkId,
      attempt: {
        number: 1,
        startedAt: NOW,
        durationMs: 12,
        outcome: 'dead',
        class: 'validation',
        httpStatus: 422,
        error: 'status 422',
      },
    },
    { w: 'ledger.reserve', entry: entry('BOOK:7', 'wrk_1', 'evt_1'), sendWithinMs: 1_000 },
    {
      w: 'ledger.settle',
      key: 'BOOK:7',
      to: 'released',
      proof: 'not-applied',
      effectRef: null,
      result: '{"hidden":true}',
    },
    {
      w: 'work.settle',
      work: 'wrk_1' as WorkId,
      to: 'dead',
      counters,
      note: { ...EMPTY_NOTE, key: 'BOOK:7', class: 'validation', lastError: 'status 422', httpStatus: 422 },
    },
    letter('dlq_1', 'wrk_1', 'evt_1'),
  ])
  await write(store, [
    {
      w: 'ledger.done',
      entry: { ...entry('MAIL:7', 'wrk_2', 'evt_1'), consumer: 'route:mail' },
      effectRef: 'mail-9',
      result: null,
    },
    {
      w: 'work.settle',
      work: 'wrk_2' as WorkId,
      to: 'done',
      counters,
      note: { ...EMPTY_NOTE, key: 'MAIL:7', effectRef: 'mail-9' },
    },
  ])
}

const AT = '2026-11-15T12:00:00.000Z'

describe('without a key', () => {
  test('a watcher learns that the process lives and whether it is ready', async () => {
    const { get } = makeWorld()
    expect(await get('/healthz', null)).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect(await get('/readyz', null)).toMatchObject({ status: 200, body: { status: 'ready' } })
    const sick = makeWorld({
      health: async () => ({ ...WELL, ready: false, reasons: ['the lease is lost'] }),
    })
    expect(await sick.get('/readyz', null)).toMatchObject({
      status: 503,
      body: { status: 'not ready', reasons: ['the lease is lost'] },
    })
    const broken = makeWorld({ health: () => Promise.reject(new Error('hidden')) })
    expect((await broken.get('/readyz', null)).status).toBe(503)
  })

  test('an error’s type can be looked up', async () => {
    const { get } = makeWorld()
    expect((await get('/errors/signature_wrong', null)).body).toMatchObject({
      code: 'signature_wrong',
      status: 401,
    })
    expect((await get('/errors/constructor', null)).status).toBe(404)
  })

  test.each(['/v1/events', '/v1/events/evt_1', '/v1/work', '/v1/ledger', '/v1/dead-letters'])(
    '%s is closed',
    async (url) => {
      const { get, server } = makeWorld()
      for (const key of [null, 'wrong', `${KEY}x`, '']) {
        const answer = await get(url, key)
        expect(answer).toMatchObject({ status: 401, body: { code: 'not_authenticated', status: 401 } })
        expect(answer.headers['www-authenticate']).toBe('Bearer')
        expect(answer.headers['content-type']).toMatch('application/problem+json')
      }
      const basic = await server.app.inject({ url, headers: { authorization: `Basic ${KEY}` } })
      expect(basic.statusCode).toBe(401)
    },
  )
})

describe('events', () => {
  test('[RT1] say how often they came again, and when last', async () => {
    const { store, get } = makeWorld()
    await writeStory(store)
    expect((await get('/v1/events/evt_1')).body).toMatchObject({ duplicates: 0, lastDuplicateAt: null })
    await write(store, [{ w: 'event.repeat', event: 'evt_1' as EventId, count: 2 }])
    const expected = { id: 'evt_1', duplicates: 2, lastDuplicateAt: AT }
    expect((await get('/v1/events/evt_1')).body).toMatchObject(expected)
    expect((await get('/v1/events')).body.items).toMatchObject([expected])
  })

  test('are listed newest first, with their consumers, in pages', async () => {
    const { store, get } = makeWorld()
    await writeStory(store)
    await write(store, [event('evt_2', { source: 'other', matched: 0 })])
    const first = await get('/v1/events?limit=1')
    expect(first.body).toMatchObject({
      items: [{ id: 'evt_2', consumers: [] }],
      nextCursor: expect.any(String),
    })
    const second = await get(`/v1/events?limit=1&cursor=${encodeURIComponent(first.body.nextCursor)}`)
    expect(second.body.items).toMatchObject([
      {
        id: 'evt_1',
        receivedAt: AT,
        occurredAt: '2026-11-15T11:59:59.000Z',
        consumers: [
          { kind: 'route', name: 'book', workId: 'wrk_1', state: 'dead', attempts: 1 },
          { kind: 'route', name: 'mail', workId: 'wrk_2', state: 'done', attempts: 1 },
        ],
      },
    ])
    expect((await get('/v1/events?unmatched=true')).body.items).toMatchObject([{ id: 'evt_2' }])
    expect((await get('/v1/events?source=shop')).body.items).toMatchObject([{ id: 'evt_1' }])
    expect((await get('/v1/events?subject=nothing')).body).toEqual({ items: [], nextCursor: null })
  })

  test('[FA11] are listed without those about Millrace itself, unless they are asked for', async () => {
    const { store, get } = makeWorld()
    for (const id of ['evt_1', 'evt_3']) await write(store, [event(id, {})])
    for (const id of ['evt_2', 'evt_4']) await write(store, [event(id, { source: 'millrace' })])
    const listed = async (query: string) =>
      (await get(`/v1/events?${query}`)).body.items.map(({ id }: { id: string }) => id)
    expect(await listed('')).toEqual(['evt_3', 'evt_1'])
    const first = await get('/v1/events?limit=1')
    expect(first.body.items).toMatchObject([{ id: 'evt_3' }])
    expect(await listed(`limit=1&cursor=${encodeURIComponent(first.body.nextCursor)}`)).toEqual(['evt_1'])
    for (const asked of ['system=true', 'system=true&limit=4'])
      expect(await listed(asked)).toEqual(['evt_4', 'evt_3', 'evt_2', 'evt_1'])
    expect(await listed('source=millrace')).toEqual(['evt_4', 'evt_2'])
    expect(await listed('source=millrace&system=false')).toEqual([])
  })

  test('are listed with two reads, however many there are', async () => {
    const asked: string[] = []
    const counted = (reads: TenantReads) =>
      new Proxy(reads, {
        get(target, name, receiver) {
          const read = Reflect.get(target, name, receiver)
          return (...args: readonly unknown[]) => {
            asked.push(String(name))
            return read(...args)
          }
        },
      })
    const { store, get } = makeWorld({ reads: (tenant) => counted(store.forTenant(tenant)) })
    await writeStory(store)
    for (const id of ['evt_3', 'evt_4', 'evt_5']) await write(store, [event(id), work(`wrk_${id}`, id)])
    expect((await get('/v1/events')).body.items).toHaveLength(4)
    expect(asked).toEqual(['events', 'workOfEvents'])
  })

  test('are shown whole: envelope, payload to the digit, and what became of every consumer', async () => {
    const { store, get } = makeWorld()
    await writeStory(store)
    const { body, text, headers } = await get('/v1/events/evt_1')
    expect(headers['cache-control']).toBe('no-store')
    expect(text).toContain('"data":{"id":12345678901234567890}')
    expect(text).not.toContain('hidden')
    expect(body).toMatchObject({
      id: 'evt_1',
      tenant: 'default',
      source: 'shop',
      subject: 'shop.events.paid',
      correlationId: 'cor-evt_1',
      payloadHash: 'hash-1',
      headers: { 'x-a': 'b' },
      consumers: [{ name: 'book' }, { name: 'mail' }],
      story: [
        {
          id: 'wrk_1',
          history: [
            { number: 1, outcome: 'dead', class: 'validation', httpStatus: 422, error: 'status 422' },
          ],
          ledger: { key: 'BOOK:7', state: 'released', generation: 1 },
          deadLetter: { id: 'dlq_1', state: 'open' },
        },
        { id: 'wrk_2', history: [], ledger: { state: 'done', effectRef: 'mail-9' }, deadLetter: null },
      ],
    })
  })

  test('of others are not there', async () => {
    const { store, get } = makeWorld()
    const other = 'other' as TenantId
    await write(store, [event('evt_9', { tenant: other })], other)
    expect(await get('/v1/events/evt_9')).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await get('/v1/events')).body.items).toEqual([])
  })
})

describe('work', () => {
  test('is listed by its fields', async () => {
    const { store, get } = makeWorld()
    await writeStory(store)
    const { body } = await get('/v1/work?state=dead&consumer=book&class=validation')
    expect(body.items).toEqual([
      {
        id: 'wrk_1',
        kind: 'route',
        consumer: 'book',
        eventId: 'evt_1',
        state: 'dead',
        attempts: 1,
        waits: 0,
        losses: 0,
        dueAt: AT,
        createdAt: AT,
        expiresAt: '2026-11-15T12:01:00.000Z',
        definition: 'def-1',
        class: 'validation',
        key: 'BOOK:7',
        processedAt: AT,
        lastError: 'status 422',
        httpStatus: 422,
      },
    ])
    expect((await get('/v1/work?consumer=route:mail')).body.items).toMatchObject([{ id: 'wrk_2' }])
    expect((await get('/v1/work?state=parked')).body.items).toEqual([])
  })

  test('has its story, also as a replay of a dead letter', async () => {
    const { store, get } = makeWorld()
    await writeStory(store)
    await write(store, [work('wrk_3', 'evt_1', { replayOf: 'dlq_1' as DeadLetterId })])
    expect((await get('/v1/work/wrk_3')).body).toMatchObject({
      id: 'wrk_3',
      state: 'ready',
      replayOf: 'dlq_1',
      history: [],
      ledger: null,
      deadLetter: { id: 'dlq_1' },
    })
    expect(await get('/v1/work/wrk_none')).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  test('is resolved by an operator, who gives a reason', async () => {
    const { store, post, calls } = makeWorld()
    await writeStory(store)
    const answer = await post('/v1/work/wrk_2/resolve', { as: 'done', reason: 'seen in the inbox' })
    expect(answer).toMatchObject({ status: 200, body: { id: 'wrk_2', state: 'done' } })
    const options = { as: 'done', reason: 'seen in the inbox', actor: 'admin' }
    expect(calls).toEqual([['resolve', 'default', 'wrk_2', options]])
    for (const body of [{}, { as: 'done' }, { as: 'gone', reason: 'x' }, { as: 'done', reason: ' ' }]) {
      expect(await post('/v1/work/wrk_2/resolve', body)).toMatchObject({
        status: 400,
        body: { code: 'invalid_request' },
      })
    }
    expect(calls).toHaveLength(1)
  })

  test('passes a refusal on', async () => {
    const { post } = makeWorld({
      work: {
        resolve: async () => {
          throw new AppError('conflict', 'the item is done, not parked')
        },
      } as unknown as HttpApi['work'],
    })
    expect(await post('/v1/work/wrk_2/resolve', { as: 'released', reason: 'x' })).toMatchObject({
      status: 409,
      body: { code: 'conflict', detail: 'the item is done, not parked' },
    })
  })
})

test('the ledger is listed without payloads, by state or key', async () => {
  const { store, get } = makeWorld()
  await writeStory(store)
  const { body, text } = await get('/v1/ledger?state=released')
  expect(text).not.toContain('hidden')
  expect(body.items).toEqual([
    {
      key: 'BOOK:7',
      generation: 1,
      state: 'released',
      consumer: 'book',
      eventId: 'evt_1',
      workId: 'wrk_1',
      objectId: '7',
      effectRef: null,
      payloadHash: 'hash-1',
      correlationId: 'cor-evt_1',
      createdAt: AT,
      proof: 'not-applied',
      settledAt: AT,
      work: { id: 'wrk_1', state: 'dead', key: 'BOOK:7' },
      actions: ['retry'],
    },
  ])
  expect((await get('/v1/ledger?key=MAIL:7')).body).toMatchObject({
    items: [{ key: 'MAIL:7' }],
    nextCursor: null,
  })
  expect((await get('/v1/ledger?key=MAIL:7&state=unknown')).body.items).toEqual([])
})

describe('dead letters', () => {
  test('are listed by their fields', async () => {
    const { store, get } = makeWorld()
    await writeStory(store)
    const { body } = await get('/v1/dead-letters?state=open&consumer=book&class=validation')
    expect(body.items).toEqual([
      {
        id: 'dlq_1',
        state: 'open',
        class: 'validation',
        reason: 'rejected',
        reportedAs: 'DATA_QUALITY',
        severity: 'high',
        consumer: { kind: 'route', name: 'book' },
        eventId: 'evt_1',
        workId: 'wrk_1',
        attempts: 1,
        replays: 0,
        lastError: 'status 422',
        correlationId: 'cor-evt_1',
        payloadHash: 'hash-1',
        createdAt: AT,
        updatedAt: AT,
        key: 'BOOK:7',
        runbook: 'docs/runbooks/book.md',
      },
    ])
    expect((await get('/v1/dead-letters?state=resolved')).body.items).toEqual([])
  })

  test('keep the whole envelope', async () => {
    const { store, get } = makeWorld()
    await writeStory(store)
    const { body, text } = await get('/v1/dead-letters/dlq_1')
    expect(body).toMatchObject({
      id: 'dlq_1',
      history: [{ number: 1 }],
      event: { id: 'evt_1', source: 'shop' },
    })
    expect(text).toContain('"data":{"id":12345678901234567890}')
    expect((await get('/v1/dead-letters/dlq_none')).status).toBe(404)
  })

  test('are replayed, with or without a body', async () => {
    const { post, calls } = makeWorld()
    const answer = { status: 202, body: { replayId: 'wrk_replay', accepted: 1 } }
    expect(await post('/v1/dead-letters/dlq_1/replay')).toMatchObject(answer)
    expect(await post('/v1/dead-letters/dlq_1/replay', {})).toMatchObject(answer)
    expect(await post('/v1/dead-letters/dlq_1/replay', { force: true, reason: 'mended' })).toMatchObject(
      answer,
    )
    expect(calls.map((call) => call[3])).toEqual([
      { force: false, again: false, reason: null, actor: 'admin' },
      { force: false, again: false, reason: null, actor: 'admin' },
      { force: true, again: false, reason: 'mended', actor: 'admin' },
    ])
    expect((await post('/v1/dead-letters/dlq_1/replay', { forse: true })).body.detail).toContain('forse')
  })
})

describe('a request that makes no sense', () => {
  test.each([
    ['/v1/events?limit=0', 'limit'],
    ['/v1/events?limit=501', 'limit'],
    ['/v1/events?limit=many', 'limit'],
    ['/v1/events?sorce=x', 'sorce'],
    ['/v1/work?state=lost', 'ready, waiting, leased'],
    ['/v1/dead-letters?class=bad', 'transient'],
  ])('%s is refused with what is wrong', async (url, hint) => {
    const answer = await makeWorld().get(url)
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', type: '/errors/invalid_request' },
    })
    expect(answer.body.detail).toContain(hint)
  })

  test('with a wrong cursor is refused', async () => {
    expect(await makeWorld().get('/v1/events?cursor=nonsense')).toMatchObject({
      status: 400,
      body: { code: 'invalid_cursor' },
    })
  })

  test('[AP47] with a body that is not JSON, says a thing twice, is too large or of another type is refused', async () => {
    const { server } = makeWorld()
    const send = async (payload: string, type: string) =>
      (
        await server.app.inject({
          method: 'POST',
          url: '/v1/dead-letters/dlq_1/replay',
          headers: { authorization: `Bearer ${KEY}`, 'content-type': type },
          payload,
        })
      ).json()
    expect(await send('{"force":', 'application/json')).toMatchObject({ code: 'not_json', status: 400 })
    expect(await send('{"reason":"a","force":true,"reason":"b"}', 'application/json')).toMatchObject({
      code: 'duplicate_key',
      status: 400,
      detail: expect.stringContaining('`reason`'),
    })
    expect(await send('{"force":1e9999}', 'application/json')).toMatchObject({
      code: 'number_out_of_range',
      status: 400,
    })
    // A number is no object, however it is held.
    expect(await send('1.0', 'application/json')).toMatchObject({ code: 'invalid_request', status: 400 })
    expect(await send('{"force":1.0}', 'application/json')).toMatchObject({
      code: 'invalid_request',
      status: 400,
    })
    expect(await send('x'.repeat(1_100_000), 'application/json')).toMatchObject({ code: 'body_too_large' })
    expect(await send('force=true', 'text/plain')).toMatchObject({ code: 'wrong_type', status: 415 })
  })

  test('to nowhere is a problem document too', async () => {
    const { get } = makeWorld()
    expect(await get('/nowhere?token=hidden')).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await get('/nowhere?token=hidden')).text).not.toContain('hidden')
    expect((await get('/v1/nowhere')).status).toBe(404)
  })
})

test('a failure of our own is logged with its number, and the caller sees no more than that', async () => {
  const { get, log } = makeWorld({
    reads: () => {
      throw new StoreError('unavailable', 'hidden')
    },
  })
  const answer = await get('/v1/events')
  expect(answer).toMatchObject({ status: 503, body: { code: 'store_unavailable' } })
  expect(answer.headers['retry-after']).toBe('1')
  expect(answer.text).not.toContain('hidden')
  expect(log.messages).toMatchObject([
    { level: 'error', name: 'http.failed', fields: { instance: answer.body.instance, route: '/v1/events' } },
  ])
})

describe('on one port', () => {
  const send = (
    port: number,
    method: string,
    path: string,
    agent?: Agent,
  ): Promise<{ status: number; body: string }> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${KEY}` }
      const request = httpRequest({ port, host: '127.0.0.1', method, path, headers, agent }, (response) => {
        let body = ''
        response.on('data', (chunk) => {
          body += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
      })
      request.on('error', reject)
      request.end(method === 'POST' ? '{}' : undefined)
    })

  test('webhooks and the API are served side by side', async () => {
    const { server } = makeWorld()
    const { port, url } = await server.listen({ host: '127.0.0.1', port: 0 })
    expect(url).toBe(`http://127.0.0.1:${port}`)
    expect(await send(port, 'POST', '/in/default/shop')).toEqual({
      status: 202,
      body: '{"eventId":"evt_new","duplicate":false}',
    })
    expect(await send(port, 'PUT', '/in/default/shop')).toMatchObject({ status: 405 })
    expect(await send(port, 'GET', '/v1/events')).toMatchObject({ status: 200 })
    expect(await send(port, 'GET', '/healthz')).toMatchObject({ status: 200 })
  })

  test('closing lets what is under way end, drops idle connections and takes no new ones', async () => {
    let release = () => {}
    let entered = () => {}
    const inside = new Promise<void>((resolve) => {
      entered = resolve
    })
    const { server } = makeWorld({
      receive: () =>
        new Promise((resolve) => {
          release = () => resolve({ eventId: 'evt_late' as EventId, duplicate: false })
          entered()
        }),
    })
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
    const agent = new KeepAliveAgent({ keepAlive: true })
    expect(await send(port, 'GET', '/healthz', agent)).toMatchObject({ status: 200 })
    const underWay = send(port, 'POST', '/in/default/shop', new KeepAliveAgent({ keepAlive: true }))
    await inside
    const closed = server.close()
    await new Promise(setImmediate)
    release()
    expect(await underWay).toMatchObject({ status: 202, body: expect.stringContaining('evt_late') })
    await closed
    await expect(send(port, 'GET', '/healthz', agent)).rejects.toThrow()
    agent.destroy()
  })

  test('closing does not wait for a kept-alive connection whose request has ended meanwhile', async () => {
    let release = () => {}
    let entered = () => {}
    const inside = new Promise<void>((resolve) => {
      entered = resolve
    })
    const health = () =>
      new Promise<Readiness>((resolve) => {
        release = () => resolve(WELL)
        entered()
      })
    const { server } = makeWorld({ health }, 600_000)
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
    const underWay = send(port, 'GET', '/readyz', new KeepAliveAgent({ keepAlive: true }))
    await inside
    const closed = server.close()
    await new Promise(setImmediate)
    release()
    expect(await underWay).toMatchObject({ status: 200 })
    await closed
  })

  test('closing does not wait forever for a client that never ends', async () => {
    const { server } = makeWorld({ receive: () => new Promise(() => {}) })
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
    const socket = connect(port, '127.0.0.1')
    const ended = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => {})
    await new Promise((resolve) => socket.write('POST /in/default/x HTTP/1.1\r\n', resolve))
    await server.close()
    await ended
  })
})

describe('[AP4] what is wrong with a request', () => {
  test('says how a time is written', async () => {
    const { get } = makeWorld()
    const answer = await get('/v1/webhooks/deliveries?from=2026-01-01')
    expect(answer).toMatchObject({
      status: 400,
      body: {
        details: { fields: [{ path: '/from', message: 'must be a time such as 2026-03-02T08:00:00Z' }] },
      },
    })
  })

  test('is reported at every field, with what to write', async () => {
    const { post, get } = makeWorld()
    const body = { as: 'gone', reason: ' ', forse: true }
    const answer = await post('/v1/work/wrk_1/resolve', body)
    expect(answer).toMatchObject({
      status: 400,
      body: {
        code: 'invalid_request',
        details: {
          fields: [
            { path: '/forse', message: 'is not known; known: as, reason, key' },
            { path: '/as', message: 'must be one of done, released' },
            { path: '/reason', message: 'must hold more than spaces' },
          ],
        },
      },
    })
    expect(answer.body.detail).toContain('body /as must be one of done, released')
    expect((await get('/v1/events?limit=0&colour=red')).body.details.fields).toEqual([
      { path: '/colour', message: expect.stringContaining('known: cursor, limit, source') },
      { path: '/limit', message: 'must be at least 1' },
    ])
    expect((await post('/v1/work/wrk_1/resolve', {})).body.details.fields).toEqual([
      { path: '/as', message: 'is missing' },
      { path: '/reason', message: 'is missing' },
    ])
  })
})

describe('an idempotency key', () => {
  const resolve = { as: 'done', reason: 'seen' }
  const send = (
    { server }: ReturnType<typeof makeWorld>,
    key: string,
    payload: object = resolve,
    url = '/v1/work/wrk_2/resolve',
  ) =>
    server.app.inject({
      method: 'POST',
      url,
      headers: { authorization: `Bearer ${KEY}`, 'idempotency-key': key },
      payload,
    })

  test('[AP5] brings the first answer again, and nothing is done twice', async () => {
    const world = makeWorld()
    await writeStory(world.store)
    const first = await send(world, 'k-1')
    const again = await send(world, 'k-1')
    expect(first.headers['idempotency-replayed']).toBeUndefined()
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect([again.statusCode, again.body, again.headers['content-type']]).toEqual([
      200,
      first.body,
      first.headers['content-type'],
    ])
    expect(world.calls).toHaveLength(1)
    await send(world, 'k-2')
    expect(world.calls).toHaveLength(2)
  })

  test('[AP5] of another form is refused', async () => {
    const world = makeWorld()
    for (const key of ['', 'two words', 'ü', 'x'.repeat(256)]) {
      const answer = await send(world, key)
      expect(answer.statusCode, key).toBe(400)
      expect(answer.json().details.fields[0].path).toBe('/idempotency-key')
    }
    expect(world.calls).toEqual([])
  })

  test('[AP6] for another request is refused, and while the first runs it says when to come again', async () => {
    let end = () => {}
    let begun = () => {}
    const running = new Promise<void>((done) => {
      begun = done
    })
    const world = makeWorld({
      work: {
        resolve: () => {
          begun()
          return new Promise<void>((done) => {
            end = done
          })
        },
      } as unknown as HttpApi['work'],
    })
    await writeStory(world.store)
    const first = send(world, 'k-1')
    await running
    const second = await send(world, 'k-1')
    expect(second.statusCode).toBe(409)
    expect(second.headers['retry-after']).toBe('1')
    expect(second.json().code).toBe('idempotency_running')
    const other = await send(world, 'k-1', { ...resolve, reason: 'heard' })
    expect([other.statusCode, other.json().code]).toEqual([422, 'idempotency_mismatch'])
    end()
    expect((await first).statusCode).toBe(200)
    const elsewhere = await send(world, 'k-1', resolve, '/v1/work/wrk_1/resolve')
    expect(elsewhere.json().code).toBe('idempotency_mismatch')
  })

  test('[AP7] keeps a refusal of the route, and forgets a failure of ours', async () => {
    let failures = 0
    const world = makeWorld({
      work: {
        resolve: async () => {
          failures += 1
          if (failures === 1) throw new Error('hidden')
          throw new AppError('conflict', 'the item is done, not parked')
        },
      } as unknown as HttpApi['work'],
    })
    expect((await send(world, 'k-1')).statusCode).toBe(500)
    const refused = await send(world, 'k-1')
    expect(refused.statusCode).toBe(409)
    const again = await send(world, 'k-1')
    expect([again.body, again.headers['idempotency-replayed']]).toEqual([refused.body, 'true'])
    expect(again.headers['content-type']).toContain('application/problem+json')
    expect(failures).toBe(2)
  })

  test('[AP9] is refused where the response has a secret, and nothing is created', async () => {
    const world = makeWorld()
    const answer = await send(world, 'k-1', { name: 'mine', role: 'viewer' }, '/v1/keys')
    expect(answer.statusCode).toBe(400)
    expect(answer.json().detail).toContain('takes no idempotency key')
    const { items } = (await world.get('/v1/keys')).body
    expect(items).toEqual([])
    const dump = await world.store.system('verification').dump()
    expect(dump.records.filter(({ kind }) => kind === 'idempotency')).toEqual([])
  })
})

describe('the overview', () => {
  test('[FD4] counts what there is, and says what was done in the last minute', async () => {
    const { store, get } = makeWorld({
      definitions: {
        list: async () => [{ kind: 'Route', status: 'paused' }],
      } as unknown as HttpApi['definitions'],
    })
    await writeStory(store)
    await write(store, [event('evt_2', { matched: 0 }), work('wrk_9', 'evt_1', { consumer: 'route:late' })])
    expect((await get('/v1/overview')).body).toEqual({
      now: AT,
      counts: {
        ready: 1,
        leased: 0,
        parked: 0,
        openDeadLetters: 1,
        openFailures: 0,
        raisedEscalations: 0,
        activeInstances: 0,
        instancesWithAttention: 0,
        openOrphans: 0,
        unmatched: 1,
      },
      isCapped: {
        ready: false,
        leased: false,
        parked: false,
        openDeadLetters: false,
        openFailures: false,
        raisedEscalations: false,
        activeInstances: false,
        instancesWithAttention: false,
        openOrphans: false,
        unmatched: false,
      },
      oldestReadyAt: AT,
      definitions: { sources: 0, routes: 1, workflows: 0, paused: 1 },
      subscriptions: { active: 1, failing: 2, paused: 0, disabled: 0 },
      rates: { acceptedPerMinute: 0, donePerMinute: 0, failedPerMinute: 0 },
    })
    const { body } = await get('/v1/stats?minutes=5')
    expect(body.accepted).toHaveLength(150)
    expect(body.queueAgeMs.at(-1)).toBe(0)
    expect((await get('/v1/stats?minutes=0')).status).toBe(400)
  })

  test('[FD4] asks the store at most every two seconds, however many look', async () => {
    let asked = 0
    let now = NOW
    const world = makeWorld({
      now: () => now,
      definitions: { list: async () => [] } as unknown as HttpApi['definitions'],
    })
    const real = world.store.forTenant(DEFAULT_TENANT)
    const counting = makeWorld({
      now: () => now,
      definitions: { list: async () => [] } as unknown as HttpApi['definitions'],
      reads: () => ({
        ...real,
        overview: () => {
          asked += 1
          return real.overview()
        },
      }),
    })
    await Promise.all([counting.get('/v1/overview'), counting.get('/v1/overview'), counting.get('/v1/stats')])
    expect(asked).toBe(1)
    now += 2_000
    await counting.get('/v1/overview')
    expect(asked).toBe(2)
  })
})
