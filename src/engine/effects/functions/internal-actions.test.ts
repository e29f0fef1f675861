// Functions and emitted events: their effect, their ledger entry and what follows are one commit.
import { describe, expect, test } from 'vitest'
import type { RouteDocument } from '../../../core/definitions/documents/index.ts'
import {
  accept,
  CREATED,
  LOST,
  makeDeferred,
  makeWorld,
  PAID,
  ROUTE,
  SOURCE,
  workOf,
} from '../../engine.fixture.ts'

const emit = (subject: string, known: Partial<RouteDocument> = {}): RouteDocument => ({
  ...ROUTE,
  name: 'announce',
  key: null,
  do: { type: 'emit', subject, data: '{{ payload }}' },
  ...known,
})
const count = (known: Partial<RouteDocument> = {}): RouteDocument => ({
  ...ROUTE,
  name: 'count',
  do: { type: 'function', name: 'count', codeHash: '', with: null, timeoutMs: 5_000 },
  ...known,
})

describe('an emitted event', () => {
  test('[R19] that causes itself is stopped after 32 steps, with a dead letter', async () => {
    const world = makeWorld()
    const node = await world.node({
      documents: [SOURCE, emit('shop.events.paid', { on: ['shop.events.>'] })],
    })
    await accept(world, node)
    await world.pass(60_000)
    const { events, work } = await world.store.system('verification').dump()
    expect(events.filter(({ source }) => source !== 'millrace')).toHaveLength(33)
    expect(work.filter(({ state }) => state === 'done')).toHaveLength(32)
    const { items } = await world.reads.deadLetters({ cursor: null, limit: 50 })
    expect(items).toMatchObject([{ class: 'config', reason: 'rejected', attempts: 1 }])
    expect(items[0]?.lastError).toContain('32')
  })

  test('[R19] a sender cannot change the step count with a header', async () => {
    const world = makeWorld()
    const node = await world.node({ documents: [SOURCE, emit('shop.booked')] })
    const sent = node.engine.accept({
      tenant: 'default',
      source: 'shop',
      headers: { 'millrace-hops': '32' },
      body: new TextEncoder().encode(JSON.stringify(PAID)),
    })
    await world.pass()
    expect(await workOf(world, (await sent).eventId)).toMatchObject({ state: 'done' })
  })

  test('[R20] is stored with the job’s end in one commit: a stale owner emits nothing', async () => {
    const world = makeWorld()
    const node = await world.node({ name: 'first', documents: [SOURCE, emit('shop.booked')] })
    const gate = makeDeferred<void>()
    node.faults.commit = async (commit, pass) => {
      if (commit.guards[0]?.g === 'lease') await gate.promise
      return pass()
    }
    const eventId = await accept(world, node)
    node.faults.renew = () => new Promise(() => {})
    await world.node({ name: 'second', documents: [SOURCE, emit('shop.booked')] })
    await world.pass(60_000)
    gate.give()
    await world.pass(1_000)
    const { events } = await world.store.system('verification').dump()
    expect(events.map(({ subject }) => subject)).toEqual(['shop.events.paid', 'shop.booked'])
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', epoch: 2 })
  })

  test('[R20] of one key is emitted once; the second job is skipped', async () => {
    const world = makeWorld()
    const node = await world.node({ documents: [SOURCE, emit('shop.booked', { key: 'payload.order' })] })
    const first = await accept(world, node)
    const second = await accept(world, node, { ...PAID, id: 'd2' })
    expect(await workOf(world, first)).toMatchObject({ state: 'done' })
    expect(await workOf(world, second)).toMatchObject({ state: 'skipped' })
    expect((await world.store.system('verification').dump()).events).toHaveLength(3)
  })

  test('[R20] with an invalid subject is a dead letter', async () => {
    const world = makeWorld()
    const node = await world.node({ documents: [SOURCE, emit('shop.{{ payload.where }}')] })
    const eventId = await accept(world, node, { ...PAID, where: 'a b' })
    expect(await workOf(world, eventId)).toMatchObject({ state: 'dead', class: 'validation' })
  })
})

describe('a function', () => {
  test('[R20] stores its result with its end, under its key, once', async () => {
    const world = makeWorld()
    let runs = 0
    const functions = { count: () => ({ runs: ++runs }) }
    const node = await world.node({ documents: [SOURCE, count()], functions })
    const first = await accept(world, node)
    const second = await accept(world, node, { ...PAID, id: 'd2' })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'done', result: '{"runs":1}' })
    expect(await workOf(world, first)).toMatchObject({ state: 'done' })
    expect(await workOf(world, second)).toMatchObject({ state: 'skipped' })
  })

  test('[R21] that takes too long is aborted, and retried by the profile', async () => {
    const world = makeWorld()
    const signals: AbortSignal[] = []
    const functions = {
      count: (_input: unknown, { signal }: { signal: AbortSignal }) => {
        signals.push(signal)
        return new Promise<null>(() => {})
      },
    }
    const node = await world.node({ documents: [SOURCE, count()], functions })
    const eventId = await accept(world, node)
    await world.pass(5_000)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    await world.pass(30_000)
    expect(signals).toHaveLength(3)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'dead', class: 'transient', attempts: 3 })
    const { items } = await world.reads.deadLetters({ cursor: null, limit: 1 })
    expect(items).toMatchObject([{ reason: 'cap_reached', attempts: 3 }])
  })

  test('[R6] waits for an outbound call that holds its key, and is skipped when that is done', async () => {
    const world = makeWorld()
    const documents = [SOURCE, ROUTE, count({ on: ['shop.events.counted'] })]
    const node = await world.node({ documents, functions: { count: () => null } })
    const called = await accept(world, node)
    const counted = await accept(world, node, { ...PAID, id: 'd2', kind: 'counted' })
    expect(await workOf(world, counted)).toMatchObject({ state: 'ready', waits: 1, attempts: 0 })
    world.calls[0]!.answer(CREATED)
    await world.pass(5_000)
    expect(await workOf(world, called)).toMatchObject({ state: 'done' })
    expect(await workOf(world, counted)).toMatchObject({ state: 'skipped', effectRef: 'v1' })
  })

  test('[R6] behind an outbound call with an unknown outcome it waits, with growing delays and a limit', async () => {
    const world = makeWorld(() => LOST)
    let runs = 0
    const documents = [SOURCE, ROUTE, count({ on: ['shop.events.counted'], maxWaitMs: 100_000 })]
    const node = await world.node({ documents, functions: { count: () => ++runs } })
    await accept(world, node)
    const counted = await accept(world, node, { ...PAID, id: 'd2', kind: 'counted' })
    await world.pass(200_000)
    const work = await workOf(world, counted)
    expect(work).toMatchObject({ state: 'dead' })
    expect(work.waits).toBeLessThan(10)
    expect(runs).toBeLessThan(10)
  })
})
