import { describe, expect, test } from 'vitest'
import type { RouteDocument } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type EventId, type TenantId } from '../../core/foundation/ids/index.ts'
import type { EffectOptions, FunctionContext } from '../../ports/code.ts'
import { accept, answered, CREATED, HTTP, LOST, makeWorld, PAID, ROUTE, SOURCE } from '../engine.fixture.ts'

const RICH: RouteDocument = {
  ...ROUTE,
  name: 'rich',
  where: "payload.amount > 50 && payload.kind == 'paid'",
  do: { ...HTTP, headers: { 'x-order': '{{ payload.order }}' } },
}
const given = (data: object, subject = 'shop.events.paid') => ({ subject, data: { ...PAID, ...data } })

async function start(
  documents: readonly RouteDocument[] = [ROUTE],
  answer: Parameters<typeof makeWorld>[0] = () => CREATED,
) {
  const world = makeWorld(answer)
  const node = await world.node({ documents: [SOURCE, ...documents] })
  return { world, node, inspect: node.engine.inspect }
}

describe('try', () => {
  test('[TR2] shows match, key, request and verdict', async () => {
    const { inspect } = await start([RICH])
    const tried = await inspect.tryRoute(DEFAULT_TENANT, 'rich', given({ amount: 60 }))
    expect(tried).toMatchObject({
      route: { name: 'rich', status: 'active' },
      subjectFits: true,
      matched: true,
      why: [
        { part: 'payload.amount > 50', holds: true, saw: 'payload.amount = 60' },
        { part: "payload.kind == 'paid'", holds: true },
      ],
      key: 'BOOK:o1',
      action: {
        type: 'http',
        request: {
          method: 'POST',
          url: 'https://vendor.example/orders/o1',
          headers: { 'x-order': 'o1', 'idempotency-key': 'BOOK:o1' },
          body: '{"id":"d1"}',
        },
      },
      ledger: { verdict: 'would-call', entry: null },
      problem: null,
    })
  })

  test('[TR2] an event that does not match has neither key nor action', async () => {
    const { inspect } = await start([RICH])
    const cheap = await inspect.tryRoute(DEFAULT_TENANT, 'rich', given({ amount: 3 }))
    expect(cheap).toMatchObject({ subjectFits: true, matched: false, key: null, action: null, ledger: null })
    expect(cheap.why[0]).toEqual({ part: 'payload.amount > 50', holds: false, saw: 'payload.amount = 3' })
    const other = await inspect.tryRoute(DEFAULT_TENANT, 'rich', given({ amount: 60 }, 'shop.events.other'))
    expect(other).toMatchObject({ subjectFits: false, matched: false })
  })

  test('[TR2] functions and emitted events', async () => {
    const { inspect } = await start()
    const run: RouteDocument = {
      ...ROUTE,
      do: {
        type: 'function',
        name: 'f',
        codeHash: 'sha256:x',
        with: { n: '{{ payload.order }}' },
        timeoutMs: 1,
      },
    }
    expect((await inspect.tryRoute(DEFAULT_TENANT, run, given({}))).action).toEqual({
      type: 'function',
      function: { name: 'f', codeHash: 'sha256:x', input: { n: 'o1' } },
    })
    const emit: RouteDocument = {
      ...ROUTE,
      do: { type: 'emit', subject: 'a.{{ payload.order }}', data: '{{ key }}' },
    }
    expect((await inspect.tryRoute(DEFAULT_TENANT, emit, given({}))).action).toEqual({
      type: 'emit',
      emit: { subject: 'a.o1', data: 'BOOK:o1' },
    })
    expect((await inspect.tryRoute(DEFAULT_TENANT, emit, given({ order: 'a b' }))).problem).toMatchObject({
      at: 'do',
      path: 'emit',
    })
  })

  test('[TR3] the ledger would skip an existing effect, and names its job', async () => {
    const { world, node, inspect } = await start()
    const eventId = await accept(world, node)
    const tried = await inspect.tryRoute(DEFAULT_TENANT, 'book', given({ id: 'd2' }))
    expect(tried.ledger).toMatchObject({ verdict: 'would-skip', entry: { eventId, state: 'done' } })
    expect((await inspect.tryRoute(DEFAULT_TENANT, 'book', eventId)).ledger?.verdict).toBe('would-skip')
  })

  test('[TR3] waits for one in progress, calls after proof of no effect, parks its own unknown outcome', async () => {
    const open = await start([ROUTE], () => null)
    await accept(open.world, open.node)
    expect((await open.inspect.tryRoute(DEFAULT_TENANT, 'book', given({}))).ledger?.verdict).toBe(
      'would-wait',
    )
    const refused = await start([ROUTE], () => answered(400))
    await accept(refused.world, refused.node)
    expect((await refused.inspect.tryRoute(DEFAULT_TENANT, 'book', given({}))).ledger).toMatchObject({
      verdict: 'would-call',
      entry: { state: 'released' },
    })
    const lost = await start([ROUTE], () => LOST)
    const eventId = await accept(lost.world, lost.node)
    expect((await lost.inspect.tryRoute(DEFAULT_TENANT, 'book', eventId)).ledger).toMatchObject({
      verdict: 'would-park',
      entry: { state: 'unknown' },
    })
    expect((await lost.inspect.tryRoute(DEFAULT_TENANT, 'book', given({}))).ledger?.verdict).toBe(
      'would-wait',
    )
  })

  test('[TR4] a key or request that cannot be made is a problem with its place', async () => {
    const { inspect } = await start()
    const problemOf = async (route: RouteDocument, data: object) =>
      inspect.tryRoute(DEFAULT_TENANT, route, given(data))
    expect(await problemOf({ ...ROUTE, key: 'payload.gone' }, {})).toMatchObject({
      matched: true,
      key: null,
      problem: { at: 'key', message: 'the key is null', path: 'key', type: 'null' },
    })
    expect(await problemOf({ ...ROUTE, where: 'payload.kind > 3' }, {})).toMatchObject({
      matched: true,
      problem: { at: 'where' },
    })
    expect(await problemOf({ ...ROUTE, key: null }, { order: null })).toMatchObject({
      key: 'book:evt_00000000-0000-7000-8000-000000000000',
      action: null,
      ledger: null,
      problem: { at: 'do', path: 'payload.order', type: 'null' },
    })
  })

  test('[TR5] a route that is not deployed can be given, a missing one is not found', async () => {
    const { inspect } = await start([])
    expect((await inspect.tryRoute(DEFAULT_TENANT, RICH, given({ amount: 60 }))).matched).toBe(true)
    await expect(inspect.tryRoute(DEFAULT_TENANT, 'rich', given({}))).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  test('[TR6] a given event has the names that its source gives; an unknown id is not found', async () => {
    const { inspect } = await start()
    const route = { ...ROUTE, key: "event.objectType + ':' + event.objectId + ':' + source" }
    const named = await inspect.tryRoute(DEFAULT_TENANT, route, { ...given({}), source: 'shop' })
    expect(named.key).toBe('order:o1:shop')
    await expect(inspect.tryRoute(DEFAULT_TENANT, 'book', 'evt_none' as EventId)).rejects.toMatchObject({
      code: 'not_found',
    })
  })
})

describe('try, for a function', () => {
  const run: RouteDocument = {
    ...ROUTE,
    do: { type: 'function', name: 'book', codeHash: '', with: null, timeoutMs: 5_000 },
  }
  const begin = async (post: () => Promise<unknown>, options: EffectOptions<unknown> = {}) => {
    const world = makeWorld()
    const functions = {
      book: (_input: unknown, { effect }: FunctionContext) => effect('post', post, options),
    }
    const node = await world.node({ documents: [SOURCE, run], functions })
    const eventId = await accept(world, node)
    return (await node.engine.inspect.tryRoute(DEFAULT_TENANT, 'book', eventId)).ledger
  }
  const reset = () => Promise.reject(new Error('reset'))

  test('[TR10] an effect with an unknown outcome would park it', async () => {
    expect(await begin(reset)).toMatchObject({
      verdict: 'would-park',
      reason: "the outcome of its effect 'post' is unknown and cannot be asked for",
      entry: { key: 'BOOK:o1#post', state: 'unknown' },
    })
  })

  test('[TR10] one in progress, or that can be settled without a user, would make it wait', async () => {
    expect(await begin(() => new Promise(() => {}))).toMatchObject({
      verdict: 'would-wait',
      entry: { key: 'BOOK:o1#post', state: 'reserved' },
    })
    expect(await begin(reset, { idempotent: true })).toMatchObject({
      verdict: 'would-wait',
      entry: { key: 'BOOK:o1#post', state: 'unknown' },
    })
  })

  test('[TR10] a finished one changes nothing', async () => {
    expect(await begin(async () => null)).toMatchObject({
      verdict: 'would-skip',
      entry: { key: 'BOOK:o1', state: 'done' },
    })
  })
})

describe('explain', () => {
  test('[TR11] a route that came later would match, and has no job', async () => {
    const { world, node, inspect } = await start()
    const eventId = await accept(world, node)
    const later = { ...ROUTE, name: 'later', key: null }
    const applied = node.engine.apply(DEFAULT_TENANT, [SOURCE, ROUTE, later])
    await world.pass()
    await applied
    expect((await inspect.explain(DEFAULT_TENANT, eventId)).consumers).toMatchObject([
      { name: 'book', verdict: 'matched' },
      { name: 'later', verdict: 'would-match', workId: null },
    ])
  })

  test('[TR12] a route that fanOut keeps from running is shown as such', async () => {
    const route = (name: string, fanOut: 'first' | 'one', where: string): RouteDocument => ({
      ...ROUTE,
      name,
      fanOut,
      where,
      key: null,
    })
    const { world, node, inspect } = await start([
      route('a', 'first', 'true'),
      route('b', 'first', 'true'),
      route('c', 'one', "payload.order == 'o2'"),
    ])
    const told = async (order: string) => {
      const eventId = await accept(world, node, { kind: 'paid', id: order, order })
      const { consumers } = await inspect.explain(DEFAULT_TENANT, eventId)
      return consumers.map(({ verdict }) => verdict)
    }
    expect(await told('o1')).toEqual(['matched', 'gave-way', 'condition'])
    expect(await told('o2')).toEqual(['unmatchable', 'ambiguous', 'ambiguous', 'ambiguous'])
  })

  test('[TR7] says which consumers matched, which did not, and why', async () => {
    const off: RouteDocument = { ...ROUTE, name: 'off', status: 'disabled', key: null }
    const deaf: RouteDocument = { ...ROUTE, name: 'deaf', on: ['other.>'] }
    const torn: RouteDocument = { ...ROUTE, name: 'torn', where: 'payload.kind > 3' }
    const { world, node, inspect } = await start([ROUTE, RICH, off, deaf, torn])
    const eventId = await accept(world, node)
    const { subject, consumers } = await inspect.explain(DEFAULT_TENANT, eventId)
    expect(subject).toBe('shop.events.paid')
    const work = await world.reads.workOfEvent(eventId)
    const workId = (name: string) => work.find(({ consumer }) => consumer === `route:${name}`)?.id ?? null
    expect(consumers).toMatchObject([
      { name: 'book', verdict: 'matched', status: 'active', why: [], workId: workId('book') },
      { name: 'rich', verdict: 'condition', workId: null, why: [{ holds: false }, { holds: true }] },
      { name: 'off', verdict: 'matched', status: 'disabled', workId: workId('off') },
      { name: 'deaf', verdict: 'subject', patterns: ['other.>'], why: [], workId: null },
      { name: 'torn', verdict: 'error', workId: workId('torn') },
    ])
    expect(workId('off')).not.toBeNull()
  })

  test('[TR7] a removed consumer that has jobs is listed', async () => {
    const { world, node, inspect } = await start()
    const eventId = await accept(world, node)
    const applied = node.engine.apply(DEFAULT_TENANT, [SOURCE])
    await world.pass()
    await applied
    expect((await inspect.explain(DEFAULT_TENANT, eventId)).consumers).toMatchObject([
      { name: 'book', status: 'gone', verdict: 'matched' },
    ])
  })

  test('[TR7] another tenant’s event is not found', async () => {
    const { world, node, inspect } = await start()
    const eventId = await accept(world, node)
    await expect(inspect.explain('other' as TenantId, eventId)).rejects.toMatchObject({ code: 'not_found' })
  })
})

test('[TR8] an expression is evaluated over an event, and an error says where', async () => {
  const { inspect } = await start()
  const compute = (text: string, as: 'pick' | 'send' | 'condition', data: object = {}) =>
    inspect.compute(DEFAULT_TENANT, text, as, given(data))
  expect(await compute('payload.order', 'pick')).toEqual({ ok: true, value: 'o1', type: 'string' })
  expect(await compute('payload.gone', 'pick')).toEqual({ ok: true, value: null, type: 'null' })
  expect(await compute('[payload.id]', 'pick')).toEqual({ ok: true, value: ['d1'], type: 'list' })
  expect(await compute('order {{ payload.order }}', 'send')).toEqual({
    ok: true,
    value: 'order o1',
    type: 'string',
  })
  expect(await compute("payload.kind == 'paid'", 'condition')).toEqual({
    ok: true,
    value: true,
    type: 'bool',
  })
  expect(await compute('payload.order +', 'pick')).toMatchObject({ ok: false, at: 15 })
  expect(await compute('nothing.order', 'pick')).toMatchObject({ ok: false, at: 0 })
  expect(await compute('payload.kind > 3', 'condition')).toMatchObject({ ok: false, at: null })
  const large = await compute('payload.text', 'pick', { text: 'x'.repeat(70_000) })
  expect(large).toMatchObject({ ok: false, message: expect.stringContaining('65536') })
})

test('[TR9] nothing is called and nothing is written', async () => {
  const { world, node, inspect } = await start()
  const eventId = await accept(world, node)
  const before = await world.store.system('verification').dump()
  const calls = world.calls.length
  await inspect.tryRoute(DEFAULT_TENANT, 'book', given({ order: 'o9' }))
  await inspect.explain(DEFAULT_TENANT, eventId)
  await inspect.compute(DEFAULT_TENANT, 'payload', 'pick', eventId)
  expect(await world.store.system('verification').dump()).toEqual(before)
  expect(world.calls.length).toBe(calls)
})
