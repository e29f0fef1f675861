// Ingest when the store fails or responds late, and what an event passes on to the events it causes.
import { describe, expect, test } from 'vitest'
import type { RouteDocument } from '../../core/definitions/documents/index.ts'
import { type Commit, StoreError } from '../../ports/store.ts'
import {
  accept,
  CREATED,
  HTTP,
  makeDeferred,
  makeWorld,
  PAID,
  ROUTE,
  SOURCE,
  workOf,
} from '../engine.fixture.ts'

const isAccept = (commit: Commit) => commit.writes[0]?.w === 'event.append'
const emit = (name: string, on: string, subject: string): RouteDocument => ({
  ...ROUTE,
  name,
  on: [on],
  key: null,
  do: { type: 'emit', subject, data: '{{ payload }}' },
})

describe('a failing store', () => {
  test('[R17] that applied nothing: the sender is asked to retry, and nothing is stored', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ config: { concurrency: 1 } })
    const { commit } = node.faults
    node.faults.commit = () => Promise.reject(new StoreError('unavailable', 'disk full'))
    const refused = node.send(PAID)
    await expect(refused).rejects.toMatchObject({ code: 'store_unavailable', status: 503 })
    expect((await world.store.system('verification').dump()).events).toEqual([])
    node.faults.commit = commit
    // The slot reserved for the lease on insert is free again, and the dedup key was not used.
    const eventId = await accept(world, node)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
  })

  test.each([true, false])('[R15] with an unknown outcome (%s): settled by trying again', async (did) => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ config: { concurrency: 1 } })
    let lost = 0
    node.faults.commit = async (commit, pass) => {
      if (!isAccept(commit) || lost++ > 0) return pass()
      if (did) await pass()
      throw new StoreError('unavailable', 'the connection broke', { applied: 'indeterminate' })
    }
    const accepted = node.send(PAID)
    await world.pass(10_000)
    const { eventId, duplicate } = await accepted
    expect(duplicate).toBe(false)
    const { events, work } = await world.store.system('verification').dump()
    expect(events.map(({ id }) => id)).toEqual([eventId])
    expect(work).toMatchObject([{ state: 'done', attempts: 1 }])
    expect(world.calls).toHaveLength(1)
  })

  test('[R15] the response to an emitted event was lost: its jobs still run', async () => {
    const world = makeWorld(() => CREATED)
    const after = { ...ROUTE, name: 'after', on: ['shop.booked'] }
    const node = await world.node({
      documents: [SOURCE, emit('announce', 'shop.events.paid', 'shop.booked'), after],
    })
    let lost = 0
    node.faults.commit = async (commit, pass) => {
      const result = await pass()
      const emits = !isAccept(commit) && commit.writes.some((write) => write.w === 'event.append')
      if (emits && lost++ === 0) {
        throw new StoreError('unavailable', 'the connection broke', { applied: 'indeterminate' })
      }
      return result
    }
    await accept(world, node)
    await world.pass(10_000)
    const { events, work } = await world.store.system('verification').dump()
    expect(events).toHaveLength(2)
    expect(work.map(({ consumer, state }) => `${consumer} ${state}`).sort()).toEqual([
      'route:after done',
      'route:announce done',
    ])
    expect(world.calls).toHaveLength(1)
  })

  test('[R15] the response to a settled call was lost: the call is not repeated', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    let lost = 0
    node.faults.commit = async (commit, pass) => {
      const result = await pass()
      if (commit.writes.some((write) => write.w === 'work.settle') && lost++ === 0) {
        throw new StoreError('unavailable', 'the connection broke', { applied: 'indeterminate' })
      }
      return result
    }
    const eventId = await accept(world, node)
    await world.pass(10_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'done', effectRef: 'v1' })
    expect(world.calls).toHaveLength(1)
  })

  test('[R18] after a call: the commit is retried until the store answers', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    const until = world.now() + 20_000
    node.faults.commit = (commit, pass) =>
      world.now() < until && commit.writes.some((write) => write.w === 'work.settle')
        ? Promise.reject(new StoreError('unavailable', 'gone'))
        : pass()
    const eventId = await accept(world, node)
    await world.pass(19_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'leased' })
    await world.pass(10_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
    expect(world.calls).toHaveLength(1)
  })
})

describe('an event', () => {
  test('[EV10] is durable before its sender gets a response, also the sender of a duplicate', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    const gate = makeDeferred<void>()
    node.faults.commit = async (commit, pass) => {
      const result = await pass()
      if (isAccept(commit)) await gate.promise
      return result
    }
    const answers: string[] = []
    const sent = [node.send(PAID), node.send({ ...PAID, more: 1 })]
    for (const one of sent) void one.then(({ eventId }) => answers.push(eventId))
    await world.pass(1_000)
    expect(answers).toEqual([])
    gate.give()
    await world.pass()
    const [first, second] = await Promise.all(sent)
    expect(first?.duplicate).toBe(false)
    expect(second).toEqual({ eventId: first?.eventId, duplicate: true })
    expect((await world.store.system('verification').dump()).events).toHaveLength(1)
    expect(world.calls).toHaveLength(1)
  })

  test('[EV10] after the window the same dedup key is a new event', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    const first = await accept(world, node)
    await world.pass(59_000)
    expect(await accept(world, node)).toBe(first)
    await world.pass(2_000)
    expect(await accept(world, node)).not.toBe(first)
  })

  test('[EV9] passes its correlation on, and is the cause of the events that follow', async () => {
    const world = makeWorld(() => CREATED)
    const route = { ...ROUTE, on: ['shop.booked'] }
    const node = await world.node({
      documents: [SOURCE, emit('announce', 'shop.events.paid', 'shop.booked'), route],
    })
    const eventId = await accept(world, node)
    const { events } = await world.store.system('verification').dump()
    const [cause, caused] = events
    expect(cause).toMatchObject({ id: eventId, causationId: null })
    expect(caused).toMatchObject({
      subject: 'shop.booked',
      source: 'route:announce',
      causationId: eventId,
      correlationId: cause?.correlationId,
      traceId: cause?.traceId,
      data: JSON.stringify(PAID),
    })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ correlationId: cause?.correlationId })
    expect(world.calls[0]?.request.headers.traceparent).toContain(cause?.traceId)
  })

  test('[K2] whose key cannot be computed is a dead letter, and nothing is called', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    const events = [
      await accept(world, node, { ...PAID, id: 'd1', order: null }),
      await accept(world, node, { ...PAID, id: 'd2', order: ['o1'] }),
    ]
    const { items } = await world.reads.deadLetters({ cursor: null, limit: 10 })
    expect(items.map(({ eventId }) => eventId).sort()).toEqual([...events].sort())
    for (const letter of items) expect(letter).toMatchObject({ class: 'validation', reason: 'rejected' })
    expect(world.calls).toEqual([])
  })

  test('[A2] whose request cannot be rendered is a dead letter, and nothing is reserved', async () => {
    const world = makeWorld(() => CREATED)
    const route = { ...ROUTE, key: null, do: { ...HTTP, headers: { 'x-note': '{{ payload.note }}' } } }
    const node = await world.node({ documents: [SOURCE, route] })
    const eventId = await accept(world, node, { ...PAID, note: 'a\r\nx-evil: 1' })
    expect(await workOf(world, eventId)).toMatchObject({ state: 'dead', class: 'validation' })
    expect((await world.reads.ledgerList({ cursor: null, limit: 1 })).items).toEqual([])
  })
})
