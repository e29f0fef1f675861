import { afterEach, describe, expect, it } from 'vitest'
import { makeSystemClock } from '../adapters/clock-system/index.ts'
import { makeStaticCode } from '../adapters/code-static/index.ts'
import { makeCountingEncryption } from '../adapters/encryption-local/encryption.fixture.ts'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { makeSystemRandom } from '../adapters/random-system/index.ts'
import { makeMemoryStore } from '../adapters/store-memory/index.ts'
import type { HttpActionDocument, RouteDocument } from '../core/definitions/documents/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import {
  DEFAULT_TENANT,
  type DeadLetterId,
  type EventId,
  type NodeId,
  type WorkId,
} from '../core/foundation/ids/index.ts'
import type { HttpOutcome, HttpRequest } from '../ports/http-client.ts'
import { NO_WAKES } from '../ports/wakes.ts'
import { answered, CREATED, SOURCE, HTTP as WORLD_HTTP, ROUTE as WORLD_ROUTE } from './engine.fixture.ts'
import { ENGINE_DEFAULTS, type Engine, makeEngine } from './index.ts'
import { makeMemoryVault } from './secrets/vault.fixture.ts'

// Real time passes here: nothing may wait long.
const HTTP: HttpActionDocument = { ...WORLD_HTTP, timeoutMs: 1_000 }
const ROUTE: RouteDocument = {
  ...WORLD_ROUTE,
  where: 'payload.total > 0',
  retry: { profile: null, attempts: 3, delaysMs: [5, 5] },
  maxWaitMs: 60_000,
  do: HTTP,
}

interface World {
  readonly engine: Engine
  readonly store: ReturnType<typeof makeMemoryStore>
  readonly log: ReturnType<typeof makeMemoryLog>
  readonly calls: HttpRequest[]
  send(payload: object): Promise<{ eventId: EventId; duplicate: boolean }>
  /** Settles when no item is ready or leased. */
  quiet(): Promise<void>
}

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.engine.drain(1_000)
})

async function makeWorld(
  routes: readonly RouteDocument[],
  answer: (request: HttpRequest, call: number) => HttpOutcome = () => CREATED,
): Promise<World> {
  const clock = makeSystemClock()
  const store = makeMemoryStore({ now: () => clock.now(), defer: (callback) => clock.defer(callback) })
  const log = makeMemoryLog()
  const calls: HttpRequest[] = []
  const http = {
    async send(request: HttpRequest) {
      calls.push(request)
      return answer(request, calls.length)
    },
    vet: async () => ({ ok: true }) as const,
  }
  const code = makeStaticCode({ count: (input) => input })
  const engine = makeEngine(
    {
      encryption: makeCountingEncryption(),
      store,
      clock,
      random: makeSystemRandom(),
      http,
      vault: { resolve: async () => [] },
      secrets: makeMemoryVault(() => 0),
      log,
      code,
      wakes: NO_WAKES,
      bus: null,
    },
    { ...ENGINE_DEFAULTS, node: 'test' as NodeId, pollMs: 20, sendWithinMs: 1_000 },
  )
  const codeHash = code.find('count', DEFAULT_TENANT) ?? ''
  const documents = routes.map((route) =>
    route.do.type === 'function' ? { ...route, do: { ...route.do, codeHash } } : route,
  )
  await engine.apply(DEFAULT_TENANT, [SOURCE, ...documents])
  await engine.start()
  const world: World = {
    engine,
    store,
    log,
    calls,
    send: (payload) =>
      engine.accept({
        tenant: 'default',
        source: 'shop',
        headers: { 'content-type': 'application/json' },
        body: new TextEncoder().encode(JSON.stringify(payload)),
      }),
    async quiet() {
      for (;;) {
        const counts = await store.system('health').workCounts()
        if (counts.ready === 0 && counts.leased === 0) return
        await new Promise<void>((resolve) => clock.after(1, resolve))
      }
    },
  }
  worlds.push(world)
  return world
}

const PAID = { kind: 'paid', id: 'd1', order: 'o1', total: 5 }

describe('the engine', () => {
  it('carries an event to a settled effect, once', async () => {
    const world = await makeWorld([ROUTE])
    const first = await world.send(PAID)
    const second = await world.send(PAID)
    expect(second).toEqual({ eventId: first.eventId, duplicate: true })
    await world.quiet()
    const reads = world.store.forTenant(DEFAULT_TENANT)
    const [work] = await reads.workOfEvent(first.eventId)
    expect(work).toMatchObject({
      state: 'done',
      attempts: 1,
      key: 'BOOK:o1',
      effectRef: 'v1',
      httpStatus: 201,
    })
    expect(await reads.ledger('BOOK:o1')).toMatchObject({
      state: 'done',
      proof: 'acknowledged',
      effectRef: 'v1',
    })
    expect(world.calls).toHaveLength(1)
    expect(world.calls[0]).toMatchObject({
      url: 'https://vendor.example/orders/o1',
      headers: { 'idempotency-key': 'BOOK:o1', 'content-type': 'application/json' },
      body: '{"id":"d1"}',
    })
    expect(world.log.controls.map((line) => line.action)).toEqual(['ACCEPTED', 'DUPLICATE', 'DONE'])
  })

  it('skips a second event with the same key and points to the first effect', async () => {
    const world = await makeWorld([ROUTE])
    await world.send(PAID)
    await world.quiet()
    const again = await world.send({ ...PAID, id: 'd2' })
    await world.quiet()
    const [work] = await world.store.forTenant(DEFAULT_TENANT).workOfEvent(again.eventId)
    expect(work).toMatchObject({ state: 'skipped', effectRef: 'v1' })
    expect(world.calls).toHaveLength(1)
  })

  it('retries what passes, and dead-letters at the cap; a replay resolves it', async () => {
    let healthy = false
    const world = await makeWorld([ROUTE], () => (healthy ? CREATED : answered(503)))
    const { eventId } = await world.send(PAID)
    await world.quiet()
    const reads = world.store.forTenant(DEFAULT_TENANT)
    expect(world.calls).toHaveLength(3)
    const [letter] = (await reads.deadLetters({ cursor: null, limit: 10 })).items
    expect(letter).toMatchObject({
      state: 'open',
      class: 'transient',
      reason: 'cap_reached',
      eventId,
      attempts: 3,
    })
    healthy = true
    const { workId } = await world.engine.replay(DEFAULT_TENANT, letter?.id as DeadLetterId, { force: false })
    await world.quiet()
    expect(await reads.work(workId)).toMatchObject({ state: 'done' })
    expect(await reads.deadLetter(letter?.id as DeadLetterId)).toMatchObject({
      state: 'resolved',
      replays: 1,
    })
  })

  it('[K4] a replay keeps its key, also when the formula has changed since', async () => {
    let healthy = false
    const world = await makeWorld([ROUTE], () => (healthy ? CREATED : answered(400)))
    await world.send(PAID)
    await world.quiet()
    const reads = world.store.forTenant(DEFAULT_TENANT)
    const [letter] = (await reads.deadLetters({ cursor: null, limit: 1 })).items
    healthy = true
    await world.engine.apply(DEFAULT_TENANT, [SOURCE, { ...ROUTE, key: "'OTHER:' + payload.order" }])
    await world.engine.replay(DEFAULT_TENANT, letter?.id as DeadLetterId, { force: false })
    await world.quiet()
    expect(await reads.ledger('BOOK:o1')).toMatchObject({ state: 'done' })
    expect(await reads.ledger('OTHER:o1')).toBeNull()
    expect(world.calls.map((call) => call.headers['idempotency-key'])).toEqual(['BOOK:o1', 'BOOK:o1'])
  })

  it('parks an unknown outcome that cannot be asked for, until a person decides', async () => {
    const world = await makeWorld([ROUTE], (_request, call) => (call === 1 ? answered(500) : CREATED))
    const { eventId } = await world.send(PAID)
    await world.quiet()
    const reads = world.store.forTenant(DEFAULT_TENANT)
    const [work] = await reads.workOfEvent(eventId)
    expect(work).toMatchObject({ state: 'parked', class: 'unknown' })
    await world.engine.resolve(DEFAULT_TENANT, work?.id as WorkId, { as: 'released', reason: 'not there' })
    await world.quiet()
    expect(await reads.work(work?.id as WorkId)).toMatchObject({ state: 'done' })
    expect(world.calls).toHaveLength(2)
  })

  it('asks before it repeats, where it can', async () => {
    const probe = {
      method: 'GET',
      url: 'https://vendor.example/orders?ref={{ key }}',
      headers: {},
      found: 'result.body.size() > 0',
      afterMs: 5,
    }
    const route = { ...ROUTE, do: { ...HTTP, timeoutMs: 5, probe } }
    const world = await makeWorld([route], (request, call) => {
      if (request.method === 'GET') return { ...CREATED, status: 200, body: '[{"id":"v9"}]' }
      return call === 1 ? answered(500) : CREATED
    })
    const { eventId } = await world.send(PAID)
    await world.quiet()
    const reads = world.store.forTenant(DEFAULT_TENANT)
    expect(await reads.workOfEvent(eventId)).toMatchObject([{ state: 'done', attempts: 1 }])
    expect(await reads.ledger('BOOK:o1')).toMatchObject({ state: 'done', proof: 'probe' })
    expect(world.calls.map((call) => call.method)).toEqual(['POST', 'GET'])
  })

  it('completes a function and an emitted event with all that follows', async () => {
    const emit: RouteDocument = {
      ...ROUTE,
      name: 'announce',
      key: null,
      do: { type: 'emit', subject: 'shop.booked', data: { order: '{{ payload.order }}' } },
    }
    const count: RouteDocument = {
      ...ROUTE,
      name: 'count',
      on: ['shop.booked'],
      where: null,
      key: null,
      do: { type: 'function', name: 'count', codeHash: '', with: null, timeoutMs: 1_000 },
    }
    const world = await makeWorld([emit, count])
    const { eventId } = await world.send(PAID)
    await world.quiet()
    const reads = world.store.forTenant(DEFAULT_TENANT)
    const [emitted] = (await reads.events({ cursor: null, limit: 1, subject: 'shop.booked' })).items
    expect(emitted).toMatchObject({ causationId: eventId })
    expect(await reads.event(emitted?.id as EventId)).toMatchObject({ data: '{"order":"o1"}' })
    expect(await reads.workOfEvent(emitted?.id as EventId)).toMatchObject([
      { state: 'done', consumer: 'route:count' },
    ])
  })

  it('dead-letters a payload that gives no key, with the path and no value', async () => {
    const world = await makeWorld([ROUTE])
    const { eventId } = await world.send({ ...PAID, order: null })
    await world.quiet()
    const [letter] = (await world.store.forTenant(DEFAULT_TENANT).deadLetters({ cursor: null, limit: 1 }))
      .items
    expect(letter).toMatchObject({ eventId, class: 'validation', reason: 'rejected' })
    expect(letter?.lastError).toContain('key')
  })

  it('refuses what it does not know, and keeps nothing of it', async () => {
    const world = await makeWorld([ROUTE])
    const body = new TextEncoder().encode('{')
    const headers = { 'content-type': 'application/json' }
    const request = { tenant: 'default', source: 'shop', headers, body }
    await expect(world.engine.accept({ ...request, source: 'nobody' })).rejects.toMatchObject({
      code: 'unknown_source',
    })
    await expect(world.engine.accept(request)).rejects.toMatchObject({ code: 'not_json' })
    await expect(world.engine.accept(request)).rejects.toBeInstanceOf(AppError)
    expect((await world.store.system('verification').dump()).events).toEqual([])
  })
})
