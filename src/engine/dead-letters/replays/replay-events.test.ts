// Replays of events: matched again, processed once, and never done twice.

import { describe, expect, test } from 'vitest'
import type { RouteDocument, SourceDocument } from '../../../core/definitions/documents/index.ts'
import type { PublishDraft } from '../../../core/events/cloudevent/index.ts'
import { DEFAULT_TENANT, type EventId, type TenantId } from '../../../core/foundation/ids/index.ts'
import type { HttpRequest } from '../../../ports/http-client.ts'
import type { Write } from '../../../ports/store.ts'
import {
  accept,
  answered,
  CREATED,
  makeWorld,
  type Node,
  type NodeOptions,
  PAID,
  ROUTE,
  SOURCE,
  type World,
} from '../../engine.fixture.ts'
import type { EventFilter } from './replay-record.ts'

async function settle<Value>(world: World, promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {})
  await world.pass()
  return promise
}

const MAIL: RouteDocument = { ...ROUTE, name: 'mail', key: null }

async function start(options: NodeOptions = {}) {
  const world = makeWorld(() => CREATED)
  const node = await world.node(options)
  return { world, node }
}

const order = (number: number) => ({ ...PAID, id: `d${number}`, order: `o${number}` })

async function acceptMany(world: World, node: Node, count: number): Promise<readonly EventId[]> {
  const ids: EventId[] = []
  for (let number = 1; number <= count; number += 1) {
    ids.push(await accept(world, node, order(number)))
    await world.pass(1_000)
  }
  return ids
}

const begin = (world: World, node: Node, filter: EventFilter, perSecond?: number) =>
  settle(
    world,
    node.engine.replays.beginEvents(DEFAULT_TENANT, filter, {
      actor: 'mona',
      ...(perSecond === undefined ? {} : { perSecond }),
    }),
  )

const states = async (world: World, id: EventId) =>
  (await world.reads.workOfEvent(id)).map(
    ({ consumer, state, replayOf }) => `${consumer} ${state}${replayOf === null ? '' : ' again'}`,
  )

const orders = (calls: World['calls']) => calls.map(({ request }) => request.url.at(-1))

describe('[IN14] a replayed event', () => {
  test('is matched by the deployed definitions; what is done already is skipped', async () => {
    const { world, node } = await start()
    const [id] = await acceptMany(world, node, 1)
    await settle(world, node.engine.apply(DEFAULT_TENANT, [SOURCE, ROUTE, MAIL]))
    const replay = await begin(world, node, { ids: [id!] })
    expect(replay).toMatchObject({ of: 'events', total: 1, state: 'running' })
    await world.pass(5_000)
    expect(await states(world, id!)).toEqual([
      'route:book done',
      'source:shop done again',
      'route:book skipped again',
      'route:mail done again',
    ])
    expect(world.calls).toHaveLength(2)
    expect(await node.engine.replays.find(DEFAULT_TENANT, replay.id)).toMatchObject({
      state: 'done',
      replayed: 1,
      refused: 0,
    })
    expect((await world.reads.event(id!))?.matched).toBe(2)
  })

  test('is not called again however often it is replayed, also under a key with its id', async () => {
    const { world, node } = await start({ documents: [SOURCE, MAIL] })
    const [id] = await acceptMany(world, node, 1)
    for (let times = 0; times < 3; times += 1) {
      await begin(world, node, { ids: [id!] })
      await world.pass(10_000)
    }
    expect(world.calls).toHaveLength(1)
    expect((await states(world, id!)).filter((one) => one === 'route:mail skipped again')).toHaveLength(3)
  })

  test('with a dead job is done again, and the dead letter stays open', async () => {
    let status = 422
    const world = makeWorld(() => (status === 422 ? answered(422) : CREATED))
    const node = await world.node()
    const id = await accept(world, node)
    expect(await states(world, id)).toEqual(['route:book dead'])
    status = 201
    await begin(world, node, { ids: [id] })
    await world.pass(5_000)
    expect((await states(world, id)).at(-1)).toBe('route:book done again')
  })

  test('that an action emitted is matched again, too', async () => {
    const emit: RouteDocument = {
      ...ROUTE,
      do: { type: 'emit', subject: 'shop.events.booked', data: '{{ payload }}' },
    }
    const { world, node } = await start({ documents: [SOURCE, emit] })
    const id = await accept(world, node)
    const [emitted] = await world.reads.causedBy(id, 10)
    const late = { ...MAIL, on: ['shop.events.booked'] }
    await settle(world, node.engine.apply(DEFAULT_TENANT, [SOURCE, emit, late]))
    await begin(world, node, { ids: [emitted!.id] })
    await world.pass(5_000)
    expect(await states(world, emitted!.id)).toEqual([
      'source:route:book done again',
      'route:mail done again',
    ])
  })
})

describe('[IN20] a route whose key formula was changed', () => {
  const OTHER: RouteDocument = { ...ROUTE, key: "'NEW:' + payload.order" }

  test('does not repeat what it did under its replay key, and the preview says so', async () => {
    const { world, node } = await start()
    const [id] = await acceptMany(world, node, 1)
    await settle(world, node.engine.apply(DEFAULT_TENANT, [SOURCE, OTHER]))
    const preview = await settle(world, node.engine.replays.previewEvents(DEFAULT_TENANT, { ids: [id!] }))
    expect(preview.items[0]?.consumers).toMatchObject([{ name: 'book', verdict: 'would-skip' }])
    for (let times = 0; times < 2; times += 1) {
      await begin(world, node, { ids: [id!] })
      await world.pass(5_000)
    }
    const keys = (await world.reads.workOfEvent(id!)).map(({ state, key }) => `${state} ${key}`)
    expect(keys.filter((one) => !one.endsWith('null'))).toEqual([
      'done BOOK:o1',
      'skipped BOOK:o1',
      'skipped BOOK:o1',
    ])
    expect(world.calls).toHaveLength(1)
  })

  test('waits for a call in progress', async () => {
    const world = makeWorld()
    const node = await world.node()
    const id = await accept(world, node)
    await settle(world, node.engine.apply(DEFAULT_TENANT, [SOURCE, OTHER]))
    await begin(world, node, { ids: [id] })
    await world.pass(5_000)
    expect(world.calls).toHaveLength(1)
    world.calls[0]?.answer(CREATED)
    await world.pass(60_000)
    expect(await states(world, id)).toEqual([
      'route:book done',
      'source:shop done again',
      'route:book skipped again',
    ])
    expect(world.calls).toHaveLength(1)
  })

  test('runs where it was skipped for the effect of another event', async () => {
    const { world, node } = await start({ documents: [SOURCE, { ...ROUTE, key: "'SAME'" }] })
    const [, second] = await acceptMany(world, node, 2)
    expect(await states(world, second!)).toEqual(['route:book skipped'])
    await settle(world, node.engine.apply(DEFAULT_TENANT, [SOURCE, ROUTE]))
    await begin(world, node, {})
    await world.pass(5_000)
    expect(orders(world.calls)).toEqual(['1', '2'])
  })
})

describe('[IN21] an edited event', () => {
  const decided = { actor: 'mona', reason: 'wrong field' }
  const theDeadLetter = async (world: World) => {
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 5 })).items
    if (letter === undefined) throw new Error('there is no dead letter')
    return letter.id
  }
  const mend = async (world: World, node: Node, data: object) => {
    const letter = await theDeadLetter(world)
    const edited = node.engine.edit(DEFAULT_TENANT, letter, { ...decided, data: data as never })
    const { eventId } = await settle(world, edited)
    return { letter, copy: eventId }
  }
  const replayDeadLetter = async (
    world: World,
    node: Node,
    letter: Awaited<ReturnType<typeof theDeadLetter>>,
  ) => {
    await settle(world, node.engine.replay(DEFAULT_TENANT, letter, { ...decided, force: false }))
    await world.pass(5_000)
  }
  const refusalsOf = async (world: World, node: Node, filter: EventFilter) => {
    const { id } = await begin(world, node, filter)
    await world.pass(5_000)
    return (await node.engine.replays.find(DEFAULT_TENANT, id))?.refusals
  }

  test('for one route is not sent to the others under the copy’s id', async () => {
    let isMended = false
    const refusesBook = ({ url }: HttpRequest) =>
      url.includes('book') && !isMended ? answered(422) : CREATED
    const world = makeWorld(refusesBook)
    const book: RouteDocument = { ...ROUTE, do: { ...ROUTE.do, url: 'https://book.example/' } as never }
    const node = await world.node({ documents: [SOURCE, book, MAIL] })
    await accept(world, node)
    isMended = true
    const { letter, copy } = await mend(world, node, { ...PAID, note: 'mended' })
    await replayDeadLetter(world, node, letter)
    const before = world.calls.length
    expect(await refusalsOf(world, node, { source: 'shop' })).toEqual([{ id: copy, code: 'conflict' }])
    expect(world.calls).toHaveLength(before)
  })

  test('that was never matched is replayed by its copy alone', async () => {
    const unwanted: SourceDocument = { ...SOURCE, unmatched: 'deadLetter' }
    const { world, node } = await start({ documents: [unwanted, MAIL] })
    const id = await accept(world, node, { ...PAID, kind: 'lost' })
    const { letter, copy } = await mend(world, node, PAID)
    // The dead letter continues with the copy: neither may overtake it.
    expect(await refusalsOf(world, node, { ids: [id, copy] })).toEqual([
      { id, code: 'conflict' },
      { id: copy, code: 'conflict' },
    ])
    await replayDeadLetter(world, node, letter)
    expect(world.calls).toEqual([])
    const wide: RouteDocument = { ...MAIL, on: ['shop.events.*'] }
    await settle(world, node.engine.apply(DEFAULT_TENANT, [unwanted, wide]))
    expect(await refusalsOf(world, node, { ids: [id] })).toEqual([{ id, code: 'conflict' }])
    expect(world.calls).toEqual([])
  })

  test('may be replayed when its dead letter was discarded', async () => {
    const unwanted: SourceDocument = { ...SOURCE, unmatched: 'deadLetter' }
    const { world, node } = await start({ documents: [unwanted, MAIL] })
    const id = await accept(world, node, { ...PAID, kind: 'lost' })
    const { letter } = await mend(world, node, PAID)
    await settle(world, node.engine.discard(DEFAULT_TENANT, letter, decided))
    await settle(world, node.engine.apply(DEFAULT_TENANT, [unwanted, { ...MAIL, on: ['shop.events.*'] }]))
    expect(await refusalsOf(world, node, { ids: [id] })).toEqual([])
    expect(world.calls).toHaveLength(1)
  })
})

describe('[IN8] an event that dispatched others', () => {
  const rules = [{ when: null, emit: 'order.seen', data: '{{ payload }}' }]
  const GENERIC: SourceDocument = { ...SOURCE, dispatch: { mode: 'all', rules, otherwise: 'keep' } }
  const ON_SEEN: RouteDocument = { ...MAIL, on: ['order.seen'] }

  test('does not dispatch twice when its rules are reordered', async () => {
    const { world, node } = await start({ documents: [GENERIC, ON_SEEN] })
    const id = await accept(world, node)
    const more = [{ when: null, emit: 'order.first', data: null }, ...rules]
    const document: SourceDocument = { ...GENERIC, dispatch: { ...GENERIC.dispatch!, rules: more } }
    await settle(world, node.engine.apply(DEFAULT_TENANT, [document, ON_SEEN]))
    await begin(world, node, { ids: [id] })
    await world.pass(5_000)
    const caused = await world.reads.causedBy(id, 10)
    expect(caused.map(({ subject }) => subject)).toEqual(['order.seen', 'order.first'])
    expect(world.calls).toHaveLength(1)
  })

  test('does not dispatch twice: the dispatched events are matched again', async () => {
    const { world, node } = await start({ documents: [GENERIC, ON_SEEN] })
    const id = await accept(world, node)
    const [child] = await world.reads.causedBy(id, 10)
    const more = [...rules, { when: null, emit: 'order.too', data: null }]
    const document: SourceDocument = { ...GENERIC, dispatch: { ...GENERIC.dispatch!, rules: more } }
    await settle(world, node.engine.apply(DEFAULT_TENANT, [document, ON_SEEN, { ...ON_SEEN, name: 'book' }]))
    await begin(world, node, { ids: [id] })
    await world.pass(5_000)
    const caused = await world.reads.causedBy(id, 10)
    expect(caused.map(({ subject }) => subject)).toEqual(['order.seen', 'order.too'])
    expect(await states(world, child!.id)).toEqual([
      'route:mail done',
      'route:mail skipped again',
      'route:book done again',
    ])
    expect(world.calls).toHaveLength(2)
  })
})

describe('which events', () => {
  test('[IN15] by source, subject and time, the oldest first', async () => {
    const { world, node } = await start({ documents: [SOURCE] })
    const began = world.now()
    await acceptMany(world, node, 5)
    await settle(world, node.engine.apply(DEFAULT_TENANT, [SOURCE, ROUTE]))
    const filter = { source: 'shop', unmatched: true, from: began + 1_000, to: began + 4_000 }
    expect(await begin(world, node, filter)).toMatchObject({ total: 3 })
    await world.pass(5_000)
    expect(orders(world.calls)).toEqual(['2', '3', '4'])
  })

  test('[IN15] events that arrive later are not part of it', async () => {
    const { world, node } = await start()
    await acceptMany(world, node, 2)
    const replay = await begin(world, node, {})
    const late = await accept(world, node, order(9))
    await world.pass(5_000)
    expect(replay.total).toBe(2)
    expect(await states(world, late)).toEqual(['route:book done'])
  })

  test('[IN15] no match is not found, and more than one replay allows is refused', async () => {
    const { world, node } = await start()
    await expect(begin(world, node, { source: 'nobody' })).rejects.toMatchObject({ code: 'not_found' })
    const { findEvents } = await import('./replay-events.ts')
    const items = Array.from({ length: 500 }, (_, index) => ({ id: `evt_${index}` as EventId }))
    const endless = { events: async () => ({ items: items as never, nextCursor: 'more' }) }
    await expect(findEvents(endless, {})).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('10000'),
    })
    const barren = { events: async () => ({ items: [], nextCursor: 'more' }) }
    await expect(findEvents(barren, {})).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('[RP11] works in a tenant without definitions, also after a crash', async () => {
    const { world, node: first } = await start()
    const tenant = 'acme' as TenantId
    const made: Write = { w: 'record.put', kind: 'tenant', key: tenant, version: 1, body: '{}' }
    await settle(world, world.store.commit({ tenant: DEFAULT_TENANT, guards: [], writes: [made] }))
    const draft: PublishDraft = {
      ...{ source: 'publish:shop', subject: 'order.paid', objectId: null, occurredAt: null },
      ...{ correlationId: null, traceId: null, dedupKey: 'e1', headers: {}, raw: null },
      ...{ payload: {}, data: '{}' },
    }
    const [kept] = await settle(world, first.engine.publish(tenant, [draft]))
    if (kept?.ok !== true) throw new Error('the event was not kept')
    const replayed = async (node: Node, id: string) => node.engine.replays.find(tenant, id)
    const beginIn = (node: Node) =>
      settle(world, node.engine.replays.beginEvents(tenant, {}, { actor: 'mona' }))
    const one = await beginIn(first)
    await world.pass(10_000)
    expect(await replayed(first, one.id)).toMatchObject({ state: 'done', replayed: 1, refused: 0 })
    const [work] = await world.store.forTenant(tenant).workOfEvent(kept.eventId)
    expect(work).toMatchObject({ kind: 'intake', state: 'done' })
    const { id } = await settle(
      world,
      first.engine.replays.beginEvents(tenant, {}, { actor: 'mona', perSecond: 1 }),
    )
    first.crash()
    const second = await world.node()
    await world.pass(60_000)
    expect(await replayed(second, id)).toMatchObject({ state: 'done' })
  })

  test('[IN16] an event that still waits to be matched, or was deleted, is refused, and the others continue', async () => {
    const { world, node } = await start()
    const [first] = await acceptMany(world, node, 1)
    const said = { by: 'mona', reason: null }
    await settle(world, node.engine.definitions.control(DEFAULT_TENANT, 'Source', 'shop', 'pause', said))
    const kept = await accept(world, node, order(2))
    const gone = 'evt_01900000-0000-7000-8000-000000000000' as EventId
    const { id } = await begin(world, node, { ids: [kept, gone, first!] })
    await world.pass(5_000)
    expect(await node.engine.replays.find(DEFAULT_TENANT, id)).toMatchObject({
      state: 'done',
      replayed: 1,
      refused: 2,
      refusals: [
        { id: kept, code: 'conflict' },
        { id: gone, code: 'not_found' },
      ],
    })
    await settle(world, node.engine.definitions.control(DEFAULT_TENANT, 'Source', 'shop', 'resume', said))
    await world.pass(5_000)
    expect(await states(world, kept)).toEqual(['source:shop done', 'route:book done'])
    expect(await states(world, first!)).toEqual([
      'route:book done',
      'source:shop done again',
      'route:book skipped again',
    ])
  })
})

describe('[IN17] a bulk replay', () => {
  test('continues after a crash, and replays none twice', async () => {
    const { world, node: first } = await start()
    const ids = await acceptMany(world, first, 25)
    const { id } = await begin(world, first, {}, 50)
    await world.pass(100)
    first.crash()
    const second = await world.node()
    await world.pass(60_000)
    expect(await second.engine.replays.find(DEFAULT_TENANT, id)).toMatchObject({
      state: 'done',
      replayed: 25,
    })
    for (const event of ids) {
      const intake = (await world.reads.workOfEvent(event)).filter(({ kind }) => kind === 'intake')
      expect(intake.map(({ state }) => state)).toEqual(['done'])
    }
    expect(world.calls).toHaveLength(25)
    const records = await world.reads.records({ kind: 'replay', cursor: null, limit: 50 })
    expect(records.items.map(({ key }) => key)).toEqual([id])
  })

  test('is limited in speed, and stops when it is cancelled', async () => {
    const { world, node } = await start()
    await acceptMany(world, node, 25)
    const { id } = await begin(world, node, {}, 50)
    await world.pass(100)
    const cancelled = await settle(world, node.engine.replays.cancel(DEFAULT_TENANT, id, {}))
    expect(cancelled).toMatchObject({ state: 'cancelled', replayed: 10, total: 25 })
    await world.pass(60_000)
    expect(await node.engine.replays.find(DEFAULT_TENANT, id)).toMatchObject({ replayed: 10 })
  })
})

describe('[IN18] a preview', () => {
  test('says for each event and route what would happen, calls nothing and writes nothing', async () => {
    const { world, node } = await start()
    const [id] = await acceptMany(world, node, 1)
    const other = await accept(world, node, { ...order(2), kind: 'unheard' })
    const changed: RouteDocument = { ...ROUTE, name: 'late', on: ['shop.events.unheard'] }
    await settle(
      world,
      node.engine.apply(DEFAULT_TENANT, [
        SOURCE,
        ROUTE,
        MAIL,
        changed,
        { ...MAIL, name: 'off', status: 'disabled' },
      ]),
    )
    const before = await world.store.system('verification').dump()
    const preview = await settle(world, node.engine.replays.previewEvents(DEFAULT_TENANT, {}))
    expect(preview).toEqual({
      items: [
        {
          id,
          subject: 'shop.events.paid',
          consumers: [
            {
              name: 'book',
              verdict: 'would-skip',
              reason: 'the effect of BOOK:o1 is there already',
              effect: { key: 'BOOK:o1', generation: 1, workId: expect.any(String), effectRef: 'v1' },
            },
            { name: 'mail', verdict: 'would-call', reason: 'calls vendor.example' },
            { name: 'off', verdict: 'would-skip', reason: 'the route is disabled' },
          ],
        },
        {
          id: other,
          subject: 'shop.events.unheard',
          consumers: [{ name: 'late', verdict: 'would-call', reason: 'calls vendor.example' }],
        },
      ],
      totals: { 'would-skip': 2, 'would-call': 2, 'would-differ': 0, 'would-wait': 0, 'would-fail': 0 },
      calls: { 'vendor.example': 2 },
      cost: [
        { host: 'vendor.example', route: 'mail', calls: 1, perMinute: null, minutes: null },
        { host: 'vendor.example', route: 'late', calls: 1, perMinute: null, minutes: null },
      ],
      matched: 2,
      isCapped: false,
    })
    expect(await world.store.system('verification').dump()).toEqual(before)
    expect(world.calls).toHaveLength(1)
  })

  test('says where a route would act differently than before', async () => {
    const world = makeWorld((_request: HttpRequest) => answered(422))
    const node = await world.node()
    const id = await accept(world, node)
    const changed: RouteDocument = { ...ROUTE, maxWaitMs: 1_000_000 }
    await settle(world, node.engine.apply(DEFAULT_TENANT, [SOURCE, changed]))
    const { items } = await settle(world, node.engine.replays.previewEvents(DEFAULT_TENANT, { ids: [id] }))
    expect(items[0]?.consumers).toMatchObject([
      {
        name: 'book',
        verdict: 'would-differ',
        diff: [{ of: 'definition', changes: [{ path: 'maxWaitMs', before: '600000', after: '1000000' }] }],
      },
    ])
  })

  test('says what its source would do with it', async () => {
    const rules = [{ when: null, emit: 'order.seen', data: '{{ payload }}' }]
    const GENERIC: SourceDocument = { ...SOURCE, dispatch: { mode: 'all', rules, otherwise: 'keep' } }
    const { world, node } = await start({ documents: [SOURCE] })
    const id = await accept(world, node)
    await settle(world, node.engine.apply(DEFAULT_TENANT, [GENERIC, { ...MAIL, on: ['order.seen'] }]))
    const look = async () =>
      (await settle(world, node.engine.replays.previewEvents(DEFAULT_TENANT, { ids: [id] }))).items[0]
        ?.consumers
    expect(await look()).toMatchObject([{ name: 'mail', verdict: 'would-call' }])
    const broken = { ...GENERIC, dispatch: { ...GENERIC.dispatch!, rules: [{ ...rules[0]!, emit: '..' }] } }
    await settle(world, node.engine.apply(DEFAULT_TENANT, [broken]))
    expect(await look()).toMatchObject([{ name: 'shop', verdict: 'would-fail' }])
    await settle(world, node.engine.apply(DEFAULT_TENANT, [{ ...GENERIC, status: 'paused' }]))
    expect(await look()).toMatchObject([{ name: 'shop', verdict: 'would-wait' }])
  })
})
