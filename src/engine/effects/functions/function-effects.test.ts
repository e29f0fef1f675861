// External effects of a function: one ledger entry per effect, and what crashes, timeouts and swallowed errors do.
import { describe, expect, test } from 'vitest'
import type { StaticFunction } from '../../../adapters/code-static/index.ts'
import type { RouteDocument } from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import type { EffectOptions, FunctionContext } from '../../../ports/code.ts'
import { RetryableError, TerminalError } from '../../../sdk/errors.ts'
import {
  accept,
  type Deferred,
  makeDeferred,
  makeWorld,
  type Node,
  PAID,
  ROUTE,
  SOURCE,
  type World,
  workOf,
} from '../../engine.fixture.ts'

const TIMEOUT = 5_000

const route = (known: Partial<RouteDocument> = {}): RouteDocument => ({
  ...ROUTE,
  do: { type: 'function', name: 'book', codeHash: '', with: null, timeoutMs: TIMEOUT },
  ...known,
})

const start = (world: World, book: StaticFunction, known: Partial<RouteDocument> = {}, name = 'one') =>
  world.node({ name, documents: [SOURCE, route(known)], functions: { book } })

/** The vendor of these tests: counts calls by key, and answers each as the test says. */
function makeVendor(answer: (call: number) => unknown) {
  const keys: string[] = []
  return {
    keys,
    post: async (key: string): Promise<unknown> => {
      keys.push(key)
      const value = await answer(keys.length)
      if (value instanceof Error) throw value
      return value
    },
  }
}

const entryOf = (world: World, name: string) => world.reads.ledger(`BOOK:o1#${name}`)

describe('an effect', () => {
  test('[FE1] has its own entry, under the key of the job and its name, and stores its result', async () => {
    const world = makeWorld()
    const vendor = makeVendor(() => ({ id: 'v1', exact: 9_007_199_254_740_993n }))
    const node = await start(world, async (_input, { effect }) => ({
      post: await effect('post', vendor.post),
    }))
    const work = await workOf(world, await accept(world, node))
    expect(vendor.keys).toEqual(['BOOK:o1#post'])
    expect(await entryOf(world, 'post')).toMatchObject({
      state: 'done',
      proof: 'acknowledged',
      effectRef: 'v1',
      result: '{"id":"v1","exact":9007199254740993}',
      work: work.id,
    })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'done' })
    expect(work).toMatchObject({ state: 'done', attempts: 1, key: 'BOOK:o1' })
  })

  test('[FE26] a slow store uses up no attempt: the function goes on when it is back', async () => {
    const world = makeWorld()
    const vendor = makeVendor(() => ({ id: 'v1' }))
    const node = await start(world, async (_input, { effect }) => ({
      post: await effect('post', vendor.post),
    }))
    let held: Deferred<void> | null = null
    node.faults.commit = async (commit, pass) => {
      if (commit.writes.some(({ w }) => w === 'ledger.reserve')) await held?.promise
      return pass()
    }
    held = makeDeferred<void>()
    const id = await accept(world, node)
    // More often than the route has attempts.
    for (let stall = 0; stall < 5; stall += 1) {
      await world.pass(TIMEOUT + 1_000)
      const last = held
      held = makeDeferred<void>()
      last.give()
      await world.pass(2_000)
    }
    expect(vendor.keys).toEqual([])
    expect(await workOf(world, id)).toMatchObject({
      attempts: 0,
      lastError: expect.stringContaining('took too long'),
    })
    const last = held
    held = null
    last.give()
    await world.pass(30_000)
    expect(await workOf(world, id)).toMatchObject({ state: 'done', attempts: 1 })
    expect(vendor.keys).toEqual(['BOOK:o1#post'])
  })

  test('[FE2] that is done is not repeated: its result is returned, in a later run and for another job', async () => {
    const world = makeWorld()
    const vendor = makeVendor(() => ({ id: 'v1', exact: 9_007_199_254_740_993n }))
    const seen: unknown[] = []
    const node = await start(world, async (_input, { effect, attempt, event }) => {
      seen.push(await effect('post', vendor.post))
      if (attempt === 1 && event.dedupKey === 'd1') throw new Error('afterwards')
      return null
    })
    const first = await accept(world, node)
    await world.pass(5_000)
    const second = await accept(world, node, { ...PAID, id: 'd2' })
    expect(await workOf(world, first)).toMatchObject({ state: 'done', attempts: 2 })
    expect(await workOf(world, second)).toMatchObject({ state: 'skipped' })
    expect(vendor.keys).toHaveLength(1)
    expect(seen).toEqual(Array(3).fill({ id: 'v1', exact: 9_007_199_254_740_993n }))
  })

  test('[FE2] whose job is done already does not start in a job that was put back', async () => {
    const world = makeWorld()
    let runs = 0
    const node = await start(world, (_input, { attempt, event }) => {
      runs += 1
      if (event.dedupKey === 'd2' && attempt === 1) throw new Error('first')
      return null
    })
    const late = await accept(world, node, { ...PAID, id: 'd2' })
    const first = await accept(world, node)
    await world.pass(5_000)
    expect(await workOf(world, first)).toMatchObject({ state: 'done' })
    expect(await workOf(world, late)).toMatchObject({ state: 'skipped' })
    expect(runs).toBe(2)
  })

  test('[FE3] is made only with a reserve of this job, and a lease long enough for the function', async () => {
    const world = makeWorld()
    const states: unknown[] = []
    const vendor = makeVendor(async () => {
      states.push(await entryOf(world, 'post'))
      return null
    })
    const node = await start(world, async (_input, { effect }) => effect('post', vendor.post))
    const renewals: string[] = []
    node.faults.renew = (pass) => {
      renewals.push('asked')
      return pass()
    }
    const eventId = await accept(world, node)
    const { id } = await workOf(world, eventId)
    expect(states).toMatchObject([{ state: 'reserved', work: id, epoch: 1 }])
    const long = { type: 'function', name: 'book', codeHash: '', with: null, timeoutMs: 60_000 } as const
    const patient = await start(
      world,
      async (_input, { effect }) => effect('post', vendor.post),
      { do: long },
      'two',
    )
    patient.faults.renew = () => new Promise(() => {})
    await accept(world, patient, { ...PAID, id: 'd2', order: 'o2' })
    expect(vendor.keys).toEqual(['BOOK:o1#post'])
  })

  test.each([
    [new RetryableError('locked'), 'ready'],
    [new TerminalError('gone'), 'dead'],
  ])('[FE4] that throws %s had none, as its author states: its key is free', async (error, state) => {
    const world = makeWorld()
    const vendor = makeVendor((call) => (call === 1 ? error : { id: 'v1' }))
    const node = await start(world, async (_input, { effect }) => effect('post', vendor.post))
    const eventId = await accept(world, node)
    expect(await entryOf(world, 'post')).toMatchObject({ state: 'released', proof: 'not-applied' })
    expect(await workOf(world, eventId)).toMatchObject({ state, attempts: 1 })
    await world.pass(5_000)
    expect(vendor.keys).toHaveLength(state === 'ready' ? 2 : 1)
  })

  test.each<[string, StaticFunction]>([
    [
      'an event that was refused',
      (_input, { effect, emit }) =>
        effect('post', () => {
          emit('order..booked', {})
        }),
    ],
    [
      'an event that was refused before the call',
      (_input, { effect, emit }) => {
        let told: unknown = null
        try {
          emit('order..booked', {})
        } catch (error) {
          told = error
        }
        return effect('post', () => {
          throw told
        })
      },
    ],
    [
      'another effect that is to be tried again',
      (_input, { effect }) =>
        effect('post', () =>
          effect('inner', () => {
            throw new RetryableError('busy')
          }),
        ),
    ],
    [
      'another effect that is of no use',
      async (_input, { effect }) => {
        const inner = effect('inner', () => {
          throw new TerminalError('gone')
        })
        return effect('post', async () => inner)
      },
    ],
  ])('[FE21] that rethrows the error of %s is unknown: its author stated nothing', async (_name, book) => {
    const world = makeWorld()
    const node = await start(world, book)
    const eventId = await accept(world, node)
    await world.pass(10_000)
    expect(await entryOf(world, 'post')).toMatchObject({ state: 'unknown', proof: 'no-answer' })
    expect(await workOf(world, eventId)).toMatchObject({
      state: 'parked',
      class: 'unknown',
      key: 'BOOK:o1#post',
    })
  })

  test('[FE21] that wraps another error in its own statement is believed', async () => {
    const world = makeWorld()
    const node = await start(world, async (_input, { effect }) =>
      effect('post', async () => {
        try {
          await effect('inner', () => {
            throw new RetryableError('busy')
          })
        } catch (cause) {
          throw new RetryableError('not called', { cause })
        }
      }),
    )
    await accept(world, node)
    expect(await entryOf(world, 'post')).toMatchObject({ state: 'released', proof: 'not-applied' })
  })

  test('[FE5] that throws anything else is unknown: it is not repeated, and the job names it for an operator', async () => {
    const world = makeWorld()
    const vendor = makeVendor(() => new Error('connection reset'))
    const node = await start(world, async (_input, { effect }) => effect('post', vendor.post))
    const eventId = await accept(world, node)
    await world.pass(600_000)
    const work = await workOf(world, eventId)
    expect(work).toMatchObject({ state: 'parked', class: 'unknown', key: 'BOOK:o1#post', attempts: 1 })
    expect(work.lastError).toContain("effect 'post': connection reset")
    expect(await entryOf(world, 'post')).toMatchObject({ state: 'unknown', work: work.id })
    expect(vendor.keys).toHaveLength(1)
  })

  test.each<[string, EffectOptions<unknown>]>([
    ['idempotent', { idempotent: true }],
    ['remembered by the vendor', { keyTtl: '1h' }],
    ['remembered by the vendor, in milliseconds', { keyTtl: 3_600_000 }],
  ])('[FE6] that is %s is repeated with the same key after an unknown outcome', async (_name, options) => {
    const world = makeWorld()
    const vendor = makeVendor((call) => (call === 1 ? new Error('reset') : { id: 'v1' }))
    const node = await start(world, async (_input, { effect }) => effect('post', vendor.post, options))
    const eventId = await accept(world, node)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', attempts: 1, key: 'BOOK:o1#post' })
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 2 })
    expect(vendor.keys).toEqual(['BOOK:o1#post', 'BOOK:o1#post'])
  })

  test('[FE6] whose key the vendor forgets is not repeated', async () => {
    const world = makeWorld()
    const vendor = makeVendor(() => new Error('reset'))
    const node = await start(world, async (_input, { effect }) =>
      effect('post', vendor.post, { keyTtl: '5s' }),
    )
    const eventId = await accept(world, node)
    await world.pass(60_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked' })
    expect(vendor.keys).toHaveLength(1)
  })

  test('[FE6] uses no more attempts than the profile has', async () => {
    const world = makeWorld()
    const vendor = makeVendor(() => new Error('reset'))
    const node = await start(world, async (_input, { effect }) =>
      effect('post', vendor.post, { idempotent: true }),
    )
    const eventId = await accept(world, node)
    await world.pass(600_000)
    expect(vendor.keys).toHaveLength(3)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'dead', attempts: 3, key: 'BOOK:o1' })
  })

  test.each([
    ['found', { id: 'v7' }, 1],
    ['absent', undefined, 2],
  ])('[FE7] is probed once no call can be in flight, and is %s', async (_name, found, calls) => {
    const world = makeWorld()
    const vendor = makeVendor((call) => (call === 1 ? new Error('reset') : { id: 'v8' }))
    const askedAt: number[] = []
    const seen: unknown[] = []
    const node = await start(world, async (_input, { effect }) => {
      const probe = () => {
        askedAt.push(world.now())
        return found
      }
      seen.push(await effect('post', vendor.post, { probe, probeAfter: '10s' }))
      return null
    })
    const before = world.now()
    const eventId = await accept(world, node)
    await world.pass(60_000)
    expect(askedAt).toHaveLength(1)
    expect(askedAt[0]).toBeGreaterThanOrEqual(before + TIMEOUT + 10_000)
    expect(vendor.keys).toHaveLength(calls)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    expect(await entryOf(world, 'post')).toMatchObject({ state: 'done', effectRef: found?.id ?? 'v8' })
    expect(seen).toEqual([found ?? { id: 'v8' }])
  })

  test('[FE7] no call follows a probe that throws', async () => {
    const world = makeWorld()
    const vendor = makeVendor(() => new Error('reset'))
    let asked = 0
    const probe = () => {
      asked += 1
      throw new Error('unreachable')
    }
    const node = await start(world, async (_input, { effect }) => effect('post', vendor.post, { probe }))
    const eventId = await accept(world, node)
    await world.pass(700_000)
    expect(asked).toBeGreaterThan(2)
    expect(vendor.keys).toHaveLength(1)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', key: 'BOOK:o1#post' })
  })

  test('[FE8] of a node that died is unknown: it counts as an attempt, and is not repeated', async () => {
    const world = makeWorld()
    const vendor = makeVendor(() => new Promise(() => {}))
    const book: StaticFunction = async (_input, { effect }) => effect('post', vendor.post)
    const first = await start(world, book)
    const eventId = await accept(world, first)
    first.crash()
    await start(world, book)
    await world.pass(10_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', key: 'BOOK:o1#post', attempts: 1 })
    expect(await entryOf(world, 'post')).toMatchObject({ state: 'unknown', proof: 'crash' })
    expect(vendor.keys).toHaveLength(1)
  })

  test('[FE8] is found even if the function does not reach it again: the job is neither dead nor done', async () => {
    for (const end of ['dead', 'done'] as const) {
      const world = makeWorld()
      const vendor = makeVendor(() => new Promise(() => {}))
      let lives = 0
      const book: StaticFunction = async (_input, { effect }) => {
        lives += 1
        if (lives === 1) return effect('post', vendor.post)
        if (end === 'dead') throw new TerminalError('gone')
        return null
      }
      const first = await start(world, book)
      const eventId = await accept(world, first)
      first.crash()
      await start(world, book)
      await world.pass(10_000)
      const work = await workOf(world, eventId)
      expect([end, work.state, work.key]).toEqual([end, 'parked', 'BOOK:o1#post'])
      expect(await entryOf(world, 'post')).toMatchObject({ state: 'unknown', proof: 'crash' })
    }
  })

  test('[FE8] is found however many effects of other jobs are open', async () => {
    const world = makeWorld()
    let lives = 0
    const book: StaticFunction = async (_input, { effect }) => {
      lives += 1
      return lives === 1 ? effect('post', () => new Promise(() => {})) : null
    }
    const first = await start(world, book)
    const eventId = await accept(world, first)
    first.crash()
    const { id, consumer } = await workOf(world, eventId)
    const { payloadHash, correlationId } = (await world.reads.event(eventId))!
    await world.pass(1)
    const others = world.store.commit({
      tenant: DEFAULT_TENANT,
      guards: [],
      writes: Array.from({ length: 10_100 }, (_, index) => ({
        w: 'ledger.reserve',
        entry: {
          key: `other-${index}`,
          work: `${id}-${index}` as typeof id,
          epoch: 1,
          ...{ consumer, eventId, objectId: null, payloadHash, correlationId },
        },
        sendWithinMs: 1_000,
      })),
    })
    await world.pass()
    await others
    await start(world, book)
    await world.pass(10_000)
    expect(lives).toBe(2)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', key: 'BOOK:o1#post' })
  })

  test('[FE8] is not dead-lettered with a job that keeps crashing its node', async () => {
    const world = makeWorld()
    let lives = 0
    const book: StaticFunction = async (_input, { effect }) => {
      lives += 1
      return lives === 1 ? effect('post', () => new Promise(() => {})) : new Promise(() => {})
    }
    let node = await start(world, book)
    const eventId = await accept(world, node)
    for (let crash = 0; crash < 4; crash += 1) {
      node.crash()
      node = await start(world, book)
      await world.pass(1_000)
    }
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', losses: 3, key: 'BOOK:o1#post' })
    expect(await entryOf(world, 'post')).toMatchObject({ state: 'unknown', proof: 'crash' })
  })

  test('[FE9] that is open at the timeout is unknown; its late success settles it, and the function goes on', async () => {
    const world = makeWorld()
    const late = makeDeferred<unknown>()
    const vendor = makeVendor(() => late.promise)
    const signals: boolean[] = []
    const node = await start(world, async (_input, { effect }) => {
      const made = await effect('post', async (key, signal) => {
        signal.addEventListener('abort', () => signals.push(signal.aborted))
        return vendor.post(key)
      })
      return { made }
    })
    const eventId = await accept(world, node)
    await world.pass(TIMEOUT + 1)
    expect(signals).toEqual([true])
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', key: 'BOOK:o1#post' })
    expect(await entryOf(world, 'post')).toMatchObject({ state: 'unknown' })
    late.give({ id: 'v1' })
    await world.pass(5_000)
    expect(await entryOf(world, 'post')).toMatchObject({
      state: 'done',
      proof: 'acknowledged',
      effectRef: 'v1',
    })
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ result: '{"made":{"id":"v1"}}' })
    expect(vendor.keys).toHaveLength(1)
  })

  test('[FE10] of a stale owner adds evidence, which settles the unknown outcome for the new owner', async () => {
    for (const isClaimed of [true, false]) {
      const world = makeWorld()
      const late = makeDeferred<unknown>()
      const vendor = makeVendor(() => late.promise)
      const book: StaticFunction = async (_input, { effect }) => ({ made: await effect('post', vendor.post) })
      const first = await start(world, book)
      const eventId = await accept(world, first)
      // A second process of the same node fences the first.
      const gate = makeDeferred<void>()
      const claim = async <Value>(pass: () => Promise<Value>) => {
        if (!isClaimed) await gate.promise
        return pass()
      }
      await world.node({
        name: 'one',
        documents: [SOURCE, route()],
        functions: { book },
        faults: { claim },
      })
      await world.pass(1_000)
      expect(await entryOf(world, 'post')).toMatchObject({ state: isClaimed ? 'unknown' : 'reserved' })
      late.give({ id: 'v1' })
      await world.pass(1_000)
      expect((await entryOf(world, 'post'))?.evidence).toHaveLength(1)
      gate.give()
      await world.pass(10_000)
      expect(await entryOf(world, 'post')).toMatchObject({ state: 'done', result: '{"id":"v1"}' })
      expect(await workOf(world, eventId)).toMatchObject({ state: 'done', epoch: isClaimed ? 4 : 2 })
      expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ result: '{"made":{"id":"v1"}}' })
      expect(vendor.keys).toHaveLength(1)
    }
  })
})

describe('a run that was stopped', () => {
  const swallow = async (
    _input: unknown,
    { effect }: FunctionContext,
    vendor: ReturnType<typeof makeVendor>,
  ) => {
    const heard: string[] = []
    for (const name of ['first', 'second']) {
      try {
        await effect(name, vendor.post)
      } catch (error) {
        heard.push(String(error))
      }
    }
    return { heard }
  }

  test('[FE11] ends as the engine decided, whatever the function returns, and starts nothing more', async () => {
    const world = makeWorld()
    const vendor = makeVendor(() => new Error('reset'))
    const node = await start(world, (input, context) => swallow(input, context, vendor))
    const eventId = await accept(world, node)
    await world.pass(60_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', key: 'BOOK:o1#first' })
    expect(vendor.keys).toEqual(['BOOK:o1#first'])
    expect(await entryOf(world, 'second')).toBeNull()
    expect(await world.reads.ledger('BOOK:o1')).toBeNull()
  })

  test('[FE11] behind a key that another job holds waits, and uses no attempt', async () => {
    const world = makeWorld()
    const first = makeDeferred<unknown>()
    const vendor = makeVendor((call) => (call === 1 ? first.promise : { id: 'v2' }))
    const node = await start(world, (input, context) => swallow(input, context, vendor))
    const one = await accept(world, node)
    const two = await accept(world, node, { ...PAID, id: 'd2' })
    expect(await workOf(world, two)).toMatchObject({
      state: 'ready',
      waits: 1,
      attempts: 0,
      key: 'BOOK:o1#first',
    })
    first.give({ id: 'v1' })
    await world.pass(5_000)
    expect(await workOf(world, one)).toMatchObject({ state: 'done' })
    expect(await workOf(world, two)).toMatchObject({ state: 'skipped' })
    expect(vendor.keys).toEqual(['BOOK:o1#first', 'BOOK:o1#second'])
  })

  test('[FE12] by several effects at once records every unknown outcome, and parks for one after the other', async () => {
    const world = makeWorld()
    const vendor = makeVendor(() => new Error('reset'))
    const node = await start(world, async (_input, { effect }) =>
      Promise.all(['a', 'b', 'c'].map((name) => effect(name, vendor.post, { idempotent: name === 'c' }))),
    )
    const eventId = await accept(world, node)
    const work = await workOf(world, eventId)
    for (const name of ['a', 'b', 'c']) expect(await entryOf(world, name)).toMatchObject({ state: 'unknown' })
    expect(work).toMatchObject({ state: 'parked', key: 'BOOK:o1#a', attempts: 1 })
    const said = resolve(node, work.id, 'done')
    await world.pass(1_000)
    await said
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', key: 'BOOK:o1#b' })
  })

  test('[FE13] effects that are not awaited are awaited before the job ends', async () => {
    const world = makeWorld()
    const slow = makeDeferred<unknown>()
    const vendor = makeVendor(() => slow.promise)
    const node = await start(world, (_input, { effect }) => {
      void effect('post', vendor.post).catch(() => {})
      return 'returned'
    })
    const eventId = await accept(world, node)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'leased' })
    slow.give(null)
    await world.pass(1_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    expect(await entryOf(world, 'post')).toMatchObject({ state: 'done', result: 'null' })
  })

  test('[FE13] nothing starts after the function has returned or timed out', async () => {
    const world = makeWorld()
    const vendor = makeVendor(() => null)
    const contexts: FunctionContext[] = []
    const node = await start(world, (_input, context) => {
      contexts.push(context)
      return null
    })
    await accept(world, node)
    const [context] = contexts
    await expect(context?.effect('late', vendor.post)).rejects.toThrow('returned already')
    expect(() => context?.emit('shop.booked', {})).toThrow('returned already')
    expect(vendor.keys).toEqual([])
  })
})

async function resolve(node: Node, id: Parameters<Node['engine']['resolve']>[1], as: 'done' | 'released') {
  await node.engine.resolve(DEFAULT_TENANT, id, { as, reason: 'looked' })
}

describe('an operator', () => {
  test.each([
    ['done', 1, null],
    ['released', 2, { id: 'v2' }],
  ] as const)('[FE14] who resolves the effect as %s lets the function go on', async (as, calls, made) => {
    const world = makeWorld()
    const vendor = makeVendor((call) => (call === 1 ? new Error('reset') : { id: 'v2' }))
    const seen: unknown[] = []
    const node = await start(world, async (_input, { effect }) => {
      seen.push(await effect('post', vendor.post))
      return 'fine'
    })
    const eventId = await accept(world, node)
    const said = resolve(node, (await workOf(world, eventId)).id, as)
    await world.pass(1_000)
    await said
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1, key: 'BOOK:o1' })
    expect(await entryOf(world, 'post')).toMatchObject({ state: 'done' })
    expect(vendor.keys).toHaveLength(calls)
    expect(seen).toEqual([made])
  })
})

describe('an operator who resolves one of two unknown outcomes', () => {
  test.each<[string, (made: unknown) => unknown]>([
    ['fails for good', () => Promise.reject(new TerminalError('no id'))],
    ['fails', (made) => (made as { id: string }).id],
    ['returns', () => 'nothing more to do'],
  ])(
    '[FE23] leaves the other one unchanged, also if the function %s before it gets there',
    async (_name, end) => {
      const world = makeWorld()
      const vendor = makeVendor(() => new Error('reset'))
      let calls = 0
      const once: StaticFunction = async (_input, { effect }) => {
        calls += 1
        if (calls === 1) return Promise.all([effect('a', vendor.post), effect('b', vendor.post)])
        return end(await effect('a', vendor.post))
      }
      const node = await start(world, once)
      const eventId = await accept(world, node)
      const { id } = await workOf(world, eventId)
      expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', key: 'BOOK:o1#a' })
      const said = resolve(node, id, 'done')
      await world.pass(60_000)
      await said
      expect(await entryOf(world, 'b')).toMatchObject({ state: 'unknown' })
      expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', key: 'BOOK:o1#b' })
      expect(vendor.keys).toHaveLength(2)
    },
  )
})

describe('a job that is cancelled with two unknown outcomes', () => {
  const cancelled = async (post: (key: string) => Promise<unknown>) => {
    const world = makeWorld()
    const node = await start(world, (_input, { effect }) =>
      Promise.all([effect('a', post), effect('b', post)]),
    )
    const eventId = await accept(world, node)
    await world.pass(TIMEOUT + 1)
    const { id } = await workOf(world, eventId)
    const said = node.engine.cancel(DEFAULT_TENANT, id, { reason: 'not needed' })
    await world.pass()
    await said
    const look = async () => {
      const { state, key } = (await world.reads.work(id))!
      return [state, key, (await entryOf(world, 'a'))?.state, (await entryOf(world, 'b'))?.state]
    }
    return { world, node, id, look }
  }
  const reset = () => Promise.reject(new Error('reset'))

  test('[DL11] names one after the other, until an operator has resolved both', async () => {
    const { world, node, id, look } = await cancelled(reset)
    expect(await look()).toEqual(['cancelled', 'BOOK:o1#a', 'unknown', 'unknown'])
    const first = resolve(node, id, 'released')
    await world.pass()
    await first
    expect(await look()).toEqual(['cancelled', 'BOOK:o1#b', 'released', 'unknown'])
    const second = resolve(node, id, 'done')
    await world.pass()
    await second
    expect(await look()).toEqual(['cancelled', 'BOOK:o1#b', 'released', 'done'])
    const third = resolve(node, id, 'done')
    const refused = expect(third).rejects.toMatchObject({ code: 'conflict' })
    await world.pass()
    await refused
  })

  test('[DL12] accepts no decision about the previous one', async () => {
    const { world, node, id, look } = await cancelled(reset)
    const say = async () => {
      const decision = { as: 'released', reason: 'looked', key: 'BOOK:o1#a' } as const
      const said = node.engine.resolve(DEFAULT_TENANT, id, decision).then(
        () => 'taken',
        ({ code }) => code,
      )
      await world.pass()
      return said
    }
    expect(await say()).toBe('taken')
    expect(await say()).toBe('conflict')
    expect(await look()).toEqual(['cancelled', 'BOOK:o1#b', 'released', 'unknown'])
  })

  test('[DL11] names the next when evidence settles the first', async () => {
    const late = makeDeferred<unknown>()
    const { world, look } = await cancelled((key) =>
      key.endsWith('#a') ? late.promise : new Promise(() => {}),
    )
    expect(await look()).toEqual(['cancelled', 'BOOK:o1#a', 'unknown', 'unknown'])
    late.give({ id: 'v1' })
    await world.pass(1_000)
    expect(await look()).toEqual(['cancelled', 'BOOK:o1#b', 'done', 'unknown'])
  })
})

test('[FE11] an effect whose reserve is confirmed after the run was stopped is not made: its key is free', async () => {
  const world = makeWorld()
  const vendor = makeVendor(() => null)
  const node = await start(world, async (_input, { effect }) =>
    Promise.all([effect('late', vendor.post), effect('a b', vendor.post)]),
  )
  const eventId = await accept(world, node)
  expect(vendor.keys).toEqual([])
  expect(await entryOf(world, 'late')).toMatchObject({ state: 'released', proof: 'never-sent' })
  expect(await workOf(world, eventId)).toMatchObject({ state: 'dead', class: 'validation' })
})

describe('misuse', () => {
  test.each<[string, string, StaticFunction]>([
    ['a name that is none', 'no name for an effect', async (_input, { effect }) => effect('a b', () => 1)],
    [
      'a name that comes twice',
      'name them apart',
      async (_input, { effect }) => {
        await effect('post', () => 1)
        return effect('post', () => 2)
      },
    ],
    [
      'a key life that is none',
      'keyTtl is a duration',
      async (_input, { effect }) => effect('post', () => 1, { keyTtl: 'a day' }),
    ],
    [
      'a probe that is none',
      'probe is a function',
      async (_input, { effect }) => effect('post', () => 1, { probe: true as never }),
    ],
    ['no function', 'second argument', async (_input, { effect }) => effect('post', 'text' as never)],
    [
      'too many effects',
      'more than 100 effects',
      async (_input, { effect }) => {
        for (let index = 0; index < 101; index += 1) await effect(`post-${index}`, () => index)
      },
    ],
  ])(
    '[FE15] %s is a dead letter that says what to write, also when the error is swallowed',
    async (_name, text, book) => {
      for (const run of [
        book,
        async (input: never, context: never) => Promise.resolve(book(input, context)).catch(() => null),
      ]) {
        const world = makeWorld()
        const node = await start(world, run as StaticFunction)
        const eventId = await accept(world, node)
        await world.pass(10_000)
        expect(await workOf(world, eventId)).toMatchObject({
          state: 'dead',
          class: 'validation',
          key: 'BOOK:o1',
        })
        const { items } = await world.reads.deadLetters({ cursor: null, limit: 1 })
        expect(items[0]?.lastError).toContain(text)
      }
    },
  )

  test.each([
    ['too large', 'x'.repeat(20_000)],
    ['no JSON', new Map()],
  ])(
    '[FE16] a result that is %s is not stored: the run goes on, and a later one says what to return',
    async (_name, value) => {
      const world = makeWorld()
      const seen: unknown[] = []
      const node = await start(world, async (_input, { effect, attempt }) => {
        seen.push(await effect('post', () => value))
        if (attempt === 1) throw new Error('afterwards')
        return null
      })
      const eventId = await accept(world, node)
      expect(seen).toEqual([value])
      expect(await entryOf(world, 'post')).toMatchObject({ state: 'done', result: null })
      expect(node.log.messages.map(({ name }) => name)).toContain('function.result-not-kept')
      await world.pass(10_000)
      expect(await workOf(world, eventId)).toMatchObject({ state: 'dead', class: 'validation' })
      const { items } = await world.reads.deadLetters({ cursor: null, limit: 1 })
      expect(items[0]?.lastError).toContain('Return less')
    },
  )
})
