// Recoveries during crashes, beside each other, and beside operators who retry: every event is sent once.

import { expect, test } from 'vitest'
import type { EventId } from '../../../core/foundation/ids/index.ts'
import type { Commit } from '../../../ports/store.ts'
import {
  accept,
  answered,
  makeDeferred,
  type Node,
  SOURCE,
  type StoreFaults,
  type World,
} from '../../engine.fixture.ts'
import { findReplay, HOOK, heard, keepEvents, makeScene, T } from './recovery.fixture.ts'

const ALL = { subscription: 'crm', since: 0, what: 'all' } as const

async function perEvent(world: World, ids: readonly EventId[]): Promise<readonly number[]> {
  const rows = await world.reads.workOfEvents(ids)
  return ids.map((id) => rows.filter(({ eventId, kind }) => eventId === id && kind === 'delivery').length)
}

const isPiece = ({ writes }: Commit) =>
  writes.some((write) => write.w === 'record.put' && write.kind === 'replay' && write.key.startsWith('rpl_'))

test.each([1, 2, 3, 4])(
  '[RV4] a crash after piece %i duplicates nothing and loses nothing',
  async (piece) => {
    const { world, node } = await makeScene()
    const ids = await keepEvents(world, 35)
    const { id } = await heard(world, node.engine.replays.beginDeliveries(T, ALL, { perSecond: 50 }), 0)
    node.crash()
    let pieces = 0
    const second: Node = await world.node({
      name: 'two',
      documents: [SOURCE, HOOK],
      faults: {
        async commit(commit, pass) {
          const result = await pass()
          if (isPiece(commit)) pieces += 1
          // The piece is stored, and its response was lost.
          if (isPiece(commit) && pieces === piece) second.crash()
          return result
        },
      },
    })
    await world.pass(20_000)
    const third = await world.node({ name: 'three', documents: [SOURCE, HOOK] })
    await world.pass(60_000)
    expect(await findReplay(third, id)).toMatchObject({ state: 'done', replayed: 35, total: 35 })
    expect(await perEvent(world, ids)).toEqual(ids.map(() => 1))
  },
)

test('[RV4] a node that does not know the subscription yet starts its recovery, and continues it', async () => {
  const { world, node } = await makeScene([])
  const other = await world.node({ name: 'two', documents: [SOURCE] })
  const ids = await keepEvents(world, 5)
  const given = { document: HOOK, written: '{}' }
  await heard(world, node.engine.subscriptions.create(T, given, { actor: 'ann' }), 10)
  const { id } = await heard(world, other.engine.replays.beginDeliveries(T, ALL, {}), 10)
  node.crash()
  await world.pass(60_000)
  expect(await findReplay(other, id)).toMatchObject({ state: 'done', replayed: 5 })
  expect(await perEvent(world, ids)).toEqual(ids.map(() => 1))
})

test('[RV4] two recoveries at once, on two nodes, send each event once', async () => {
  const { world, node } = await makeScene()
  const other = await world.node({ name: 'two', documents: [SOURCE, HOOK] })
  const ids = await keepEvents(world, 450)
  const both = [node, other].map((one) => one.engine.replays.beginDeliveries(T, ALL, {}))
  const begun = await heard(world, Promise.all(both), 20_000)
  const done = await Promise.all(begun.map(({ id }) => findReplay(node, id)))
  expect(done.map((replay) => replay?.state)).toEqual(['done', 'done'])
  expect(done.reduce((sum, replay) => sum + replay!.replayed, 0)).toBe(450)
  expect(await perEvent(world, ids)).toEqual(ids.map(() => 1))
  expect(world.calls).toHaveLength(450)
})

/** A second node whose first piece is built, and blocked before it is written. */
async function withHeldPiece(world: World) {
  const hand = makeDeferred<void>()
  const over = makeDeferred<boolean>()
  let isHeld = false
  const node = await world.node({
    name: 'two',
    documents: [SOURCE, HOOK],
    faults: {
      async commit(commit, pass) {
        if (isHeld || !isPiece(commit) || !commit.writes.some(({ w }) => w === 'work.add')) return pass()
        isHeld = true
        await hand.promise
        const result = await pass()
        over.give(result.ok)
        return result
      },
    },
  })
  const { id } = await heard(world, node.engine.replays.beginDeliveries(T, ALL, {}), 0)
  expect(isHeld).toBe(true)
  /** Returns whether it was written. */
  const release = () => {
    hand.give()
    return over.promise
  }
  return { id, release }
}

test('[RV4] a piece built before another recovery added the same deliveries is built again', async () => {
  const { world, node } = await makeScene()
  const ids = await keepEvents(world, 20)
  const held = await withHeldPiece(world)
  let wasWritten: boolean | null = null
  const faults = node.faults as { commit: StoreFaults['commit'] }
  faults.commit = async (commit, pass) => {
    const result = await pass()
    if (wasWritten === null && commit.writes.some(({ w }) => w === 'work.add'))
      wasWritten = await held.release()
    return result
  }
  const { id } = await heard(world, node.engine.replays.beginDeliveries(T, ALL, {}), 20_000)
  expect(wasWritten).toBe(false)
  expect(await findReplay(node, id)).toMatchObject({ state: 'done', replayed: 20 })
  expect(await findReplay(node, held.id)).toMatchObject({ state: 'done', replayed: 0, walk: { left: 20 } })
  expect(await perEvent(world, ids)).toEqual(ids.map(() => 1))
  expect(world.calls).toHaveLength(20)
})

test('[RV4] a piece built before one of its events was sent is built again', async () => {
  const { world, node, states } = await makeScene([{ ...HOOK, status: 'disabled' }])
  const id = await accept(world, node)
  await heard(world, node.engine.apply(T, [SOURCE, HOOK]))
  const [skipped] = await world.reads.workOfEvent(id)
  const held = await withHeldPiece(world)
  const retried = node.engine.deliveries.retry(T, skipped!.id, { reason: 'now' })
  expect(await heard(world, retried)).toMatchObject({ how: 'resent' })
  expect(await heard(world, held.release())).toBe(false)
  await world.pass(20_000)
  expect(await findReplay(node, held.id)).toMatchObject({ state: 'done', replayed: 0, walk: { left: 1 } })
  expect(await states(id)).toEqual(['skipped', 'done'])
  expect(world.calls).toHaveLength(1)
})

test('[RV4] two recoveries at once replay each dead letter once', async () => {
  const { world, node, answer } = await makeScene()
  answer(answered(500))
  for (let index = 0; index < 5; index += 1)
    await accept(world, node, { kind: 'paid', id: `d${index}`, order: 'o' })
  await world.pass(20_000)
  answer(answered(204))
  const other = await world.node({ name: 'two', documents: [SOURCE, HOOK] })
  const before = world.calls.length
  const both = [node, other].map((one) => one.engine.replays.beginDeliveries(T, ALL, {}))
  await heard(world, Promise.all(both), 20_000)
  expect(world.calls.length - before).toBe(5)
})

test('[RV4] a recovery and an operator who retries the same event send it once', async () => {
  const { world, node, states } = await makeScene([{ ...HOOK, status: 'disabled' }])
  const ids: EventId[] = []
  for (let index = 0; index < 3; index += 1)
    ids.push(await accept(world, node, { kind: 'paid', id: `d${index}`, order: 'o' }))
  await heard(world, node.engine.apply(T, [SOURCE, HOOK]))
  const work = await Promise.all(ids.map(async (id) => (await world.reads.workOfEvent(id))[0]!))
  const asked = [
    node.engine.replays.beginDeliveries(T, ALL, {}),
    ...work.map(({ id }) => node.engine.deliveries.retry(T, id, { reason: 'now' }).catch(() => null)),
  ]
  await heard(world, Promise.all(asked), 10_000)
  for (const id of ids) expect(await states(id)).toEqual(['skipped', 'done'])
  expect(world.calls).toHaveLength(3)
})

test('[RV4] an event that is matched again meanwhile is sent once', async () => {
  const { world, node } = await makeScene()
  const ids = await keepEvents(world, 20)
  const asked = [
    node.engine.replays.beginDeliveries(T, ALL, {}),
    node.engine.replays.beginEvents(T, { ids }, { reason: 'again' }),
  ]
  await heard(world, Promise.all(asked), 20_000)
  expect(world.calls).toHaveLength(20)
})
