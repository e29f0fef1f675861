// Functions that call operations of a connection.
import { describe, expect, test } from 'vitest'
import type { StaticFunction } from '../../adapters/code-static/index.ts'
import type { ConnectionDocument, RouteDocument } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'
import { accept, answered, CREATED, LOST, ROUTE, SOURCE, workOf } from '../engine.fixture.ts'
import {
  CONNECTION,
  CREDENTIAL,
  makeManualCredentials,
  makeShop,
  PROVIDER,
  SECRET,
} from './connections.fixture.ts'

const FUNCTION: RouteDocument = {
  ...ROUTE,
  do: { type: 'function', name: 'book', codeHash: '', with: null, timeoutMs: 30_000 },
}

async function start(
  world: ReturnType<typeof makeShop>,
  book: StaticFunction,
  connection: Partial<ConnectionDocument> = {},
) {
  const credentials = makeManualCredentials()
  const documents = [SOURCE, PROVIDER, { ...CONNECTION, ...connection }, CREDENTIAL, FUNCTION]
  const node = await world.node({ documents, credentials, functions: { book } })
  await world.pass()
  return { node, credentials }
}

const runsOf = async (world: ReturnType<typeof makeShop>) =>
  (await world.reads.runs({ cursor: null, limit: 50, purpose: 'work' })).items

/** As a user writes it. */
const booking: StaticFunction = (_input, ctx) =>
  ctx.effect('post', (key) => ctx.connection!('shop').call('book', { order: 'o1' }, { key }))

const found = (body: string): HttpOutcome => ({
  kind: 'response',
  status: 200,
  headers: {},
  body,
  durationMs: 1,
})

describe('a function on a connection', () => {
  test('[DR9] calls within an effect with its key, gets the operation’s result, and each call is a run', async () => {
    const world = makeShop((request) => (request.method === 'GET' ? found('{"total":3}') : CREATED))
    const results: unknown[] = []
    const { node } = await start(world, async (_input, ctx) => {
      results.push(await ctx.connection!('shop').call('read', { order: 'o1' }))
      results.push(await booking(_input, ctx))
    })
    const eventId = await accept(world, node)
    await world.pass(100)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
    expect(results).toEqual([{ total: 3 }, { number: 'v1' }])
    expect(world.sent).toMatchObject([
      {
        method: 'GET',
        url: 'https://api.eu.shop.example/v1/orders/o1',
        headers: { authorization: `Bearer ${SECRET}` },
      },
      { method: 'POST', headers: { 'idempotency-key': 'BOOK:o1#post' } },
    ])
    expect(await world.reads.ledger('BOOK:o1#post')).toMatchObject({
      state: 'done',
      result: '{"number":"v1"}',
    })
    const runs = await runsOf(world)
    expect(runs.map(({ operation, state, eventId: of }) => [operation, state, of])).toEqual(
      expect.arrayContaining([
        ['shopware.read', 'completed', eventId],
        ['shopware.book', 'completed', eventId],
      ]),
    )
    expect(new Set(runs.map(({ id }) => id)).size).toBe(2)
  })

  test('[DR9] an operation that may not be repeated is refused outside of an effect, and with a wrong key', async () => {
    const world = makeShop(() => CREATED)
    const errors: string[] = []
    const { node } = await start(world, async (_input, ctx) => {
      const shop = ctx.connection!('shop')
      await shop.call('book', { order: 'o1' }).catch((error: Error) => errors.push(error.message))
      await shop
        .call('book', { order: 'o1' }, { key: 'mine' })
        .catch((error: Error) => errors.push(error.message))
      await shop.call('nothing', {}).catch((error: Error) => errors.push(error.message))
      await shop.call('read', {}).catch((error: Error) => errors.push(error.message))
      await ctx.connection!('other').call('read', {})
    })
    const eventId = await accept(world, node)
    expect(world.sent).toEqual([])
    expect(errors[0]).toContain("ctx.effect('book', (key) =>")
    expect(errors[1]).toBe(errors[0])
    expect(errors[2]).toBe('operation_unknown: shopware has no operation nothing; it has book, read')
    expect(errors[3]).toContain('does not fit read')
    expect(await workOf(world, eventId)).toMatchObject({
      state: 'dead',
      class: 'validation',
      lastError: expect.stringContaining('connection_unknown: there is no connection other'),
    })
  })

  test('[DR10] a failure without an effect is retried, a final one is dead, an unknown outcome stays unknown', async () => {
    const outcomes = [answered(503), CREATED]
    const world = makeShop((_request, call) => outcomes[call - 1] ?? CREATED)
    const { node } = await start(world, booking)
    const eventId = await accept(world, node)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', class: 'transient', attempts: 1 })
    expect(await world.reads.ledger('BOOK:o1#post')).toMatchObject({ state: 'released' })
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 2 })
    const [run, ...others] = await runsOf(world)
    expect(others).toEqual([])
    expect(run).toMatchObject({ state: 'completed', attemptCount: 2 })

    const final = makeShop(() => answered(422))
    const second = await start(final, booking)
    expect(await workOf(final, await accept(final, second.node))).toMatchObject({
      state: 'dead',
      class: 'validation',
    })
    expect(await runsOf(final)).toMatchObject([{ state: 'dead-lettered', class: 'validation' }])

    const doubtful = makeShop(() => LOST)
    const third = await start(doubtful, booking)
    const parked = await accept(doubtful, third.node)
    await doubtful.pass(60_000)
    expect(await workOf(doubtful, parked)).toMatchObject({ state: 'parked', class: 'unknown' })
    expect(doubtful.sent).toHaveLength(1)
    expect(await doubtful.reads.ledger('BOOK:o1#post')).toMatchObject({ state: 'unknown' })
  })

  test('[CX6] a closed gate puts the whole job back without using an attempt', async () => {
    const world = makeShop(() => CREATED)
    const { node, credentials } = await start(world, booking)
    credentials.closed = { is: 'closed', untilAt: null, why: 'it is being rotated' }
    const eventId = await accept(world, node)
    await world.pass(5_000)
    expect(world.sent).toEqual([])
    const waiting = await workOf(world, eventId)
    expect(waiting).toMatchObject({ state: 'ready', attempts: 0, lastError: 'it is being rotated' })
    expect(waiting.waits).toBeGreaterThan(1)
    expect(await world.reads.ledger('BOOK:o1#post')).toMatchObject({ state: 'released' })
    credentials.closed = null
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
  })

  test('[DR6] a refused credential is retried at once, or waited for', async () => {
    const world = makeShop((request) =>
      request.headers.authorization === `Bearer ${SECRET}` ? answered(401) : CREATED,
    )
    const { node, credentials } = await start(world, booking)
    credentials.next = { is: 'wait', delayMs: 3_000, why: 'it is being rotated' }
    const eventId = await accept(world, node)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', attempts: 0, waits: 1 })
    expect(await world.reads.ledger('BOOK:o1#post')).toMatchObject({ state: 'released' })
    credentials.secret = 'sk-the-next-one'
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
    expect(world.sent).toHaveLength(2)
  })

  test('[CX2] a second attempt is not made on a connection that was retired meanwhile', async () => {
    const world = makeShop(() => answered(401))
    const { node, credentials } = await start(world, booking)
    credentials.refused = async () => {
      await node.engine.integrations.retire(DEFAULT_TENANT, 'shop', { by: 'ops', reason: 'over' })
      return { is: 'again' }
    }
    const eventId = await accept(world, node)
    await world.pass(1_000)
    expect(world.sent).toHaveLength(1)
    expect(await workOf(world, eventId)).toMatchObject({
      state: 'dead',
      lastError: expect.stringContaining('connection_retired: '),
    })
    expect(await world.reads.ledger('BOOK:o1#post')).toMatchObject({ state: 'released' })
  })

  test('[CX6] a limit is waited for', async () => {
    const world = makeShop((_request, call) =>
      call === 1 ? answered(429, { 'retry-after': '10' }) : CREATED,
    )
    const { node } = await start(world, booking)
    const eventId = await accept(world, node)
    await world.pass(9_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', attempts: 0 })
    expect(world.sent).toHaveLength(1)
    await world.pass(10_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
  })

  test('[DR5] a call that ends before it was sent, however it ends, gives its permit back', async () => {
    const world = makeShop(() => CREATED)
    const reading: StaticFunction = (_input, ctx) => ctx.connection!('shop').call('read', { order: 'o1' })
    const buckets = { default: { perMinute: 1, burst: 1 } }
    const { node, credentials } = await start(world, reading, { buckets })
    await world.pass(120_000)
    const { authorize } = credentials
    credentials.authorize = async () => {
      credentials.authorize = authorize
      throw new Error('nobody reckoned with this')
    }
    const eventId = await accept(world, node)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', attempts: 1 })
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 2 })
    expect(world.sent).toHaveLength(1)
  })
})

describe('an effect of several calls', () => {
  /** A mistake, and an easy one to make. */
  const twice = (options: object = {}): StaticFunction => {
    return (_input, ctx) =>
      ctx.effect(
        'post',
        async (key) => {
          await ctx.connection!('shop').call('book', { order: 'o1' }, { key })
          return ctx.connection!('shop').call('book', { order: 'o2' }, { key })
        },
        options,
      )
  }
  const orders = (world: ReturnType<typeof makeShop>) =>
    world.sent.map(({ body }) => (JSON.parse(body ?? '{}') as { order?: string }).order)

  test.each([
    ['refused', answered(401)],
    ['limited', answered(429, { 'retry-after': '10' })],
    ['not now', answered(503)],
    ['wrong', answered(422)],
  ])('[FE24] one of them done, another %s: outcome unknown, and not doubled', async (_what, outcome) => {
    const world = makeShop((_request, call) => (call === 2 ? outcome : CREATED))
    const { node, credentials } = await start(world, twice())
    credentials.next = { is: 'wait', delayMs: 1_000, why: 'it is being rotated' }
    const eventId = await accept(world, node)
    await world.pass(60_000)
    expect(orders(world)).toEqual(['o1', 'o2'])
    expect(await workOf(world, eventId)).toMatchObject({
      state: 'parked',
      class: 'unknown',
      key: 'BOOK:o1#post',
    })
    expect(await world.reads.ledger('BOOK:o1#post')).toMatchObject({ state: 'unknown' })
  })

  test('[FE24] a gate that closes between them, also for a call without the key', async () => {
    for (const operation of ['book', 'read']) {
      const world = makeShop(() => CREATED)
      const { node, credentials } = await start(world, (_input, ctx) =>
        ctx.effect('post', async (key) => {
          await ctx.connection!('shop').call('book', { order: 'o1' }, { key })
          credentials.closed = { is: 'closed', untilAt: null, why: 'it is being rotated' }
          const options = operation === 'book' ? { key } : {}
          return ctx.connection!('shop').call(operation, { order: 'o2' }, options)
        }),
      )
      const eventId = await accept(world, node)
      credentials.closed = null
      await world.pass(60_000)
      expect(orders(world)).toEqual(['o1'])
      expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', class: 'unknown' })
    }
  })

  test('[FE24] a lost call whose error the function ignores still leaves the outcome unknown', async () => {
    const world = makeShop((_request, call) => (call === 1 ? LOST : answered(503)))
    const { node } = await start(world, (_input, ctx) =>
      ctx.effect('post', async (key) => {
        const shop = ctx.connection!('shop')
        await shop.call('book', { order: 'o1' }, { key }).catch(() => {})
        return shop.call('book', { order: 'o2' }, { key })
      }),
    )
    const eventId = await accept(world, node)
    await world.pass(60_000)
    expect(orders(world)).toEqual(['o1', 'o2'])
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', class: 'unknown' })
  })

  test('[FE24] one that is in progress while another fails leaves the outcome unknown', async () => {
    const world = makeShop((_request, call) => (call === 1 ? null : answered(503)))
    const { node } = await start(world, (_input, ctx) =>
      ctx.effect('post', (key) =>
        Promise.all(['o1', 'o2'].map((order) => ctx.connection!('shop').call('book', { order }, { key }))),
      ),
    )
    const eventId = await accept(world, node)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', class: 'unknown' })
    expect(world.sent).toHaveLength(2)
  })

  test('[FE24] what may be repeated is: an effect that says so, and a call that only reads', async () => {
    const idempotent = makeShop((_request, call) => (call === 2 ? answered(401) : CREATED))
    const first = await start(idempotent, twice({ idempotent: true }))
    first.credentials.next = { is: 'wait', delayMs: 1_000, why: 'it is being rotated' }
    const repeated = await accept(idempotent, first.node)
    expect(await workOf(idempotent, repeated)).toMatchObject({ state: 'ready', attempts: 0, waits: 1 })
    expect(await idempotent.reads.ledger('BOOK:o1#post')).toMatchObject({ state: 'unknown' })
    await idempotent.pass(5_000)
    expect(orders(idempotent)).toEqual(['o1', 'o2', 'o1', 'o2'])
    expect(await workOf(idempotent, repeated)).toMatchObject({ state: 'done', attempts: 1 })

    const reading = makeShop((request, call) =>
      request.method === 'GET' ? found('{}') : call === 2 ? answered(503) : CREATED,
    )
    const second = await start(reading, (_input, ctx) =>
      ctx.effect('post', async (key) => {
        await ctx.connection!('shop').call('read', { order: 'o1' }, { key })
        return ctx.connection!('shop').call('book', { order: 'o1' }, { key })
      }),
    )
    const eventId = await accept(reading, second.node)
    expect(await reading.reads.ledger('BOOK:o1#post')).toMatchObject({ state: 'released' })
    await reading.pass(5_000)
    expect(await workOf(reading, eventId)).toMatchObject({ state: 'done', attempts: 2 })
  })
})

describe('a slow credential', () => {
  /** Until the test releases it, each time. */
  async function startSlow(world: ReturnType<typeof makeShop>, book: StaticFunction) {
    const { node, credentials } = await start(world, book)
    const { authorize } = credentials
    const waiting: (() => void)[] = []
    credentials.authorize = async (request) => {
      await new Promise<void>((resolve) => waiting.push(resolve))
      return authorize(request)
    }
    return { node, waiting }
  }

  test('[FE25] longer than the function has: nothing is sent, and nothing is doubled', async () => {
    const world = makeShop(() => CREATED)
    const { node, waiting } = await startSlow(world, (_input, ctx) =>
      ctx.effect('post', (key) => ctx.connection!('shop').call('book', { order: 'o1' }, { key }), {
        probe: async () => undefined,
        probeAfter: 1_000,
      }),
    )
    const eventId = await accept(world, node)
    await world.pass(31_000)
    expect(await world.reads.ledger('BOOK:o1#post')).toMatchObject({ state: 'unknown' })
    await world.pass(15_000)
    expect(waiting).toHaveLength(2)
    for (const letGo of waiting.splice(0)) letGo()
    await world.pass(100)
    expect(world.sent).toHaveLength(1)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 2 })
  })

  test('[FE25] the call ends with the function', async () => {
    const world = makeShop(() => CREATED)
    const { node, waiting } = await startSlow(world, booking)
    const eventId = await accept(world, node)
    await world.pass(25_000)
    waiting[0]?.()
    await world.pass(100)
    expect(world.sent).toHaveLength(1)
    expect(world.sent[0]?.timeoutMs).toBeLessThanOrEqual(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
  })

  test('[FE25] a run that was stopped meanwhile sends nothing, and the effect is free', async () => {
    const world = makeShop(() => LOST)
    const { node, waiting } = await startSlow(world, async (_input, ctx) => {
      const other = ctx.effect('other', () => Promise.reject(new Error('who knows')))
      await Promise.allSettled([booking(_input, ctx), other])
    })
    const eventId = await accept(world, node)
    await world.pass(100)
    waiting[0]?.()
    await world.pass(100)
    expect(world.sent).toEqual([])
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', key: 'BOOK:o1#other' })
    expect(await world.reads.ledger('BOOK:o1#post')).toMatchObject({ state: 'released' })
  })
})
