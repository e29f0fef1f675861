// Pause, dispatch, quarantine: events that are matched later, or not at all.

import { describe, expect, test } from 'vitest'
import type {
  DispatchDocument,
  RouteDocument,
  SourceDocument,
} from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type DeadLetterId, type EventId } from '../../core/foundation/ids/index.ts'
import { StoreError } from '../../ports/store.ts'
import {
  accept,
  CREATED,
  makeWorld,
  type Node,
  PAID,
  ROUTE,
  SOURCE,
  type World,
  workOf,
} from '../engine.fixture.ts'

const said = { by: 'mona', reason: null }

async function control(world: World, node: Node, verb: 'pause' | 'resume' | 'disable') {
  const asked = node.engine.definitions.control(DEFAULT_TENANT, 'Source', 'shop', verb, said)
  await world.pass()
  return asked
}

async function settle<Value>(world: World, promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {})
  await world.pass()
  return promise
}

const work = (world: World, id: EventId) => world.reads.workOfEvent(id)
const states = async (world: World, id: EventId) =>
  (await work(world, id))
    // Ids differ between nodes, so their order means nothing.
    .toSorted((a, b) => (a.kind === b.kind ? a.createdAt - b.createdAt : a.kind < b.kind ? -1 : 1))
    .map(({ consumer, state }) => `${consumer} ${state}`)
const letters = async (world: World) => (await world.reads.deadLetters({ cursor: null, limit: 50 })).items

async function theDeadLetter(world: World) {
  const [letter] = await letters(world)
  if (letter === undefined) throw new Error('there is no dead letter')
  return letter
}

describe('a paused source', () => {
  test('[IN2] [IN4] stores new events, and matches them when it is resumed', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    await control(world, node, 'pause')
    const id = await accept(world, node)
    await world.pass(60_000)
    expect(await states(world, id)).toEqual(['source:shop ready'])
    expect((await world.reads.event(id))?.matched).toBe(1)
    expect(world.calls).toEqual([])
    await control(world, node, 'resume')
    await world.pass()
    expect(await states(world, id)).toEqual(['source:shop done', 'route:book done'])
    expect((await world.reads.event(id))?.matched).toBe(1)
    expect(world.calls).toHaveLength(1)
  })

  test('[IN2] may also be paused by its document', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ documents: [{ ...SOURCE, status: 'paused' }, ROUTE] })
    const id = await accept(world, node)
    expect(await states(world, id)).toEqual(['source:shop ready'])
    expect(node.log.controls.map(({ action }) => action)).toContain('KEPT')
  })

  test('[IN2] answers a duplicate with the first event, and stores it once', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    await control(world, node, 'pause')
    const id = await accept(world, node)
    expect(await settle(world, node.send(PAID))).toMatchObject({ eventId: id, duplicate: true })
    await control(world, node, 'resume')
    await world.pass()
    expect(await settle(world, node.send(PAID))).toMatchObject({ eventId: id, duplicate: true })
    expect(world.calls).toHaveLength(1)
  })

  test('[IN4] stays paused over a restart, and resumes in order of age', async () => {
    const world = makeWorld(() => CREATED)
    const first = await world.node({ config: { concurrency: 1 } })
    await control(world, first, 'pause')
    for (const order of ['o1', 'o2', 'o3']) {
      await accept(world, first, { ...PAID, id: order, order })
      await world.pass(10)
    }
    first.crash()
    const second = await world.node({ config: { concurrency: 1 } })
    await world.pass(120_000)
    expect(world.calls).toEqual([])
    await control(world, second, 'resume')
    await world.pass(60_000)
    expect(world.calls.map(({ request }) => request.url.at(-1))).toEqual(['1', '2', '3'])
  })

  test('[IN4] also holds what a node claims before it learns of the pause', async () => {
    const world = makeWorld(() => CREATED)
    const one = await world.node({ name: 'one' })
    await world.node({ name: 'two' })
    await world.pass(6_000)
    await control(world, one, 'pause')
    const id = await accept(world, one)
    await world.pass(60_000)
    const [kept] = await work(world, id)
    // The other node had claimed it.
    expect(kept).toMatchObject({ state: 'ready', epoch: 1, attempts: 0, waits: 0 })
    expect(world.calls).toEqual([])
    await control(world, one, 'resume')
    await world.pass(10_000)
    expect(await states(world, id)).toEqual(['source:shop done', 'route:book done'])
  })

  test('[IN2] a disabled source refuses requests, and its stored events stay', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    await control(world, node, 'pause')
    const id = await accept(world, node)
    await control(world, node, 'disable')
    await expect(settle(world, node.send({ ...PAID, id: 'd2' }))).rejects.toMatchObject({
      code: 'source_disabled',
      status: 410,
    })
    await world.pass(60_000)
    expect(await states(world, id)).toEqual(['source:shop ready'])
    expect((await world.reads.events({ cursor: null, limit: 10 })).items).toHaveLength(1)
    await control(world, node, 'resume')
    await world.pass()
    expect(await states(world, id)).toEqual(['source:shop done', 'route:book done'])
  })

  test('[IN3] its events are matched by the definitions deployed when it is resumed', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    await control(world, node, 'pause')
    const id = await accept(world, node)
    const mail: RouteDocument = { ...ROUTE, name: 'mail', key: null }
    await settle(
      world,
      node.engine.apply(DEFAULT_TENANT, [SOURCE, mail, { ...ROUTE, on: ['shop.events.never'] }]),
    )
    await control(world, node, 'resume')
    await world.pass()
    expect(await states(world, id)).toEqual(['source:shop done', 'route:mail done'])
  })

  test('[IN3] an event without routes becomes unmatched only once it was matched', async () => {
    const world = makeWorld()
    const node = await world.node()
    await control(world, node, 'pause')
    const id = await accept(world, node, { ...PAID, kind: 'unheard' })
    await control(world, node, 'resume')
    await world.pass()
    expect(await states(world, id)).toEqual(['source:shop done'])
    expect((await world.reads.event(id))?.matched).toBe(0)
  })

  test('[IN5] its events do not expire', async () => {
    const world = makeWorld()
    const node = await world.node()
    await control(world, node, 'pause')
    const { expiresAt } = await workOf(world, await accept(world, node))
    expect(expiresAt - world.now()).toBeGreaterThan(9 * 365 * 86_400_000)
  })
})

describe('[IN3] failures while an event is matched', () => {
  const isEnd = (writes: readonly { readonly w: string }[]) =>
    writes.some(({ w }) => w === 'work.settle') && writes.some(({ w }) => w === 'work.add')

  test.each(['before', 'after'] as const)(
    'a crash %s its commit duplicates and loses nothing',
    async (when) => {
      const world = makeWorld(() => CREATED)
      const first: Node = await world.node({
        faults: {
          async commit(commit, pass) {
            if (!isEnd(commit.writes)) return pass()
            if (when === 'after') await pass()
            first.crash()
            return new Promise(() => {})
          },
        },
      })
      await control(world, first, 'pause')
      const id = await accept(world, first)
      await control(world, first, 'resume')
      await world.pass()
      await world.node()
      await world.pass(60_000)
      expect(await states(world, id)).toEqual(['source:shop done', 'route:book done'])
      expect(world.calls).toHaveLength(1)
    },
  )

  test.each(['no', 'indeterminate'] as const)('a lost response (applied: %s)', async (applied) => {
    const world = makeWorld(() => CREATED)
    let isFirst = true
    const node = await world.node({
      faults: {
        async commit(commit, pass) {
          if (!isEnd(commit.writes) || !isFirst) return pass()
          isFirst = false
          if (applied === 'indeterminate') await pass()
          throw new StoreError('unavailable', 'lost', { applied })
        },
      },
    })
    await control(world, node, 'pause')
    const id = await accept(world, node)
    await control(world, node, 'resume')
    await world.pass(60_000)
    expect(await states(world, id)).toEqual(['source:shop done', 'route:book done'])
    expect(world.calls).toHaveLength(1)
  })

  test('[IN5] a job that crashes its node three times while isolated is a crash loop', async () => {
    const world = makeWorld(() => CREATED)
    const faults = {
      async commit(commit: { readonly writes: readonly { readonly w: string }[] }, pass: () => never) {
        if (!isEnd(commit.writes)) return pass()
        node?.crash()
        return new Promise<never>(() => {})
      },
    } as never
    let node: Node | undefined = await world.node({ faults })
    await control(world, node, 'pause')
    const id = await accept(world, node)
    await control(world, node, 'resume')
    for (let life = 0; life < 4; life += 1) {
      await world.pass(60_000)
      node = await world.node({ faults })
    }
    await world.pass(60_000)
    expect(await states(world, id)).toEqual(['source:shop dead'])
    expect(await theDeadLetter(world)).toMatchObject({ class: 'poison', reason: 'crash_loop' })
  })
})

describe('[IN6] events of a removed source', () => {
  const goneFor = async (source: SourceDocument) => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ documents: [source, ROUTE] })
    await control(world, node, 'pause')
    const id = await accept(world, node)
    await settle(world, node.engine.apply(DEFAULT_TENANT, [ROUTE]))
    await world.pass(60_000)
    return { world, id }
  }

  test('are matched by the deployed routes', async () => {
    const { world, id } = await goneFor(SOURCE)
    expect(await states(world, id)).toEqual(['source:shop done', 'route:book done'])
  })

  test('are dead letters if the source had dispatch rules', async () => {
    const { world, id } = await goneFor({ ...SOURCE, dispatch: dispatch('first', RULE) })
    expect(await states(world, id)).toEqual(['source:shop dead'])
    expect(await theDeadLetter(world)).toMatchObject({ class: 'config', reason: 'definition_missing' })
  })
})

const RULE = {
  when: "payload.kind == 'paid'",
  emit: 'order.{{ payload.kind }}',
  data: { order: '{{ payload.order }}' },
}
const ALWAYS_HELD = { when: null, emit: 'order.seen', data: '{{ payload }}' }

function dispatch(mode: 'first' | 'all', ...rules: DispatchDocument['rules']): DispatchDocument {
  return { mode, rules, otherwise: 'keep' }
}

const GENERIC: SourceDocument = { ...SOURCE, subject: 'external.events.shop' }
const ON_ORDER: RouteDocument = { ...ROUTE, on: ['order.paid'] }

describe('dispatch', () => {
  test('[IN1] [IN7] creates events in the commit of their cause, matched like any other', async () => {
    const world = makeWorld(() => CREATED)
    const commits: number[] = []
    const node = await world.node({
      documents: [{ ...GENERIC, dispatch: dispatch('all', RULE, ALWAYS_HELD) }, ON_ORDER],
      faults: {
        commit(commit, pass) {
          commits.push(commit.writes.filter(({ w }) => w === 'event.append').length)
          return pass()
        },
      },
    })
    const id = await accept(world, node)
    expect(commits).toContain(3)
    const parent = await world.reads.event(id)
    expect(parent?.matched).toBe(2)
    const [paid, seen] = await world.reads.causedBy(id, 10)
    expect(paid).toMatchObject({
      source: 'source:shop',
      subject: 'order.paid',
      causationId: id,
      correlationId: parent?.correlationId,
      traceId: parent?.traceId,
      objectType: 'order',
      objectId: 'o1',
      dedupKey: `${id}:order.paid`,
      matched: 1,
    })
    expect(seen).toMatchObject({ subject: 'order.seen', dedupKey: `${id}:order.seen`, matched: 0 })
    expect((await world.reads.event(paid!.id))?.data).toBe('{"order":"o1"}')
    expect(await states(world, paid!.id)).toEqual(['route:book done'])
    expect(world.calls).toHaveLength(1)
  })

  test('[IN7] in mode first one rule emits', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({
      documents: [{ ...GENERIC, dispatch: dispatch('first', RULE, ALWAYS_HELD) }],
    })
    const subjects = async (id: EventId) => (await world.reads.causedBy(id, 10)).map(({ subject }) => subject)
    expect(await subjects(await accept(world, node))).toEqual(['order.paid'])
    expect(await subjects(await accept(world, node, { ...PAID, kind: 'created', id: 'd2' }))).toEqual([
      'order.seen',
    ])
  })

  test('[IN7] a dispatched event is not dispatched again, and waits with its parent while the source is paused', async () => {
    const world = makeWorld(() => CREATED)
    const again = { when: null, emit: 'external.events.shop', data: '{{ payload }}' }
    const node = await world.node({ documents: [{ ...GENERIC, dispatch: dispatch('first', again) }] })
    await control(world, node, 'pause')
    const id = await accept(world, node)
    expect(await world.reads.causedBy(id, 10)).toEqual([])
    await control(world, node, 'resume')
    await world.pass()
    const [child] = await world.reads.causedBy(id, 10)
    expect(child).toMatchObject({ subject: 'external.events.shop', source: 'source:shop' })
    expect(await world.reads.causedBy(child!.id, 10)).toEqual([])
  })

  test('[IN9] a failing rule makes the event a dead letter, and nothing else is done with it', async () => {
    const world = makeWorld(() => CREATED)
    const broken = { when: 'payload.order + 1 > 2', emit: 'order.big', data: null }
    const documents = [{ ...GENERIC, dispatch: dispatch('all', ALWAYS_HELD, broken) }, ON_ORDER]
    const node = await world.node({ documents })
    const id = await accept(world, node)
    expect(await states(world, id)).toEqual(['source:shop dead'])
    expect((await world.reads.causedBy(id, 10)).map(({ subject }) => subject)).toEqual(['integration.failed'])
    const letter = await theDeadLetter(world)
    expect(letter).toMatchObject({
      class: 'validation',
      reason: 'rejected',
      consumer: 'source:shop',
      eventId: id,
    })
    expect(letter.lastError).toContain('dispatch rule 2')
    expect(letter.lastError).not.toContain('o1')
  })

  test('[IN9] so does an invalid subject', async () => {
    const world = makeWorld()
    const rule = { when: null, emit: 'order..{{ payload.kind }}', data: null }
    const node = await world.node({ documents: [{ ...GENERIC, dispatch: dispatch('first', rule) }] })
    await accept(world, node)
    expect(await theDeadLetter(world)).toMatchObject({ class: 'validation', reason: 'rejected' })
  })
})

describe('an event that cannot be matched', () => {
  test('[IN10] is a dead letter in the commit of the event, if the source says so', async () => {
    const world = makeWorld()
    const node = await world.node({ documents: [{ ...SOURCE, unmatched: 'deadLetter' }, ROUTE] })
    const id = await accept(world, node, { ...PAID, kind: 'unheard' })
    expect(await states(world, id)).toEqual(['source:shop dead'])
    expect(await theDeadLetter(world)).toMatchObject({ class: 'config', reason: 'config_missing', key: null })
    expect(node.log.controls.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['QUARANTINED', 'DEAD_LETTERED']),
    )
    const other = await accept(world, node, { ...PAID, id: 'd2' })
    expect(await states(world, other)).toEqual(['route:book leased'])
  })

  test('[IN10] also if no dispatch rule selects it', async () => {
    const world = makeWorld()
    const never = { ...dispatch('all', { ...RULE, when: 'false' }), otherwise: 'deadLetter' } as const
    const node = await world.node({ documents: [{ ...GENERIC, dispatch: never }] })
    const id = await accept(world, node)
    expect(await states(world, id)).toEqual(['source:shop dead'])
    expect(await theDeadLetter(world)).toMatchObject({ class: 'config', reason: 'config_missing' })
  })
})

describe('a payload that violates its schema', () => {
  const schema = { type: 'object', properties: { order: { type: 'integer' } } }
  const catalog = (mismatch: 'tag' | 'quarantine'): SourceDocument => ({
    ...SOURCE,
    catalog: { mismatch, subjects: [{ subject: 'shop.events.paid', schema }] },
  })
  const headersOf = async (world: World, id: EventId) =>
    JSON.parse((await world.reads.event(id))?.headers ?? '{}')

  test('[IN10] is quarantined: nothing is done with it until it is replayed', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ documents: [catalog('quarantine'), ROUTE] })
    const id = await accept(world, node)
    expect(await states(world, id)).toEqual(['source:shop dead'])
    const letter = await theDeadLetter(world)
    expect(letter).toMatchObject({ class: 'validation', reason: 'rejected' })
    expect(letter.lastError).toContain('payload.order is a string')
    const fits = await accept(world, node, { ...PAID, id: 'd2', order: 2 })
    expect(await states(world, fits)).toEqual(['route:book done'])
    await settle(world, node.engine.apply(DEFAULT_TENANT, [SOURCE, ROUTE]))
    await settle(world, node.engine.replay(DEFAULT_TENANT, letter.id, { force: false }))
    await world.pass()
    expect(await states(world, id)).toEqual(['source:shop dead', 'source:shop done', 'route:book done'])
  })

  test('[IN11] is tagged, and routes can read the tag', async () => {
    const world = makeWorld(() => CREATED)
    const odd: RouteDocument = { ...ROUTE, name: 'odd', key: null, where: 'header.millrace-mismatch != null' }
    const node = await world.node({ documents: [catalog('tag'), ROUTE, odd] })
    const id = await accept(world, node)
    expect(await states(world, id)).toEqual(['route:book done', 'route:odd done'])
    expect(await headersOf(world, id)).toMatchObject({
      'millrace-mismatch': 'payload.order is a string, not integer',
    })
    const fits = await accept(world, node, { ...PAID, id: 'd2', order: 2 })
    expect(await states(world, fits)).toEqual(['route:book done'])
    await control(world, node, 'pause')
    const kept = await accept(world, node, { ...PAID, id: 'd3' })
    expect(await headersOf(world, kept)).toHaveProperty('millrace-mismatch')
    const forged = await settle(
      world,
      node.engine.accept({
        tenant: 'default',
        source: 'shop',
        headers: { 'content-type': 'application/json', 'millrace-mismatch': 'made up' },
        body: new TextEncoder().encode(JSON.stringify({ ...PAID, id: 'd4', order: 2 })),
      }),
    )
    if (!('eventId' in forged)) throw new Error('it was a handshake')
    expect(await headersOf(world, forged.eventId)).not.toHaveProperty('millrace-mismatch')
  })
})

describe('[IN12] a dead letter of intake', () => {
  const start = async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ documents: [{ ...SOURCE, unmatched: 'deadLetter' }, ROUTE] })
    const id = await accept(world, node, { ...PAID, kind: 'late' })
    return { world, node, id, letter: await theDeadLetter(world) }
  }
  const stateOf = async (world: World, id: DeadLetterId) => (await world.reads.deadLetter(id))?.state

  test('is matched by the current definitions when it is replayed', async () => {
    const { world, node, id, letter } = await start()
    await settle(world, node.engine.replay(DEFAULT_TENANT, letter.id, { force: false }))
    await world.pass()
    expect(await stateOf(world, letter.id)).toBe('open')
    const late = { ...ROUTE, on: ['shop.events.late'] }
    await settle(world, node.engine.apply(DEFAULT_TENANT, [{ ...SOURCE, unmatched: 'deadLetter' }, late]))
    await settle(world, node.engine.replay(DEFAULT_TENANT, letter.id, { force: false }))
    await world.pass()
    expect(await stateOf(world, letter.id)).toBe('resolved')
    expect(await states(world, id)).toEqual([
      'source:shop dead',
      'source:shop dead',
      'source:shop done',
      'route:book done',
    ])
    const routed = (await work(world, id)).filter(({ kind }) => kind === 'route')
    expect(routed.map(({ replayOf }) => replayOf)).toEqual([null])
    expect(await letters(world)).toHaveLength(1)
  })

  test('is matched with the payload that an operator edited', async () => {
    const { world, node, letter } = await start()
    const where = { ...ROUTE, on: ['shop.events.late'], where: 'payload.order == "o9"' }
    await settle(world, node.engine.apply(DEFAULT_TENANT, [{ ...SOURCE, unmatched: 'deadLetter' }, where]))
    const edit = { data: { ...PAID, order: 'o9' }, reason: 'mended' }
    const { eventId } = await settle(world, node.engine.edit(DEFAULT_TENANT, letter.id, edit))
    await settle(world, node.engine.replay(DEFAULT_TENANT, letter.id, { force: false }))
    await world.pass()
    expect(await states(world, eventId)).toEqual(['source:shop done', 'route:book done'])
    expect(await stateOf(world, letter.id)).toBe('resolved')
    expect(world.calls[0]?.request.url).toContain('o9')
  })

  test('is discarded permanently', async () => {
    const { world, node, letter } = await start()
    await settle(world, node.engine.discard(DEFAULT_TENANT, letter.id, { reason: 'spam' }))
    expect(await stateOf(world, letter.id)).toBe('discarded')
  })

  test('previews what a replay would do', async () => {
    const { world, node, letter } = await start()
    const preview = () =>
      settle(world, node.engine.replays.preview(DEFAULT_TENANT, { ids: [letter.id] }, { force: false }))
    expect((await preview()).items).toMatchObject([{ verdict: 'would-fail' }])
    const late = { ...ROUTE, on: ['shop.events.late'] }
    await settle(world, node.engine.apply(DEFAULT_TENANT, [{ ...SOURCE, unmatched: 'deadLetter' }, late]))
    expect((await preview()).items).toMatchObject([{ verdict: 'would-call', reason: 'is matched by book' }])
  })
})

describe('[IN13] operators', () => {
  const start = async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    await control(world, node, 'pause')
    const id = await accept(world, node)
    return { world, node, id, item: await workOf(world, id) }
  }

  test('cannot resolve an effect that does not exist', async () => {
    const { world, node, item } = await start()
    const { engine } = node
    const refusal = { code: 'conflict', message: expect.stringContaining('makes no call') }
    await expect(
      settle(world, engine.resolve(DEFAULT_TENANT, item.id, { as: 'done', reason: 'x' })),
    ).rejects.toMatchObject(refusal)
    await expect(settle(world, engine.probe(DEFAULT_TENANT, item.id, { reason: 'x' }))).rejects.toMatchObject(
      refusal,
    )
  })

  test('may end the job; the event stays', async () => {
    const { world, node, id, item } = await start()
    await settle(world, node.engine.cancel(DEFAULT_TENANT, item.id, { reason: 'a test' }))
    await control(world, node, 'resume')
    await world.pass()
    expect(await states(world, id)).toEqual(['source:shop cancelled'])
    expect(await world.reads.event(id)).not.toBeNull()
  })

  test('see that the event is held, or could not be matched', async () => {
    const { world, node, id } = await start()
    const { consumers } = await settle(world, node.engine.inspect.explain(DEFAULT_TENANT, id))
    expect(consumers[0]).toMatchObject({ kind: 'source', name: 'shop', verdict: 'kept', status: 'paused' })
    expect(consumers).toHaveLength(2)
  })
})
