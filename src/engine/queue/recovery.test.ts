// What crashes, full slots, shutdowns and changed definitions do to jobs.
import { describe, expect, test } from 'vitest'
import type {
  DefinitionDocument,
  FunctionActionDocument,
  RouteDocument,
} from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type EventId } from '../../core/foundation/ids/index.ts'
import { isUntried } from '../../core/queue/work/index.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  makeDeferred,
  makeWorld,
  type Node,
  PAID,
  ROUTE,
  SOURCE,
  type World,
  workOf,
} from '../engine.fixture.ts'

const COUNT: FunctionActionDocument = {
  type: 'function',
  name: 'count',
  codeHash: '',
  with: null,
  timeoutMs: 3_600_000,
}
const order = (number: number) => ({ ...PAID, id: `d${number}`, order: `o${number}` })

async function sendMany(world: World, node: Node, count: number): Promise<readonly EventId[]> {
  const sent = Array.from({ length: count }, (_, index) => node.send(order(index)))
  await world.pass()
  return (await Promise.all(sent)).map(({ eventId }) => eventId)
}

async function apply(world: World, node: Node, documents: readonly DefinitionDocument[]): Promise<void> {
  const applied = node.engine.apply(DEFAULT_TENANT, documents)
  await world.pass()
  await applied
}

const statesOf = async (world: World, events: readonly EventId[]) =>
  Promise.all(events.map(async (id) => (await workOf(world, id)).state))
const deadLetters = async (world: World) => (await world.reads.deadLetters({ cursor: null, limit: 50 })).items

describe('slots', () => {
  test('[O1] [O3] jobs beyond the slots are inserted as ready, and claimed as slots become free', async () => {
    const world = makeWorld()
    const node = await world.node({ config: { concurrency: 2 } })
    const events: EventId[] = []
    for (let number = 0; number < 5; number += 1) events.push(await accept(world, node, order(number)))
    expect(await statesOf(world, events)).toEqual(['leased', 'leased', 'ready', 'ready', 'ready'])
    expect(world.calls).toHaveLength(2)
    await world.pass(10_000)
    expect(world.calls).toHaveLength(2)
    for (const calls of [3, 4, 5]) {
      world.calls[calls - 3]!.answer(CREATED)
      await world.pass()
      expect(world.calls).toHaveLength(calls)
      expect(node.engine.health().running).toBe(2)
    }
    for (const call of world.calls) call.answer(CREATED)
    await world.pass()
    expect(await statesOf(world, events)).toEqual(Array(5).fill('done'))
  })

  test('[O3] events that arrive together are leased together: no claim is needed, and no more calls than slots run', async () => {
    const world = makeWorld()
    let claims = 0
    const node = await world.node({
      config: { concurrency: 2 },
      faults: {
        claim(pass) {
          claims += 1
          return pass()
        },
      },
    })
    const before = claims
    const events = await sendMany(world, node, 5)
    expect(await statesOf(world, events)).toEqual(Array(5).fill('leased'))
    for (const calls of [2, 3, 4, 5]) {
      expect(world.calls).toHaveLength(calls)
      world.calls[calls - 2]!.answer(CREATED)
      await world.pass()
    }
    expect(claims).toBe(before)
    for (const call of world.calls) call.answer(CREATED)
    await world.pass()
    expect(await statesOf(world, events)).toEqual(Array(5).fill('done'))
  })

  test('[O4] large events wait in the store while running jobs fill the memory limit', async () => {
    const world = makeWorld()
    const large = 'x'.repeat(60_000)
    const config = { runningBytesMax: 150_000, concurrency: 50 }
    const node = await world.node({ config })
    const events = []
    for (let id = 0; id < 8; id += 1) events.push(await accept(world, node, { ...order(id), large }))
    // Two are below the limit, and the third exceeds it.
    expect(world.calls).toHaveLength(3)
    expect((await statesOf(world, events)).filter((state) => state === 'ready')).toHaveLength(5)
    for (let index = 0; index < 8; index += 1) {
      world.calls[index]?.answer(CREATED)
      await world.pass(2_000)
      expect(world.calls.length - index - 1).toBeLessThanOrEqual(3)
    }
    expect(await statesOf(world, events)).toEqual(Array(8).fill('done'))
  })

  test('[O1] a job whose settling commit is not stored yet leaves its slot to the next', async () => {
    const world = makeWorld(() => CREATED)
    const gate = makeDeferred<void>()
    const node = await world.node({
      config: { concurrency: 1 },
      faults: {
        async commit({ writes }, pass) {
          if (writes.some(({ w }) => w === 'work.settle')) await gate.promise
          return pass()
        },
      },
    })
    const events = [await accept(world, node, order(1)), await accept(world, node, order(2))]
    expect(world.calls).toHaveLength(2)
    expect(await statesOf(world, events)).toEqual(['leased', 'leased'])
    gate.give()
    await world.pass()
    expect(await statesOf(world, events)).toEqual(['done', 'done'])
  })

  test('[O6] a job that waits for a slot while its route is paused goes back unchanged', async () => {
    const world = makeWorld()
    const node = await world.node({ config: { concurrency: 1 } })
    const events = await sendMany(world, node, 2)
    await apply(world, node, [SOURCE, { ...ROUTE, status: 'paused' }])
    world.calls[0]!.answer(CREATED)
    await world.pass(5_000)
    expect(world.calls).toHaveLength(1)
    expect(await workOf(world, events[1]!)).toMatchObject({
      state: 'ready',
      attempts: 0,
      waits: 0,
      losses: 0,
    })
    await apply(world, node, [SOURCE, ROUTE])
    await world.pass(5_000)
    expect(world.calls).toHaveLength(2)
  })

  test('[O6] a job that waits for a slot while a renewal is slow is found and run by the same node', async () => {
    const world = makeWorld()
    const gate = makeDeferred<void>()
    let isSlow = false
    const node = await world.node({
      config: { concurrency: 1, leaseMs: 30_000 },
      faults: {
        async renew(pass) {
          const result = await pass()
          if (isSlow) await gate.promise
          return result
        },
      },
    })
    const events = await sendMany(world, node, 2)
    isSlow = true
    // The store renewed the lease, and the node does not know it yet.
    await world.pass(31_000)
    world.calls[0]!.answer(CREATED)
    await world.pass()
    expect(world.calls).toHaveLength(1)
    isSlow = false
    gate.give()
    await world.pass(5_000)
    expect(world.calls).toHaveLength(2)
    world.calls[1]!.answer(CREATED)
    await world.pass()
    expect(await statesOf(world, events)).toEqual(['done', 'done'])
  })

  test('[O6] a job that waits for a slot is given back by a node that stops, and not begun', async () => {
    const world = makeWorld()
    const first = await world.node({ name: 'first', config: { concurrency: 1 } })
    const events = await sendMany(world, first, 2)
    const drained = first.engine.drain(60_000)
    world.calls[0]!.answer(CREATED)
    await world.pass(1_000)
    expect(await drained).toEqual({ left: 0 })
    expect(world.calls).toHaveLength(1)
    expect(await workOf(world, events[1]!)).toMatchObject({ state: 'ready', attempts: 0, losses: 0 })
  })

  test('[O3] a duplicate and a refused commit release their slots', async () => {
    const world = makeWorld()
    const node = await world.node({ config: { concurrency: 1 } })
    const gate = await Promise.all([node.send(PAID), node.send(PAID), world.pass()])
    expect(gate.slice(0, 2).map((accepted) => accepted?.duplicate)).toEqual([false, true])
    world.calls[0]!.answer(CREATED)
    await world.pass()
    await accept(world, node, order(2))
    expect(world.calls).toHaveLength(2)
  })
})

describe('a job that a crash interrupted', () => {
  test('[O2] is checked in the ledger, in parallel with new jobs', async () => {
    const world = makeWorld()
    const first = await world.node()
    const events = await sendMany(world, first, 3)
    first.crash()
    const second = await world.node({ documents: [SOURCE, { ...ROUTE, do: { ...HTTP, idempotent: true } }] })
    const before = world.calls.length
    expect(await statesOf(world, events)).not.toContain('done')
    // Each outcome is declared unknown; then each job is parked, because the definition it began with cannot repeat.
    await world.pass(10_000)
    expect(await statesOf(world, events)).toEqual(['parked', 'parked', 'parked'])
    expect(world.calls).toHaveLength(before)
    await accept(world, second, order(9))
    expect(world.calls).toHaveLength(before + 1)
  })

  test('[O2] runs in parallel with others after one crash', async () => {
    const world = makeWorld()
    const documents = [SOURCE, { ...ROUTE, do: COUNT }]
    const started: string[] = []
    const functions = {
      count: (input: unknown) => {
        started.push((input as typeof PAID).id)
        return new Promise<null>(() => {})
      },
    }
    const config = { concurrency: 300 }
    const first = await world.node({ documents, functions, config })
    const events = await sendMany(world, first, 200)
    expect(started).toHaveLength(200)
    first.crash()
    await world.node({ documents, functions, config })
    await world.pass(1_000)
    // No call of the interrupted jobs has ended: all of them run again at the same time.
    expect(started).toHaveLength(400)
    expect(new Set(await statesOf(world, events))).toEqual(new Set(['leased']))
  })

  test('[O2] waits for the isolated job, however long that takes, after two crashes', async () => {
    const world = makeWorld()
    const documents = [SOURCE, { ...ROUTE, do: COUNT }]
    const started: string[] = []
    const finish: (() => void)[] = []
    const functions = {
      count: (input: unknown) => {
        started.push((input as typeof PAID).id)
        return new Promise<null>((resolve) => finish.push(() => resolve(null)))
      },
    }
    const first = await world.node({ documents, functions })
    const events = await sendMany(world, first, 3)
    expect(started).toHaveLength(3)
    first.crash()
    const second = await world.node({ documents, functions })
    await world.pass(10_000)
    expect(started).toHaveLength(6)
    second.crash()
    await world.node({ documents, functions })
    await world.pass(10_000)
    expect(started).toHaveLength(7)
    expect((await statesOf(world, events)).filter((state) => state === 'leased')).toHaveLength(1)
    for (const running of [8, 9]) {
      finish.at(-1)?.()
      await world.pass()
      expect(started).toHaveLength(running)
    }
    finish.at(-1)?.()
    await world.pass()
    expect(await statesOf(world, events)).toEqual(['done', 'done', 'done'])
  })

  test("[R10] the outcome of a crashed node's call is unknown: it counts as an attempt and is not repeated", async () => {
    const world = makeWorld()
    const first = await world.node()
    const eventId = await accept(world, first)
    expect(world.calls).toHaveLength(1)
    first.crash()
    await world.node()
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', attempts: 1, class: 'unknown' })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'unknown', proof: 'crash' })
    expect(world.calls).toHaveLength(1)
  })

  test("[R10] a crashed node's call is repeated where that is safe", async () => {
    const world = makeWorld((_request, call) => (call === 1 ? null : CREATED))
    const documents = [SOURCE, { ...ROUTE, do: { ...HTTP, idempotent: true } }]
    const first = await world.node({ documents })
    const eventId = await accept(world, first)
    first.crash()
    await world.node({ documents })
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 2 })
  })

  test('[R11] three crashes beyond the first: dead as a crash loop', async () => {
    const world = makeWorld()
    const documents = [SOURCE, { ...ROUTE, do: COUNT }]
    const functions = { count: () => new Promise<null>(() => {}) }
    let node = await world.node({ documents, functions })
    const eventId = await accept(world, node)
    for (const losses of [0, 1, 2]) {
      node.crash()
      node = await world.node({ documents, functions })
      await world.pass()
      expect(await workOf(world, eventId)).toMatchObject({ state: 'leased', alone: true, losses })
    }
    node.crash()
    node = await world.node({ documents, functions })
    await world.pass()
    expect(await workOf(world, eventId)).toMatchObject({ state: 'dead', class: 'poison', losses: 3 })
    expect(await deadLetters(world)).toMatchObject([{ eventId, reason: 'crash_loop', class: 'poison' }])
  })

  test.each([
    [true, 'parked'],
    [false, 'dead'],
  ])('[R11] three crashes with an open reserve of its own (%s): %s', async (wasSent, state) => {
    const world = makeWorld()
    let node = await world.node()
    // The node crashes before the reserve, or after it.
    if (!wasSent) node.faults.commit = (commit, pass) => (commit.guards[0]?.g === 'lease' ? hang() : pass())
    const eventId = await accept(world, node)
    for (const losses of [0, 1, 2]) {
      node.crash()
      node = await world.node({ faults: { ledger: hang } })
      await world.pass()
      expect(await workOf(world, eventId)).toMatchObject({ state: 'leased', alone: true, losses })
    }
    // Only the last incarnation reads the ledger.
    node.crash()
    node = await world.node()
    await world.pass()
    expect(await workOf(world, eventId)).toMatchObject({ state, losses: 3 })
    expect(world.calls).toHaveLength(wasSent ? 1 : 0)
    const letters = await deadLetters(world)
    expect(letters.map(({ reason }) => reason)).toEqual(wasSent ? [] : ['crash_loop'])
    expect(await world.reads.ledger('BOOK:o1')).toEqual(
      wasSent ? expect.objectContaining({ state: 'unknown', proof: 'crash' }) : null,
    )
  })

  test('[R11] [W9] a job that an operator puts back after a crash loop counts from zero, and repeats nothing unproven', async () => {
    const world = makeWorld()
    let node = await world.node()
    const eventId = await accept(world, node)
    for (const _ of [0, 1, 2]) {
      node.crash()
      node = await world.node({ faults: { ledger: hang } })
      await world.pass()
    }
    node.crash()
    node = await world.node()
    await world.pass()
    const work = await workOf(world, eventId)
    expect(work).toMatchObject({ state: 'parked', losses: 3 })
    const put = node.engine.retry(DEFAULT_TENANT, work.id, { actor: 'ann' })
    await world.pass(1_000)
    await put
    // Its effect is still unknown, so it is parked again: as an unknown outcome, not as a crash loop.
    const back = await workOf(world, eventId)
    expect(back).toMatchObject({ state: 'parked', losses: 0 })
    expect(isUntried(back)).toBe(false)
    expect(world.calls).toHaveLength(1)
  })
})

const hang = () => new Promise<never>(() => {})

describe('a route', () => {
  const withStatus = (status: RouteDocument['status']) => [SOURCE, { ...ROUTE, status }]

  test('[R12] that is paused holds its jobs and runs them when resumed', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ documents: withStatus('paused') })
    const eventId = await accept(world, node)
    await world.pass(60_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', attempts: 0 })
    await apply(world, node, withStatus('active'))
    await world.pass(2_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
  })

  test('[R12] that is disabled holds queued jobs and skips new ones', async () => {
    const world = makeWorld((_request, call) => (call === 1 ? answered(503) : CREATED))
    const node = await world.node()
    const queued = await accept(world, node)
    expect(await workOf(world, queued)).toMatchObject({ state: 'ready' })
    await apply(world, node, withStatus('disabled'))
    const arrived = await accept(world, node, order(2))
    expect(await workOf(world, arrived)).toMatchObject({ state: 'skipped', lastError: 'DISABLED' })
    expect(await world.reads.event(arrived)).toMatchObject({ matched: 1 })
    await world.pass(60_000)
    expect(await workOf(world, queued)).toMatchObject({ state: 'ready' })
    expect(world.calls).toHaveLength(1)
    await apply(world, node, withStatus('active'))
    await world.pass(2_000)
    expect(await workOf(world, queued)).toMatchObject({ state: 'done' })
    expect(world.calls).toHaveLength(2)
  })

  test('[R13] that changed leaves jobs on the definition they began with', async () => {
    const world = makeWorld((_request, call) => (call === 1 ? answered(503) : CREATED))
    const node = await world.node()
    const eventId = await accept(world, node)
    const changed = { ...ROUTE, do: { ...HTTP, url: 'https://other.example/{{ payload.order }}' } }
    await apply(world, node, [SOURCE, changed])
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    await accept(world, node, order(2))
    expect(world.calls.map(({ request }) => new URL(request.url).host)).toEqual([
      'vendor.example',
      'vendor.example',
      'other.example',
    ])
  })

  test('[R13] that changed: its old definition is found by a process that never loaded it', async () => {
    const world = makeWorld((_request, call) => (call === 1 ? answered(503) : CREATED))
    const first = await world.node()
    const eventId = await accept(world, first)
    first.crash()
    const changed = { ...ROUTE, do: { ...HTTP, url: 'https://other.example/' } }
    await world.node({ documents: [SOURCE, changed] })
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    expect(world.calls[1]?.request.url).toContain('vendor.example')
  })

  test('[R14] that was removed: its remaining jobs still run', async () => {
    const world = makeWorld((_request, call) => (call === 1 ? answered(503) : CREATED))
    const first = await world.node()
    const eventId = await accept(world, first)
    first.crash()
    await world.node({ documents: [SOURCE] })
    await world.pass(60_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    expect(world.calls).toHaveLength(2)
  })
})

describe('draining', () => {
  test('[R16] finishes running jobs, refuses new events, and leaves the rest ready', async () => {
    const world = makeWorld()
    const node = await world.node({ config: { concurrency: 1 } })
    const [running, waiting] = await sendMany(world, node, 2)
    const drained = node.engine.drain(60_000)
    await world.pass(5_000)
    await expect(node.send(order(7))).rejects.toMatchObject({ code: 'shutting_down', status: 503 })
    expect(node.engine.health()).toMatchObject({ open: false, running: 1 })
    world.calls[0]!.answer(CREATED)
    await world.pass()
    expect(await drained).toEqual({ left: 0 })
    expect(await statesOf(world, [running!, waiting!])).toEqual(['done', 'ready'])
    await world.pass(60_000)
    expect(world.calls).toHaveLength(1)
  })

  test('[R16] renews its lease while it waits for a call', async () => {
    const world = makeWorld()
    const node = await world.node()
    const eventId = await accept(world, node)
    const drained = node.engine.drain(120_000)
    const other = await world.node({ name: 'second' })
    await world.pass(60_000)
    world.calls[0]!.answer(CREATED)
    await world.pass()
    expect(await drained).toEqual({ left: 0 })
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', epoch: 1 })
    expect(other.log.messages.map(({ name }) => name)).not.toContain('work.reclaimed')
  })

  test('[R16] gives up after its timeout and reports what is left', async () => {
    const world = makeWorld()
    const node = await world.node()
    const eventId = await accept(world, node)
    const drained = node.engine.drain(5_000)
    await world.pass(5_000)
    expect(await drained).toEqual({ left: 1 })
    node.crash()
    await world.node()
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked' })
  })
})
