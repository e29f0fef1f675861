// What people do about dead letters and work, over the API: a real engine, a vendor in the test's hand.

import { afterEach, expect, test } from 'vitest'
import { makeSystemClock } from '../adapters/clock-system/index.ts'
import { makeStaticCode } from '../adapters/code-static/index.ts'
import { makeCountingEncryption } from '../adapters/encryption-local/encryption.fixture.ts'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { makeSystemRandom } from '../adapters/random-system/index.ts'
import { makeMemoryStore } from '../adapters/store-memory/index.ts'
import { DEFAULT_TENANT, type EventId, type NodeId, type TenantId } from '../core/foundation/ids/index.ts'
import { makeAccess } from '../engine/access/index.ts'
import { HTTP, LOST, ROUTE, SOURCE } from '../engine/engine.fixture.ts'
import { type Change, ENGINE_DEFAULTS, makeEngine } from '../engine/index.ts'
import { makeMemoryVault } from '../engine/secrets/vault.fixture.ts'
import type { HttpOutcome } from '../ports/http-client.ts'
import { NO_WAKES } from '../ports/wakes.ts'
import { checkAnswers } from './answers.fixture.ts'
import type { HttpApi } from './api.ts'
import { makeHttpServer } from './server.ts'

const KEY = 'test-key'
const answered = (status: number): HttpOutcome => ({
  kind: 'response',
  status,
  headers: {},
  body: '{"id":"v1"}',
  durationMs: 1,
})

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function makeWorld(environment = 'DEV') {
  const [clock, random, log] = [makeSystemClock(), makeSystemRandom(), makeMemoryLog()]
  const store = makeMemoryStore({ now: () => clock.now(), defer: (callback) => clock.defer(callback) })
  const vendor = { answer: answered(422) }
  const urls: string[] = []
  const engine = makeEngine(
    {
      encryption: makeCountingEncryption(),
      store,
      clock,
      random,
      log,
      http: {
        async send({ url }) {
          urls.push(url)
          return vendor.answer
        },
        vet: async () => ({ ok: true }),
      },
      vault: { resolve: async () => [] },
      secrets: makeMemoryVault(() => 0),
      code: makeStaticCode({}),
      wakes: NO_WAKES,
      bus: null,
    },
    { ...ENGINE_DEFAULTS, node: 'one' as NodeId },
  )
  const retry = { profile: null, attempts: 3, delaysMs: [600_000, 600_000] }
  await engine.apply(DEFAULT_TENANT, [SOURCE, { ...ROUTE, retry, do: HTTP }])
  const changes: Change[] = []
  let look = () => {}
  engine.watch({
    changed(_tenant, change) {
      changes.push(change)
      look()
    },
    lost() {},
  })
  await engine.start()
  const api: Partial<HttpApi> = {
    reads: (tenant) => store.forTenant(tenant),
    access: makeAccess({ store, clock, random, log, adminKey: KEY }),
    deadLetters: engine,
    work: engine,
    definitions: { versionOf: async () => null } as unknown as HttpApi['definitions'],
    replays: engine.replays,
    about: { environment, version: '0', node: 'one', roles: [] },
  }
  let requests = 0
  const server = makeHttpServer(api as HttpApi, {
    bodyBytesMax: 8_388_608,
    closeMs: 1_000,
    requestId: () => `r-${requests++}`,
    log,
  })
  const { faults } = checkAnswers(server.app)
  closers.push(async () => {
    await server.close()
    await engine.drain(1_000)
    expect(faults).toEqual([])
  })
  const inject = async (method: 'GET' | 'POST', url: string, payload?: unknown, key = KEY) => {
    const answer = await server.app.inject({
      method,
      url: `/v1${url}`,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(payload !== undefined && {
        payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
      }),
    })
    return {
      status: answer.statusCode,
      text: answer.body,
      body: answer.body === '' ? null : JSON.parse(answer.body),
    }
  }
  const seen = async <Type extends Change['type']>(
    type: Type,
    fits: (change: Extract<Change, { type: Type }>) => boolean,
  ) => {
    type Wanted = Extract<Change, { type: Type }>
    const find = () =>
      changes.find((change): change is Wanted => change.type === type && fits(change as Wanted))
    for (let found = find(); ; found = find()) {
      if (found !== undefined) return found
      await new Promise<void>((resolve) => {
        look = resolve
      })
    }
  }
  let sent = 0
  return {
    store,
    vendor,
    urls,
    raw: (url: string) =>
      server.app.inject({ method: 'GET', url: `/v1${url}`, headers: { authorization: `Bearer ${KEY}` } }),
    get: (url: string, key?: string) => inject('GET', url, undefined, key),
    post: (url: string, payload?: unknown, key?: string) => inject('POST', url, payload, key),
    seen,
    /** An event whose work ends in this state. */
    async send(state: 'dead' | 'ready' | 'parked') {
      sent += 1
      const payload = { kind: 'paid', id: `d${sent}`, order: `o${sent}` }
      const body = new TextEncoder().encode(JSON.stringify(payload))
      const { eventId } = await engine.accept({ tenant: 'default', source: 'shop', headers: {}, body })
      await seen('work', (change) => change.eventId === eventId && change.state === state)
      const [work] = await store.forTenant(DEFAULT_TENANT).workOfEvent(eventId)
      const letters = await store.forTenant(DEFAULT_TENANT).deadLetters({ eventId, cursor: null, limit: 1 })
      return { eventId, workId: work?.id as string, letterId: letters.items[0]?.id as string }
    },
    async key(role: string, tenant?: string): Promise<string> {
      if (tenant !== undefined) await inject('POST', '/tenants', { name: tenant })
      return (await inject('POST', '/keys', { name: role, role, ...(tenant && { tenant }) })).body.key
    },
  }
}

test('[IN14] [IN15] events are replayed by name and by filter, and looked at before', async () => {
  const { send, get, post, seen, vendor, key } = await makeWorld()
  const { eventId } = await send('dead')
  const preview = await post('/events/replay', { ids: [eventId], dryRun: true })
  expect(preview).toMatchObject({
    status: 200,
    body: {
      items: [
        { id: eventId, subject: 'shop.events.paid', consumers: [{ name: 'book', verdict: 'would-call' }] },
      ],
      totals: { 'would-call': 1 },
      calls: { 'vendor.example': 1 },
      matched: 1,
      isCapped: false,
    },
  })
  vendor.answer = answered(201)
  const filter = { source: 'shop', from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' }
  const begun = await post('/events/replay', { filter, reason: 'mended' })
  expect(begun).toMatchObject({ status: 202, body: { accepted: 1 } })
  await seen(
    'work',
    (change) => change.eventId === eventId && change.state === 'done' && change.consumer === 'route:book',
  )
  const { body } = await get(`/replays/${begun.body.replayId}`)
  expect(body).toMatchObject({ of: 'events', total: 1, by: expect.any(String), reason: 'mended' })
  expect(body.filter).toEqual({ ...filter, from: '2000-01-01T00:00:00.000Z', to: '2100-01-01T00:00:00.000Z' })
  const items = (await get('/work?consumer=source:shop')).body.items
  expect(items).toMatchObject([{ kind: 'intake', consumer: 'shop', replayOf: eventId }])
  expect(items[0].explanation).toContain('was matched')
  expect(await post('/events/replay', {})).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  expect(await post('/events/replay', { ids: [eventId], filter: {} })).toMatchObject({ status: 400 })
  expect(await post('/events/replay', { filter: { from: 'yesterday' } })).toMatchObject({ status: 400 })
  expect(await post('/events/replay', { filter: { source: 'nobody' } })).toMatchObject({ status: 404 })
  expect(await post('/events/replay', { ids: [eventId] }, await key('viewer'))).toMatchObject({ status: 403 })
})

test('[IN19] the body of an event is given as it was received, and to no browser as a page', async () => {
  const { send, raw } = await makeWorld()
  const { eventId } = await send('dead')
  const answer = await raw(`/events/${eventId}/body`)
  expect(answer.statusCode).toBe(200)
  expect(answer.rawPayload.toString('utf8')).toBe('{"kind":"paid","id":"d1","order":"o1"}')
  expect(answer.headers).toMatchObject({
    'content-type': expect.stringContaining('application/json'),
    'content-disposition': `attachment; filename="${eventId}"`,
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining('sandbox'),
  })
  expect((await raw('/events/evt_none/body')).statusCode).toBe(404)
})

test('[BU61] [IN19] also where it was a message that is no text', async () => {
  const { send, raw, store } = await makeWorld()
  const { eventId } = await send('dead')
  const sent = await store.forTenant(DEFAULT_TENANT).event(eventId)
  if (sent === null) throw new Error('the event is gone')
  const headers = '{"millrace-unread":"not_json","millrace-body":"base64"}'
  const event = {
    ...sent,
    id: 'evt_bytes' as EventId,
    dedupKey: 'bytes',
    headers,
    data: '"/wA="',
    raw: '/wA=',
  }
  await store.commit({
    tenant: DEFAULT_TENANT,
    guards: [],
    writes: [{ w: 'event.append', event, dedupForMs: 0 }],
  })
  const answer = await raw('/events/evt_bytes/body')
  expect([...answer.rawPayload]).toEqual([0xff, 0x00])
})

test('[DL2] dead letters are grouped by what killed them', async () => {
  const { send, get, vendor } = await makeWorld()
  await send('dead')
  const { letterId } = await send('dead')
  vendor.answer = answered(400)
  await send('dead')
  const { status, body } = await get('/dead-letters/groups')
  expect(status).toBe(200)
  expect(body).toMatchObject({ nextCursor: null, isCapped: false })
  expect(body.items).toMatchObject([
    {
      class: 'validation',
      reason: 'rejected',
      consumer: { kind: 'route', name: 'book' },
      cause: 'answered 422',
      count: 2,
      sampleId: letterId,
    },
    { cause: 'answered 400', count: 1 },
  ])
  expect((await get('/dead-letters/groups?state=discarded')).body.items).toEqual([])
  expect((await get('/dead-letters?reason=expired')).body.items).toEqual([])
  expect((await get('/dead-letters?reason=rejected')).body.items).toHaveLength(3)
  expect(await get('/dead-letters/groups?state=lost')).toMatchObject({ status: 400 })
})

test('[DL3] a letter is marked ready and discarded; a second time is a conflict', async () => {
  const { send, post } = await makeWorld()
  const { letterId } = await send('dead')
  expect(await post(`/dead-letters/${letterId}/ready`, {})).toMatchObject({
    status: 200,
    body: { id: letterId, state: 'ready_to_replay' },
  })
  expect(await post(`/dead-letters/${letterId}/ready`)).toMatchObject({
    status: 409,
    body: { code: 'conflict' },
  })
  expect(await post(`/dead-letters/${letterId}/discard`, {})).toMatchObject({
    status: 400,
    body: { code: 'invalid_request', details: { fields: [{ path: '/reason' }] } },
  })
  expect(await post(`/dead-letters/${letterId}/discard`, { reason: 'test data' })).toMatchObject({
    status: 200,
    body: { state: 'discarded' },
  })
  expect(await post('/dead-letters/dlq_none/discard', { reason: 'x' })).toMatchObject({ status: 404 })
})

test('[DL4] a letter is edited, with numbers as they were written', async () => {
  const { send, get, post } = await makeWorld()
  const { letterId, eventId, workId } = await send('dead')
  const text = '{"data":{"kind":"paid","order":"o9","id":12345678901234567890},"reason":"typo"}'
  const edited = await post(`/dead-letters/${letterId}/edit`, text)
  expect(edited).toMatchObject({ status: 200, body: { state: 'ready_to_replay', key: 'BOOK:o1' } })
  expect(edited.body.eventId).not.toBe(eventId)
  const shown = await get(`/dead-letters/${letterId}`)
  expect(shown.text).toContain('12345678901234567890')
  expect(shown.body.event).toMatchObject({ causationId: eventId, data: { order: 'o9' } })
  expect(shown.body.event.editedFrom).toBe(eventId)
  // The item that died still leads to its letter, which points at the copy now.
  expect((await get(`/work/${workId}`)).body.deadLetter).toMatchObject({ id: letterId })
  expect(await post(`/dead-letters/${letterId}/edit`, { reason: 'no data' })).toMatchObject({
    status: 400,
    body: { details: { fields: [{ path: '/data' }] } },
  })
})

test('[DL14] an edited copy says who changed what, and CloudEvents say that it is one', async () => {
  const { send, get, post } = await makeWorld()
  const { letterId, eventId } = await send('dead')
  expect((await get(`/events/${eventId}`)).body).not.toHaveProperty('edited')
  const { body } = await post(`/dead-letters/${letterId}/edit`, {
    data: { kind: 'paid', order: 'o9' },
    reason: 'typo',
  })
  const copy = (await get(`/events/${body.eventId}`)).body
  expect(copy).toMatchObject({
    editedFrom: eventId,
    edited: { from: eventId, deadLetterId: letterId, at: copy.receivedAt, reason: 'typo', hasMore: false },
  })
  expect(copy.edited.by).toMatch(/./)
  expect(copy.edited.changed).toContain('order')
  const listed = (await get('/events?source=shop')).body.items as { id: string; editedFrom?: string }[]
  expect(listed.map(({ id, editedFrom }) => [id, editedFrom])).toEqual([
    [body.eventId, eventId],
    [eventId, undefined],
  ])
})

test('[DL7] [DL8] work is made due at once and cancelled', async () => {
  const { send, post, vendor, seen } = await makeWorld()
  vendor.answer = answered(503)
  const { workId } = await send('ready')
  vendor.answer = answered(201)
  expect(await post(`/work/${workId}/retry`, { reason: 'now' })).toMatchObject({
    status: 200,
    body: { id: workId },
  })
  await seen('work', (change) => change.id === workId && change.state === 'done')
  expect(await post(`/work/${workId}/cancel`, { reason: 'late' })).toMatchObject({ status: 409 })
  vendor.answer = answered(503)
  const other = await send('ready')
  expect(await post(`/work/${other.workId}/cancel`, {})).toMatchObject({ status: 400 })
  expect(await post(`/work/${other.workId}/cancel`, { reason: 'by hand' })).toMatchObject({
    status: 200,
    body: { state: 'cancelled', lastError: 'by admin: by hand' },
  })
})

test('[DL9] work without a probe is not asked for', async () => {
  const { send, post, vendor } = await makeWorld()
  vendor.answer = LOST
  const { workId } = await send('parked')
  expect(await post(`/work/${workId}/probe`)).toMatchObject({
    status: 409,
    body: { code: 'conflict', detail: expect.stringContaining('no probe') },
  })
})

test('[RP1] [RP3] many letters are looked at first, and then replayed', async () => {
  const { send, get, post, vendor, seen, urls } = await makeWorld()
  const letters = [await send('dead'), await send('dead')]
  const filter = { consumer: 'book', cause: 'answered 422' }
  const preview = await post('/dead-letters/replay', { filter, dryRun: true })
  expect(preview).toMatchObject({
    status: 200,
    body: {
      totals: { 'would-skip': 0, 'would-call': 2, 'would-differ': 0, 'would-wait': 0, 'would-fail': 0 },
      calls: { 'vendor.example': 2 },
      matched: 2,
      isCapped: false,
    },
  })
  expect(urls).toHaveLength(2)
  expect((await get('/replays')).body).toEqual({ items: [], nextCursor: null })
  vendor.answer = answered(201)
  const begun = await post('/dead-letters/replay', { filter, reason: 'vendor is back' })
  expect(begun).toMatchObject({ status: 202, body: { accepted: 2 } })
  const { replayId } = begun.body
  for (const { letterId } of letters) {
    await seen('deadLetter', (change) => change.id === letterId && change.state === 'resolved')
  }
  const { body } = await get(`/replays/${replayId}`)
  expect(body).toMatchObject({
    id: replayId,
    total: 2,
    replayed: 2,
    refused: 0,
    refusals: [],
    filter,
    by: 'admin',
    reason: 'vendor is back',
  })
  expect((await get('/replays')).body.items).toMatchObject([{ id: replayId }])
})

test('[RP7] a replay is cancelled once', async () => {
  const { post, get } = await makeWorld()
  // Letters that nobody has are refused one by one: enough of them that it cannot be over yet.
  const ids = Array.from({ length: 500 }, (_, index) => `dlq_${index}`)
  const { replayId } = (await post('/dead-letters/replay', { filter: { ids } })).body
  const cancelled = await post(`/replays/${replayId}/cancel`, { reason: 'not yet' })
  expect(cancelled).toMatchObject({ status: 200, body: { state: 'cancelled' } })
  expect(cancelled.body.finishedAt).not.toBeNull()
  expect(await post(`/replays/${replayId}/cancel`)).toMatchObject({ status: 409 })
  expect((await get(`/replays/${replayId}`)).body).toEqual(cancelled.body)
  expect(await post('/replays/rpl_none/cancel')).toMatchObject({ status: 404 })
  expect(await get('/replays/rpl_none')).toMatchObject({ status: 404 })
})

test('[RP2] a filter that says too much, nothing known, or finds nothing is refused', async () => {
  const { post, get } = await makeWorld()
  const ask = (filter: unknown) => post('/dead-letters/replay', { filter })
  expect(await post('/dead-letters/replay', {})).toMatchObject({
    status: 400,
    body: { details: { fields: [{ path: '/filter' }] } },
  })
  expect(await ask({ ids: ['dlq_1'], class: 'auth' })).toMatchObject({
    status: 400,
    body: { details: { fields: [{ path: '/filter/ids' }] } },
  })
  for (const filter of [{ ids: [] }, { state: 'resolved' }, { clas: 'auth' }]) {
    expect(await ask(filter)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  }
  expect(await ask({})).toMatchObject({ status: 404 })
  expect((await get('/replays')).body.items).toEqual([])
})

test('[RP9] neither another tenant nor a viewer can do any of it', async () => {
  const { send, get, post, key, store } = await makeWorld()
  const { letterId, workId } = await send('dead')
  const { replayId } = (await post('/dead-letters/replay', { filter: { ids: [letterId] } })).body
  const actions = [
    [`/dead-letters/${letterId}/ready`, {}],
    [`/dead-letters/${letterId}/edit`, { data: {}, reason: 'x' }],
    [`/dead-letters/${letterId}/discard`, { reason: 'x' }],
    [`/dead-letters/${letterId}/replay`, {}],
    [`/work/${workId}/probe`, {}],
    [`/work/${workId}/retry`, {}],
    [`/work/${workId}/cancel`, { reason: 'x' }],
    [`/replays/${replayId}/cancel`, {}],
  ] as const
  const [viewer, other] = [await key('viewer'), await key('operator', 'globex')]
  for (const [url, body] of actions) {
    expect(await post(url, body, viewer), url).toMatchObject({ status: 403, body: { code: 'not_allowed' } })
    expect(await post(url, body, other), url).toMatchObject({ status: 404 })
  }
  expect(await post('/dead-letters/replay', { filter: {} }, viewer)).toMatchObject({ status: 403 })
  expect(await post('/dead-letters/replay', { filter: {} }, other)).toMatchObject({ status: 404 })
  expect((await get(`/replays/${replayId}`, viewer)).status).toBe(200)
  expect((await get(`/replays/${replayId}`, other)).status).toBe(404)
  for (const list of ['/replays', '/dead-letters/groups', '/dead-letters']) {
    expect((await get(list, other)).body.items).toEqual([])
  }
  const dump = await store.system('verification').dump()
  expect(dump.work.every((row) => row.tenant !== ('globex' as TenantId))).toBe(true)
})

test('[RL6] in PROD a replay needs a reason, and a look does not', async () => {
  const { send, post } = await makeWorld('PROD')
  const { letterId, eventId } = await send('dead')
  const filter = { ids: [letterId] }
  const needed = { status: 400, body: { code: 'reason_required' } }
  expect(await post('/dead-letters/replay', { filter, dryRun: true })).toMatchObject({ status: 200 })
  expect(await post('/dead-letters/replay', { filter })).toMatchObject(needed)
  expect(await post(`/dead-letters/${letterId}/replay`, {})).toMatchObject(needed)
  expect(await post('/events/replay', { ids: [eventId] })).toMatchObject(needed)
  const reason = 'the vendor is back'
  expect(await post('/dead-letters/replay', { filter, reason, perSecond: 5 })).toMatchObject({ status: 202 })
})

test('[RL5] a deliberate second effect needs a reason everywhere', async () => {
  const { send, post } = await makeWorld()
  const { letterId } = await send('dead')
  const needed = { status: 400, body: { code: 'reason_required' } }
  expect(await post(`/dead-letters/${letterId}/replay`, { again: true })).toMatchObject(needed)
  expect(await post('/dead-letters/replay', { filter: {}, again: true })).toMatchObject(needed)
  expect(await post(`/dead-letters/${letterId}/replay`, { again: true, reason: 'lost' })).toMatchObject({
    status: 202,
  })
})

test('[RL11] [RL12] the ledger tells what may be done about each effect, and its generations', async () => {
  const { send, get, post, vendor } = await makeWorld()
  vendor.answer = LOST
  const { workId } = await send('parked')
  const unknown = await get('/ledger?state=unknown&consumer=book')
  expect(unknown.body.items).toMatchObject([
    {
      key: 'BOOK:o1',
      state: 'unknown',
      work: { id: workId, state: 'parked', key: 'BOOK:o1' },
      actions: ['done', 'released', 'retry', 'cancel'],
    },
  ])
  expect((await get('/ledger?state=unknown&consumer=other')).body.items).toEqual([])
  expect((await get('/ledger?key=BOOK:o1&consumer=other')).body.items).toEqual([])
  await post(`/work/${workId}/resolve`, { as: 'done', reason: 'I looked' })
  const history = await get('/ledger/history?key=BOOK:o1')
  expect(history.body.items).toMatchObject([
    { generation: 1, state: 'done', work: { state: 'done' }, actions: [] },
  ])
  expect((await get('/ledger/history?key=nobody')).body).toEqual({ items: [], nextCursor: null })
  expect(await get('/ledger/history')).toMatchObject({ status: 400 })
})

test('[RL18] events are found by the whole key of an effect, with the other filters', async () => {
  const { send, get } = await makeWorld()
  const { eventId } = await send('dead')
  const found = async (query: string) =>
    ((await get(`/events?${query}`)).body.items as { id: string }[]).map(({ id }) => id)
  expect(await found('q=BOOK:o1')).toEqual([eventId])
  expect(await found('q=BOOK:o1&source=shop')).toEqual([eventId])
  expect(await found('q=BOOK:o1&source=other')).toEqual([])
  expect(await found('q=BOOK:o1&unmatched=true')).toEqual([])
  expect(await found('q=BOOK:o1&to=2000-01-01T00:00:00Z')).toEqual([])
  expect(await found('q=BOOK:o')).toEqual([])
  // Found by both its key and its payload, it is listed once.
  expect(await found('q=o1&source=shop')).toEqual([eventId])
})

test('[RL13] dead letters are listed by what is not indexed, too', async () => {
  const { send, get } = await makeWorld()
  const { letterId } = await send('dead')
  await send('dead')
  const { body } = await get('/dead-letters?key=BOOK:o1&severity=high&from=2000-01-01T00:00:00Z')
  expect(body.items).toMatchObject([{ id: letterId, step: 'call' }])
  expect((await get('/dead-letters?to=2000-01-01T00:00:00Z')).body.items).toEqual([])
  expect(await get('/dead-letters?severity=high&cursor=nonsense')).toMatchObject({ status: 400 })
})
