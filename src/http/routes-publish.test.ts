import { afterEach, describe, expect, test } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { makeSystemRandom } from '../adapters/random-system/index.ts'
import { makeAccess } from '../engine/access/index.ts'
import { CREATED, makeWorld, type NodeOptions, ROUTE, SOURCE } from '../engine/engine.fixture.ts'
import { StoreError } from '../ports/store.ts'
import { checkAnswers } from './answers.fixture.ts'
import type { HttpApi } from './api.ts'
import { type HttpServer, makeHttpServer } from './server.ts'

const ADMIN = 'test-key'
const EVENT = {
  specversion: '1.0',
  id: 'A1',
  source: '/billing',
  type: 'shop.events.paid',
  subject: 'o1',
  time: '2026-01-02T03:04:05Z',
  data: { order: 'o1', id: 'i1' },
}
const STRUCTURED = 'application/cloudevents+json'
const BATCH = 'application/cloudevents-batch+json'

const servers: HttpServer[] = []
const answers: { readonly faults: readonly string[] }[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
  expect(answers.splice(0).flatMap(({ faults }) => faults)).toEqual([])
})

async function makeApi(options: NodeOptions = {}) {
  const world = makeWorld(() => CREATED)
  const { engine } = await world.node(options)
  const log = makeMemoryLog()
  const access = makeAccess({
    store: world.store,
    clock: { now: world.now, monotonic: world.now, after: () => () => {}, defer: (callback) => callback() },
    random: makeSystemRandom(),
    log,
    adminKey: ADMIN,
  })
  const api: Partial<HttpApi> = {
    access,
    publish: engine.publish,
    reads: (tenant) => world.store.forTenant(tenant),
    idempotency: { begin: () => Promise.reject(new Error('no key is taken here')) },
  }
  const server = makeHttpServer(api as HttpApi, {
    bodyBytesMax: 100_000,
    closeMs: 1_000,
    requestId: () => 'r',
    log,
  })
  servers.push(server)
  answers.push(checkAnswers(server.app))
  const ask = async (
    method: 'GET' | 'POST',
    url: string,
    headers: Readonly<Record<string, string>>,
    payload?: string | Buffer,
  ) => {
    let isOver = false
    const asked = server.app.inject({
      method,
      url: `/v1${url}`,
      headers: { authorization: `Bearer ${ADMIN}`, ...headers },
      ...(payload !== undefined && { payload }),
    })
    const over = () => {
      isOver = true
    }
    asked.then(over, over)
    while (!isOver) await world.pass()
    const { statusCode: status, headers: answered, body: text } = await asked
    return { status, headers: answered, text, body: text === '' ? null : JSON.parse(text) }
  }
  const publish = (value: unknown, type = STRUCTURED) =>
    ask('POST', '/events', { 'content-type': type }, JSON.stringify(value))
  return { world, ask, publish }
}

describe('POST /v1/events', () => {
  test('[CE1] [CE13] a structured event is stored, matched and run', async () => {
    const { world, publish } = await makeApi()
    const { status, body } = await publish(EVENT)
    expect([status, body]).toEqual([
      202,
      { id: 'A1', eventId: expect.stringMatching(/^evt_/), duplicate: false },
    ])
    expect(await world.reads.event(body.eventId)).toMatchObject({
      source: 'publish:/billing',
      subject: 'shop.events.paid',
      objectId: 'o1',
      occurredAt: Date.parse(EVENT.time),
      dedupKey: 'A1',
      matched: 1,
      data: '{"order":"o1","id":"i1"}',
    })
    expect(world.calls).toHaveLength(1)
  })

  test('[CE15] data may be as deep as at /in, in every mode', async () => {
    const { ask } = await makeApi()
    const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
    const binary = { 'ce-specversion': '1.0', 'ce-source': '/x', 'ce-type': 'a.b' }
    const send = async (levels: number) => {
      const one = (id: string) =>
        `{"specversion":"1.0","source":"/x","type":"a.b","id":"${id}","data":${deep(levels)}}`
      const json = { ...binary, 'ce-id': `b${levels}`, 'content-type': 'application/json' }
      return [
        (await ask('POST', '/events', { 'content-type': STRUCTURED }, one(`s${levels}`))).status,
        (await ask('POST', '/events', { 'content-type': BATCH }, `[${one(`l${levels}`)}]`)).status,
        (await ask('POST', '/events', json, deep(levels))).status,
      ]
    }
    expect(await send(64)).toEqual([202, 202, 202])
    expect(await send(65)).toEqual([400, 400, 400])
  })

  test('[CE14] a leap second stays on its day', async () => {
    const { world, publish } = await makeApi()
    const { body } = await publish({ ...EVENT, time: '2016-12-31T23:59:60Z' })
    expect(await world.reads.event(body.eventId)).toMatchObject({
      occurredAt: Date.parse('2016-12-31T23:59:59.999Z'),
    })
  })

  test('[CE2] [CE7] binary mode takes bodies of any type', async () => {
    const { world, ask } = await makeApi()
    const headers = { 'ce-specversion': '1.0', 'ce-source': '/billing', 'ce-type': 'a.b' }
    const send = async (id: string, type: string, body: string | Buffer) => {
      const { status, body: answer } = await ask(
        'POST',
        '/events',
        { ...headers, 'ce-id': id, 'content-type': type },
        body,
      )
      expect(status).toBe(202)
      return (await world.reads.event(answer.eventId))?.data
    }
    expect(await send('1', 'application/json; charset=utf-8', '{"n": 1.0}')).toBe('{"n": 1.0}')
    expect(await send('2', 'application/xml', '<a/>')).toBe('"<a/>"')
    expect(await send('3', 'image/png', Buffer.from([1, 255]))).toBe('"Af8="')
    const bare = await ask('POST', '/events', { ...headers, 'ce-id': '4' })
    expect([bare.status, (await world.reads.event(bare.body.eventId))?.data]).toEqual([202, 'null'])
  })

  test('[CE10] sending again answers with the first event, whatever the mode, and needs no key', async () => {
    const { world, publish, ask } = await makeApi()
    const first = await publish(EVENT)
    const again = await ask(
      'POST',
      '/events',
      {
        'ce-specversion': '1.0',
        'ce-source': '/billing',
        'ce-type': 'other.type',
        'ce-id': 'A1',
        'content-type': 'text/plain',
        'idempotency-key': 'k1',
      },
      'other',
    )
    expect(again.body).toEqual({ id: 'A1', eventId: first.body.eventId, duplicate: true })
    const other = await publish({ ...EVENT, source: '/other' })
    expect(other.body.duplicate).toBe(false)
    expect((await world.reads.events({ cursor: null, limit: 9 })).items).toHaveLength(2)
  })

  test('[CE10] a publisher cannot be taken for a source, nor use up its keys', async () => {
    const { world, publish } = await makeApi({ documents: [SOURCE, ROUTE] })
    const published = await publish({ ...EVENT, id: 'd1', source: 'shop' })
    const found = await world.reads.event(published.body.eventId)
    expect(found).toMatchObject({ source: 'publish:shop', dedupKey: 'd1' })
  })

  test('[CE11] [CE12] a batch is answered item by item, a repetition inside it too', async () => {
    const { publish } = await makeApi()
    const { status, body } = await publish([EVENT, { ...EVENT, id: 'A2' }, EVENT], BATCH)
    expect(status).toBe(202)
    expect(
      body.items.map(({ id, duplicate }: { id: string; duplicate: boolean }) => [id, duplicate]),
    ).toEqual([
      ['A1', false],
      ['A2', false],
      ['A1', true],
    ])
    expect(body.items[2].eventId).toBe(body.items[0].eventId)
    expect((await publish([], BATCH)).body).toEqual({ items: [] })
  })

  test('[CE11] one bad event refuses the whole batch, and each fault is named', async () => {
    const { world, publish } = await makeApi()
    const batch = [EVENT, { ...EVENT, id: '' }, { ...EVENT, type: 'workflow.a' }, { ...EVENT, time: 'now' }]
    const { status, body } = await publish(batch, BATCH)
    expect([status, body.code]).toEqual([400, 'event_invalid'])
    expect(body.detail).toContain('event 1: `id`')
    expect(body.details.faults).toMatchObject([
      { index: 1, attribute: 'id' },
      { index: 2, attribute: 'type' },
      { index: 3, attribute: 'time' },
    ])
    const many = await publish(
      Array.from({ length: 501 }, () => EVENT),
      BATCH,
    )
    expect([many.status, many.body.detail]).toEqual([400, 'a batch has at most 500 events'])
    const bad = await publish(
      Array.from({ length: 50 }, () => ({})),
      BATCH,
    )
    expect(bad.body.details.faults).toHaveLength(20)
    expect((await world.reads.events({ cursor: null, limit: 9 })).items).toEqual([])
  })

  test('[CE12] events that the store did not store are reported, and sending all again is safe', async () => {
    let isBroken = true
    const { publish } = await makeApi({
      faults: {
        commit: (commit, pass) =>
          isBroken &&
          commit.writes.some((write) => write.w === 'event.append' && write.event.dedupKey === 'A2')
            ? Promise.reject(new StoreError('unavailable', 'simulated'))
            : pass(),
      },
    })
    const batch = [EVENT, { ...EVENT, id: 'A2' }, { ...EVENT, id: 'A3' }]
    const first = await publish(batch, BATCH)
    expect([first.status, first.body.code, first.body.detail]).toEqual([
      503,
      'store_unavailable',
      '2 of 3 events were kept',
    ])
    expect(first.body.details.items).toMatchObject([
      { id: 'A1', duplicate: false },
      { id: 'A2', code: 'store_unavailable' },
      { id: 'A3', duplicate: false },
    ])
    isBroken = false
    const second = await publish(batch, BATCH)
    expect(second.body.items.map(({ duplicate }: { duplicate: boolean }) => duplicate)).toEqual([
      true,
      false,
      true,
    ])
  })

  test.each([
    ['{"a":1}', 'application/json', 415, 'wrong_type'],
    ['{"specversion":', STRUCTURED, 400, 'not_json'],
    ['{"id":"a","id":"b"}', STRUCTURED, 400, 'duplicate_key'],
    ['{"id":"a","data":1e9999}', STRUCTURED, 400, 'number_out_of_range'],
    [`${'['.repeat(70)}${']'.repeat(70)}`, BATCH, 400, 'too_deep'],
    ['{}', BATCH, 400, 'event_invalid'],
    ['[]', STRUCTURED, 400, 'event_invalid'],
    ['', STRUCTURED, 400, 'not_json'],
  ])('[CE4] %s as %s is refused with %i %s', async (payload, type, status, code) => {
    const { ask } = await makeApi()
    const answer = await ask('POST', '/events', { 'content-type': type }, payload)
    expect([answer.status, answer.body.code]).toEqual([status, code])
  })

  test('[CE4] a body that is too large is refused', async () => {
    const { publish } = await makeApi()
    const { status, body } = await publish({ ...EVENT, data: 'x'.repeat(200_000) })
    expect([status, body.code]).toEqual([413, 'body_too_large'])
  })
})

describe('events as CloudEvents', () => {
  const JSON_TYPE = 'application/json'

  test('[CE8] [CE9] one event is returned as it was received, if the client asks for it', async () => {
    const { ask, publish } = await makeApi()
    const { body: sent } = await publish({ ...EVENT, myextension: 'x' })
    const one = await ask('GET', `/events/${sent.eventId}`, { accept: `${STRUCTURED};q=0.9, */*` })
    expect(one.headers['content-type']).toContain(STRUCTURED)
    expect(one.body).toMatchObject({
      ...EVENT,
      id: sent.eventId,
      source: '/tenants/default/sources/publish%3A%2Fbilling',
      time: '2026-01-02T03:04:05.000Z',
      myextension: 'x',
    })
    const plain = await ask('GET', `/events/${sent.eventId}`, { accept: '*/*' })
    expect(plain.headers['content-type']).toContain(JSON_TYPE)
    expect(plain.body.story).toBeDefined()
  })

  test('[CE8] a page is a batch, and its link leads on', async () => {
    const { ask, publish } = await makeApi()
    for (const id of ['1', '2', '3']) await publish({ ...EVENT, id, type: 'a.b' })
    const seen: string[] = []
    let url = '/events?subject=a.b&limit=2'
    for (let pages = 0; pages < 5; pages += 1) {
      const { headers, body } = await ask('GET', url, { accept: BATCH })
      expect(headers['content-type']).toContain(BATCH)
      seen.push(...body.map((event: { data: { id: string }; id: string }) => event.id))
      const next = /^<\/v1(.*)>; rel="next"$/.exec(String(headers.link ?? ''))?.[1]
      if (next === undefined) break
      url = next
    }
    expect(new Set(seen).size).toBe(3)
    expect(seen).toHaveLength(3)
  })

  test('[CE8] large payloads make a page shorter and lose nothing', async () => {
    const { ask, publish } = await makeApi()
    const data = 'x'.repeat(90_000)
    for (let n = 0; n < 100; n += 1) await publish({ ...EVENT, id: `${n}`, type: 'a.b', data })
    const first = await ask('GET', '/events?limit=100', { accept: BATCH })
    expect(first.body.length).toBeLessThan(100)
    const next = /^<\/v1(.*)>; rel="next"$/.exec(String(first.headers.link))?.[1] as string
    const second = await ask('GET', next, { accept: BATCH })
    expect(first.body.length + second.body.length).toBe(100)
  })
})
