// What a function sees and may do besides effects: its event, its log, emitted events, and more time.
import { describe, expect, test } from 'vitest'
import type { StaticFunction } from '../../../adapters/code-static/index.ts'
import type { RouteDocument } from '../../../core/definitions/documents/index.ts'
import { Numeral } from '../../../core/foundation/json/index.ts'
import type { FunctionContext } from '../../../ports/code.ts'
import {
  accept,
  makeDeferred,
  makeWorld,
  PAID,
  ROUTE,
  SOURCE,
  type World,
  workOf,
} from '../../engine.fixture.ts'

const TIMEOUT = 5_000
const NEVER = new Promise<never>(() => {})

const route = (known: Partial<RouteDocument> = {}): RouteDocument => ({
  ...ROUTE,
  do: { type: 'function', name: 'book', codeHash: '', with: null, timeoutMs: TIMEOUT },
  ...known,
})
const FOLLOWER: RouteDocument = {
  ...ROUTE,
  name: 'follow',
  on: ['shop.booked.>'],
  key: null,
  do: { type: 'function', name: 'follow', codeHash: '', with: null, timeoutMs: TIMEOUT },
}

const start = (world: World, book: StaticFunction, known: Partial<RouteDocument> = {}) =>
  world.node({
    documents: [SOURCE, route(known), FOLLOWER],
    functions: { book, follow: (input) => input },
  })

/** Except those that announce failures. */
const eventsOf = async (world: World) =>
  (await world.store.system('verification').dump()).events.filter(({ source }) => source !== 'millrace')

describe('the context', () => {
  test('[FE17] has the envelope, the payload with exact numbers, the attempt, the clock and a log', async () => {
    const world = makeWorld()
    const seen: FunctionContext['event'][] = []
    const node = await start(world, (_input, { event, attempt, clock, log, key }) => {
      seen.push(event)
      log.info('booked', { order: 7 })
      log.warn('half booked')
      const { rate } = event.data as { readonly rate: Numeral }
      return { attempt, now: clock.now(), key, rate, text: `${String(rate)}`, double: Number(rate) }
    })
    const sent = node.engine.accept({
      tenant: 'default',
      source: 'shop',
      headers: { 'content-type': 'application/json' },
      body: new TextEncoder().encode(
        '{"kind":"paid","id":"d1","order":"o1","exact":9007199254740993,"price":10.50,"rate":1.000000000000000001}',
      ),
    })
    await world.pass()
    const work = await workOf(world, (await sent).eventId)
    const event = await world.reads.event((await sent).eventId)
    expect(seen).toEqual([
      {
        id: event?.id,
        tenant: 'default',
        source: 'shop',
        subject: 'shop.events.paid',
        objectType: 'order',
        objectId: 'o1',
        occurredAt: null,
        receivedAt: event?.receivedAt,
        correlationId: event?.correlationId,
        causationId: null,
        traceId: event?.traceId,
        dedupKey: 'd1',
        payloadHash: event?.payloadHash,
        data: {
          kind: 'paid',
          id: 'd1',
          order: 'o1',
          exact: 9_007_199_254_740_993n,
          price: 10.5,
          rate: new Numeral('1.000000000000000001'),
        },
      },
    ])
    const entry = await world.reads.ledger('BOOK:o1')
    expect(entry?.result).toBe(
      `{"attempt":1,"now":${world.now()},"key":"BOOK:o1","rate":1.000000000000000001,"text":"1.000000000000000001","double":1}`,
    )
    const who = { route: 'book', work: work.id, correlationId: event?.correlationId }
    const said = node.log.messages.filter(({ name }) => name === 'function.said')
    expect(said).toEqual([
      { level: 'info', name: 'function.said', fields: { ...who, message: 'booked', order: 7 } },
      { level: 'warn', name: 'function.said', fields: { ...who, message: 'half booked' } },
    ])
  })

  test('[FE17] a function that changes its event changes only its own copy', async () => {
    const world = makeWorld()
    const other = { ...ROUTE, name: 'other', key: "'OTHER:' + payload.order", do: FOLLOWER.do }
    const node = await world.node({
      documents: [SOURCE, route(), other],
      functions: {
        book: (_input, { event }) => {
          ;(event.data as Record<string, string>).order = 'changed'
          return null
        },
        follow: (input) => input,
      },
    })
    const eventId = await accept(world, node)
    await world.pass(30_000)
    const work = await world.reads.workOfEvent(eventId)
    expect(work.map(({ key }) => key)).toEqual(['BOOK:o1', 'OTHER:o1'])
    expect((await world.reads.ledger('OTHER:o1'))?.result).toContain('"order":"o1"')
  })
})

describe('an effect that is not awaited', () => {
  test.each<[string, StaticFunction]>([
    [
      'at all',
      (_input, { effect }) => {
        void effect('post', () => Promise.reject(new Error('reset')))
        return null
      },
    ],
    [
      'yet',
      async (_input, { effect }) => {
        const slow = effect('slow', () => new Promise((resolve) => setImmediate(() => setImmediate(resolve))))
        const post = effect('post', () => Promise.reject(new Error('reset')))
        return [await slow, await post]
      },
    ],
    ['and that is none', (_input, { effect }) => void effect('', () => null)],
  ])('[FE22] %s does not become an unhandled rejection of the process', async (_name, book) => {
    const stray: unknown[] = []
    const hear = (error: unknown) => stray.push(error)
    process.on('unhandledRejection', hear)
    try {
      const world = makeWorld()
      const node = await start(world, book)
      const eventId = await accept(world, node)
      await world.pass(10_000)
      expect(['parked', 'dead']).toContain((await workOf(world, eventId)).state)
    } finally {
      process.off('unhandledRejection', hear)
    }
    expect(stray).toEqual([])
  })
})

describe('an event that a function emits', () => {
  test('[FE18] is stored with the end of the job, matches routes, and counts the steps of its cause', async () => {
    const world = makeWorld()
    const node = await start(world, async (_input, { emit }) => {
      const data = { order: 'o1' }
      emit('shop.booked.first', data)
      data.order = 'changed'
      emit('shop.booked.second', null)
      expect(await eventsOf(world)).toHaveLength(1)
      return null
    })
    const eventId = await accept(world, node)
    await world.pass(1_000)
    const [cause, first, second] = await eventsOf(world)
    expect(cause?.id).toBe(eventId)
    expect(first).toMatchObject({
      source: 'route:book',
      subject: 'shop.booked.first',
      dedupKey: 'BOOK:o1#0',
      data: '{"order":"o1"}',
      causationId: eventId,
      correlationId: cause?.correlationId,
      headers: '{"millrace-hops":"1"}',
      matched: 1,
    })
    expect(second).toMatchObject({ subject: 'shop.booked.second', dedupKey: 'BOOK:o1#1', data: 'null' })
    expect(await workOf(world, first!.id)).toMatchObject({ state: 'done', consumer: 'route:follow' })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'done' })
  })

  test('[FE18] is not stored by a run that fails, nor by a job whose key is done', async () => {
    const world = makeWorld()
    const node = await start(world, (_input, { emit, attempt, event }) => {
      emit('shop.booked.first', { attempt })
      if (attempt === 1 && event.dedupKey === 'd1') throw new Error('afterwards')
      return null
    })
    await accept(world, node)
    expect(await eventsOf(world)).toHaveLength(1)
    await world.pass(5_000)
    const second = await accept(world, node, { ...PAID, id: 'd2' })
    await world.pass(5_000)
    expect(await workOf(world, second)).toMatchObject({ state: 'skipped' })
    const emitted = (await eventsOf(world)).filter(({ source }) => source === 'route:book')
    expect(emitted.map(({ data }) => data)).toEqual(['{"attempt":2}'])
    expect(node.engine.health().running).toBe(0)
  })

  test('[FE18] that causes itself is stopped after 32 steps', async () => {
    const world = makeWorld()
    const node = await start(
      world,
      (_input, { emit }) => {
        emit('shop.events.paid', { order: 'o1' })
        return null
      },
      { on: ['shop.events.>'], key: null },
    )
    await accept(world, node)
    await world.pass(60_000)
    expect(await eventsOf(world)).toHaveLength(33)
    const { items } = await world.reads.deadLetters({ cursor: null, limit: 5 })
    expect(items).toMatchObject([{ reason: 'rejected' }])
    expect(items[0]?.lastError).toContain('32 steps')
  })

  test.each<[string, string, (context: FunctionContext) => void]>([
    ['no subject', 'emit(', ({ emit }) => emit('a b', {})],
    ['data that is no JSON', 'the data.at is a Date', ({ emit }) => emit('shop.x', { at: new Date(0) })],
    [
      'too many events',
      '100 events',
      ({ emit }) => {
        for (let index = 0; index < 101; index += 1) emit('shop.x', index)
      },
    ],
    ['too much data', 'bytes together', ({ emit }) => emit('shop.x', 'x'.repeat(1_048_577))],
  ])('[FE19] with %s is refused with what is wrong, and nothing is stored', async (_name, text, act) => {
    const world = makeWorld()
    const node = await start(world, (_input, context) => {
      act(context)
      return null
    })
    const eventId = await accept(world, node)
    const work = await workOf(world, eventId)
    expect(work).toMatchObject({ state: 'dead', class: 'validation' })
    expect(work.lastError).toContain(text)
    expect(await eventsOf(world)).toHaveLength(1)
  })
})

describe('a heartbeat', () => {
  /** Sends a heartbeat every three seconds, `beats` times, and then waits for the test. */
  const beating = (world: World, beats: number, over: Promise<unknown>): StaticFunction => {
    return async (_input, { heartbeat, signal }) => {
      for (let beat = 0; beat < beats; beat += 1) {
        heartbeat({ beat })
        await wait(world, 3_000)
      }
      if (signal.aborted) throw new Error('aborted')
      return over
    }
  }
  /** By the world's own time, which the test advances. */
  const waiting: { at: number; give: () => void }[] = []
  const wait = (world: World, ms: number) => {
    const hand = makeDeferred<void>()
    waiting.push({ at: world.now() + ms, give: hand.give })
    return hand.promise
  }
  const pass = async (world: World, ms: number) => {
    for (let left = ms; left > 0; left -= 1_000) {
      await world.pass(1_000)
      for (const one of waiting.splice(0)) {
        if (one.at <= world.now()) one.give()
        else waiting.push(one)
      }
      await world.pass()
    }
  }

  test('[FE20] restarts the timeout; a function that stops sending them is stopped', async () => {
    const world = makeWorld()
    const node = await start(world, beating(world, 4, NEVER))
    const eventId = await accept(world, node)
    await pass(world, 13_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'leased', attempts: 0 })
    await pass(world, 1_000)
    const work = await workOf(world, eventId)
    expect(work).toMatchObject({ state: 'ready', attempts: 1 })
    expect(work.lastError).toContain('longer than 5000 ms')
    const beats = node.log.messages.filter(({ name }) => name === 'function.heartbeat')
    expect(beats.map(({ fields }) => fields.detail)).toEqual([0, 1, 2, 3].map((beat) => `{"beat":${beat}}`))
  })

  test('[FE20] with a detail that is not JSON still counts', async () => {
    const world = makeWorld()
    const circle: Record<string, unknown> = {}
    circle.self = circle
    const node = await start(world, (_input, { heartbeat }) => {
      for (const detail of [circle, 9_007_199_254_740_993n, { n: 1n }, Symbol('half'), () => {}])
        heartbeat(detail)
      return null
    })
    expect(await workOf(world, await accept(world, node))).toMatchObject({ state: 'done' })
    const beats = node.log.messages.filter(({ name }) => name === 'function.heartbeat')
    expect(beats).toHaveLength(5)
    expect(beats.slice(1, 3).map(({ fields }) => fields.detail)).toEqual(['9007199254740993', '{"n":1}'])
  })

  test('[FE20] of a function that returns in time lets it end', async () => {
    const world = makeWorld()
    const node = await start(world, beating(world, 4, Promise.resolve('fine')))
    const eventId = await accept(world, node)
    await pass(world, 13_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
  })

  test('[FE20] never moves the timeout beyond the job’s own limit', async () => {
    const world = makeWorld()
    const node = await start(world, beating(world, 1_000, NEVER), { maxWaitMs: 10_000 })
    const eventId = await accept(world, node)
    const { expiresAt } = await workOf(world, eventId)
    await pass(world, expiresAt - world.now() - 1_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'leased', attempts: 0 })
    await pass(world, 2_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'dead', attempts: 1 })
  })

  test('[FE20] extends the timeout no further than the node’s lease', async () => {
    const world = makeWorld()
    const aborted: boolean[] = []
    const node = await start(
      world,
      async (input, context) => {
        context.signal.addEventListener('abort', () => aborted.push(true))
        return beating(world, 4, NEVER)(input, context)
      },
      { do: { type: 'function', name: 'book', codeHash: '', with: null, timeoutMs: 20_000 } },
    )
    node.faults.renew = () => NEVER
    await accept(world, node)
    // The fourth heartbeat, nine seconds into a lease of thirty, asks for twenty and the commit after them.
    await pass(world, 25_000)
    expect(aborted).toEqual([])
    await pass(world, 2_000)
    expect(aborted).toEqual([true])
  })
})
