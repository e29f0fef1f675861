import { describe, expect, test } from 'vitest'
import type { RouteDocument } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  LOST,
  makeWorld,
  type Node,
  type NodeOptions,
  ROUTE,
  SOURCE,
  type World,
  workOf,
} from '../engine.fixture.ts'

const EXPORT: RouteDocument = {
  ...ROUTE,
  key: "'BOOK:' + payload.id",
  order: { by: 'payload.order' },
}

let nextId = 0
const paid = (order: string, more: object = {}) => {
  nextId += 1
  return { kind: 'paid', id: `e${nextId}`, order, ...more }
}

async function worldOf(
  route: Partial<RouteDocument>,
  answer: Parameters<typeof makeWorld>[0] = () => null,
  options: NodeOptions = {},
): Promise<{ world: World; node: Node }> {
  const world = makeWorld(answer)
  const node = await world.node({ documents: [SOURCE, { ...EXPORT, ...route }], ...options })
  return { world, node }
}

const states = async (world: World) =>
  (await world.reads.workList({ cursor: null, limit: 100 })).items.toReversed().map(({ state }) => state)
const bodies = (world: World) =>
  world.calls.map(({ request }) => (JSON.parse(request.body ?? '{}') as { id: string }).id)
const done = async (world: World, call: number, outcome = CREATED) => {
  world.calls[call]?.answer(outcome)
  await world.pass(1_000)
}

describe('an ordered route', () => {
  test('[LN1] runs one job at a time per key, and different keys in parallel', async () => {
    const { world, node } = await worldOf({})
    const [a, b, other] = [paid('o1'), paid('o1'), paid('o2')]
    for (const event of [a, b, other]) await accept(world, node, event)
    expect(bodies(world)).toEqual([a.id, other.id])
    expect(await states(world)).toEqual(['leased', 'waiting', 'leased'])
    await done(world, 0)
    expect(bodies(world)).toEqual([a.id, other.id, b.id])
    await done(world, 2)
    await done(world, 1)
    expect(await states(world)).toEqual(['done', 'done', 'done'])
  })

  test('[LN1] a retry stays ahead of later jobs', async () => {
    const { world, node } = await worldOf({})
    const [a, b] = [paid('o1'), paid('o1')]
    for (const event of [a, b]) await accept(world, node, event)
    world.calls[0]?.answer(answered(503))
    await world.pass(3_000)
    expect(bodies(world)).toEqual([a.id, a.id])
    await done(world, 1)
    expect(bodies(world)).toEqual([a.id, a.id, b.id])
  })

  test('[LN1] a crash does not change the order', async () => {
    const { world, node } = await worldOf({ do: { ...HTTP, idempotent: true } })
    const [a, b] = [paid('o1'), paid('o1')]
    for (const event of [a, b]) await accept(world, node, event)
    node.crash()
    await world.node({ name: 'two', documents: [SOURCE, { ...EXPORT, do: { ...HTTP, idempotent: true } }] })
    await world.pass(40_000)
    expect(bodies(world)).toEqual([a.id, a.id])
    await done(world, 1)
    expect(bodies(world)).toEqual([a.id, a.id, b.id])
  })

  test('[LN2] a null key is a validation failure and blocks no other job', async () => {
    const { world, node } = await worldOf({ order: { by: 'payload.missing' } }, () => CREATED)
    const id = await accept(world, node, paid('o1'))
    await world.pass(1_000)
    expect(await workOf(world, id)).toMatchObject({ state: 'dead', class: 'validation', lane: null })
    expect(world.calls).toEqual([])
  })

  test('[LN4] [LN5] a dead job blocks its lane, raises one escalation per lane and emits an event', async () => {
    const { world, node } = await worldOf({}, () => answered(400))
    for (const event of [paid('o1'), paid('o1'), paid('o2')]) await accept(world, node, event)
    await world.pass(1_000)
    expect(await states(world)).toEqual(['dead', 'waiting', 'dead'])
    const holders = await world.reads.laneHolders({ cursor: null, limit: 10 })
    expect(holders.items.map(({ lane }) => lane).sort()).toEqual(['o1', 'o2'])
    const escalations = await world.reads.escalations({ cursor: null, limit: 10 })
    const blocked = escalations.items.filter(({ reason }) => reason === 'lane_blocked')
    expect(new Set(blocked.map(({ cause }) => cause)).size).toBe(2)
    const events = await world.reads.events({
      cursor: null,
      limit: 20,
      subject: 'integration.lane.blocked',
    })
    expect(events.items).toHaveLength(2)
  })

  test('[LN4] a parked job blocks its lane until an operator resolves it', async () => {
    const { world, node } = await worldOf({}, (_request, call) => (call === 1 ? LOST : CREATED))
    const [a, b] = [await accept(world, node, paid('o1')), await accept(world, node, paid('o1'))]
    await world.pass(20_000)
    expect((await workOf(world, a)).state).toBe('parked')
    expect((await workOf(world, b)).state).toBe('waiting')
    const resolving = node.engine.resolve(DEFAULT_TENANT, (await workOf(world, a)).id, {
      as: 'done',
      actor: 'ada',
      reason: 'it is there',
    })
    await world.pass(1_000)
    await resolving
    expect((await workOf(world, b)).state).toBe('done')
  })

  test('[LN4] with `skip` the lane goes on', async () => {
    const order = { by: 'payload.order', onBlocked: 'skip' } as const
    const { world, node } = await worldOf({ order }, (_request, call) =>
      call === 1 ? answered(400) : CREATED,
    )
    for (const event of [paid('o1'), paid('o1')]) await accept(world, node, event)
    await world.pass(1_000)
    expect(await states(world)).toEqual(['dead', 'done'])
  })

  test('[LN3] a job older than its lane is skipped; equal and newer ones run', async () => {
    const order = { by: 'payload.order', version: 'payload.v', stale: 'skip' } as const
    const { world, node } = await worldOf({ order }, () => CREATED)
    for (const v of [10, 9, 10, 11, null]) await accept(world, node, paid('o1', { v }))
    await world.pass(10_000)
    expect(await states(world)).toEqual(['done', 'skipped', 'done', 'done', 'done'])
    const lane = await world.reads.lane('route:book', 'o1')
    expect(lane?.version).toBe('11')
    expect(node.log.controls.some(({ action }) => action === 'STALE_VERSION')).toBe(true)
  })
})

const deadLetterOfWork = async (world: World, work: WorkRow) => {
  const letters = await world.reads.deadLetters({ cursor: null, limit: 10, eventId: work.eventId })
  const [letter] = letters.items
  if (letter === undefined) throw new Error('no letter')
  return letter
}

describe('a blocked lane', () => {
  const held = async () => {
    const { world, node } = await worldOf({}, (_request, call) => (call === 1 ? answered(400) : CREATED))
    const ids = [await accept(world, node, paid('o1')), await accept(world, node, paid('o1'))] as const
    await world.pass(1_000)
    const holder = await workOf(world, ids[0])
    return { world, node, ids, holder }
  }
  const by = { actor: 'ada', reason: 'mended' }

  test('[LN6] goes on when the dead letter is discarded', async () => {
    const { world, node, holder } = await held()
    const letter = await deadLetterOfWork(world, holder)
    const discarding = node.engine.discard(DEFAULT_TENANT, letter.id, by)
    await world.pass(1_000)
    await discarding
    expect(await states(world)).toEqual(['dead', 'done'])
  })

  test('[LN6] goes on when an operator releases it', async () => {
    const { world, node, holder } = await held()
    const leaving = node.engine.lanes.leave(DEFAULT_TENANT, holder.id, by)
    await world.pass(1_000)
    await leaving
    expect(await states(world)).toEqual(['dead', 'done'])
    const again = expect(node.engine.lanes.leave(DEFAULT_TENANT, holder.id, by)).rejects
    await again.toThrow(expect.objectContaining({ code: 'conflict' }))
  })

  test('[LN8] is listed with the number of jobs that wait behind it', async () => {
    const { world, node, holder } = await held()
    const listing = node.engine.lanes.held(DEFAULT_TENANT, { cursor: null, limit: 10 })
    await world.pass()
    expect((await listing).items).toMatchObject([{ work: { id: holder.id }, waiting: 1 }])
  })

  test('[LN7] a replay of the blocking job takes its position, ahead of those that wait', async () => {
    const { world, node, holder, ids } = await held()
    const letter = await deadLetterOfWork(world, holder)
    const replaying = node.engine.replay(DEFAULT_TENANT, letter.id, { ...by, force: false })
    await world.pass(2_000)
    await replaying
    const first = bodies(world)[0]
    expect(bodies(world).slice(0, 2)).toEqual([first, first])
    expect(world.calls).toHaveLength(3)
    expect((await workOf(world, ids[1])).state).toBe('done')
    expect((await world.reads.deadLetter(letter.id))?.state).toBe('resolved')
  })

  test('[LN7] an edited replay for another lane releases the old lane', async () => {
    const { world, node, holder, ids } = await held()
    const letter = await deadLetterOfWork(world, holder)
    const editing = node.engine.edit(DEFAULT_TENANT, letter.id, { ...by, data: paid('o9') })
    await world.pass()
    await editing
    const replaying = node.engine.replay(DEFAULT_TENANT, letter.id, { ...by, force: false })
    await world.pass(2_000)
    await replaying
    expect((await workOf(world, ids[1])).state).toBe('done')
    expect((await world.reads.lane('route:book', 'o1'))?.places).toBe(0)
  })

  test('[LN7] a replay of a job that blocks nothing joins the end of the lane', async () => {
    const order = { by: 'payload.order', onBlocked: 'skip' } as const
    const { world, node } = await worldOf({ order }, (_request, call) => (call === 1 ? answered(400) : null))
    const events = [paid('o1'), paid('o1'), paid('o1')]
    const ids = []
    for (const event of events) ids.push(await accept(world, node, event))
    await world.pass(1_000)
    const letter = await deadLetterOfWork(world, await workOf(world, ids[0] as never))
    const replaying = node.engine.replay(DEFAULT_TENANT, letter.id, { ...by, force: false })
    await world.pass(1_000)
    await replaying
    await done(world, 1)
    await done(world, 2)
    await done(world, 3)
    expect(bodies(world)).toEqual([events[0], events[1], events[2], events[0]].map((event) => event?.id))
  })
})

test('[LN1] with a limit per key that many jobs run at once, and a dead job frees its position', async () => {
  const { world, node } = await worldOf({
    order: undefined as never,
    concurrency: { limit: 2, by: 'payload.order' },
  })
  for (const order of ['o1', 'o1', 'o1', 'o2']) await accept(world, node, paid(order))
  expect(world.calls).toHaveLength(3)
  await done(world, 0, answered(400))
  expect(world.calls).toHaveLength(4)
  expect(await states(world)).toEqual(['dead', 'leased', 'leased', 'leased'])
})

describe('debounce', () => {
  const debounce = { by: 'payload.order', windowMs: 60_000, maxWaitMs: 600_000 }
  const quiet = { key: "'BOOK:' + payload.id", order: undefined as never }

  test('[DB1] the newest of a burst runs, and the others point to it', async () => {
    const { world, node } = await worldOf({ ...quiet, debounce }, () => CREATED)
    const events = [paid('o1'), paid('o1'), paid('o1'), paid('o2')]
    const ids = []
    for (const event of events) {
      ids.push(await accept(world, node, event))
      await world.pass(30_000)
    }
    await world.pass(200_000)
    expect(bodies(world).sort()).toEqual([events[2]?.id, events[3]?.id].sort())
    const rows = await Promise.all(ids.map((id) => workOf(world, id)))
    expect(rows.map(({ state }) => state)).toEqual(['skipped', 'skipped', 'done', 'done'])
    for (const row of rows.slice(0, 2))
      expect(row).toMatchObject({ lastError: 'SUPERSEDED', effectRef: rows[2]?.id })
  })

  test('[DB1] a job whose node died during its call is not skipped: its outcome is checked first', async () => {
    const { world, node } = await worldOf(
      { ...quiet, debounce: { by: 'payload.order', windowMs: 1_000, maxWaitMs: 5_000 } },
      (_request, call) => (call === 1 ? null : CREATED),
    )
    const first = await accept(world, node, paid('o1'))
    await world.pass(2_000)
    expect(world.calls).toHaveLength(1)
    const second = await accept(world, node, paid('o1'))
    node.crash()
    const debounced = { ...EXPORT, ...quiet, debounce: { ...debounce, windowMs: 1_000, maxWaitMs: 5_000 } }
    await world.node({ documents: [SOURCE, debounced] })
    await world.pass(120_000)
    expect((await workOf(world, first)).state).toBe('parked')
    expect((await workOf(world, second)).state).not.toBe('skipped')
  })

  test('[DB1] with `keep: first` the oldest runs', async () => {
    const { world, node } = await worldOf(
      { ...quiet, debounce: { ...debounce, keep: 'first' } },
      () => CREATED,
    )
    const events = [paid('o1'), paid('o1')]
    const ids = []
    for (const event of events) ids.push(await accept(world, node, event))
    await world.pass(200_000)
    expect(bodies(world)).toEqual([events[0]?.id])
    const [first, second] = await Promise.all(ids.map((id) => workOf(world, id)))
    expect(second).toMatchObject({ state: 'skipped', effectRef: first?.id })
  })

  test('[DB2] the oldest waits no longer than maxWait', async () => {
    const { world, node } = await worldOf({ ...quiet, debounce }, () => CREATED)
    for (let n = 0; n < 25; n += 1) {
      await accept(world, node, paid('o1'))
      await world.pass(30_000)
    }
    expect(world.calls).toHaveLength(1)
    await world.pass(100_000)
    expect(world.calls).toHaveLength(2)
  })

  test('[DB3] a burst is skipped in several commits, and a crash between them changes nothing', async () => {
    let settles = 0
    const crashing = { node: null as Node | null }
    const faults: NodeOptions['faults'] = {
      commit(commit, pass) {
        const passed = pass()
        if (commit.writes.filter(({ w }) => w === 'work.settle').length > 200) {
          settles += 1
          if (settles === 1) crashing.node?.crash()
        }
        return passed
      },
    }
    const { world, node } = await worldOf({ ...quiet, debounce }, () => CREATED, { faults })
    crashing.node = node
    const sent = []
    for (let n = 0; n < 600; n += 1) sent.push(node.send(paid('o1')))
    await world.pass(1_000)
    await Promise.all(sent)
    await world.pass(60_000)
    expect(settles).toBe(1)
    const documents = [SOURCE, { ...EXPORT, ...quiet, debounce }]
    await world.node({ name: 'two', documents })
    await world.pass(200_000)
    expect(world.calls).toHaveLength(1)
    const { work } = await world.store.system('recovery').dump()
    const byId = new Map(work.map((row) => [row.id as string, row]))
    expect(work.filter(({ state }) => state === 'done')).toHaveLength(1)
    for (const row of work) {
      let end = row
      while (end.state === 'skipped') end = byId.get(end.effectRef ?? '') as WorkRow
      expect(end.state).toBe('done')
    }
  })

  test('[DB1] [LN4] with an order by the same value, a permanent failure freezes the key until an operator decides', async () => {
    const order = { by: 'payload.order' }
    const short = { ...debounce, windowMs: 1_000, maxWaitMs: 5_000 }
    const { world, node } = await worldOf({ order, debounce: short }, (_request, call) =>
      call === 1 ? answered(400) : CREATED,
    )
    const failed = await accept(world, node, paid('o1'))
    await world.pass(2_000)
    expect(await workOf(world, failed)).toMatchObject({ state: 'dead' })
    const later = [await accept(world, node, paid('o1')), await accept(world, node, paid('o1'))]
    const other = await accept(world, node, paid('o2'))
    await world.pass(60_000)
    expect(await workOf(world, other)).toMatchObject({ state: 'done' })
    for (const id of later) expect((await workOf(world, id)).state).not.toBe('done')
    expect(world.calls).toHaveLength(2)
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    const discarded = node.engine.discard(DEFAULT_TENANT, letter!.id, {
      actor: 'ada',
      reason: 'sent by hand',
    })
    await world.pass(60_000)
    await discarded
    expect(world.calls).toHaveLength(3)
    const states = await Promise.all(later.map(async (id) => (await workOf(world, id)).state))
    expect(states).toEqual(['skipped', 'done'])
  })

  test('[DB4] a replay of a dead letter is neither skipped nor delayed', async () => {
    const { world, node } = await worldOf({ ...quiet, debounce }, (_request, call) =>
      call === 1 ? answered(400) : CREATED,
    )
    const id = await accept(world, node, paid('o1'))
    await world.pass(61_000)
    const letter = await deadLetterOfWork(world, await workOf(world, id))
    await accept(world, node, paid('o1'))
    const replaying = node.engine.replay(DEFAULT_TENANT, letter.id, { reason: 'x', force: false })
    await world.pass()
    await accept(world, node, paid('o1'))
    await world.pass(200_000)
    await replaying
    expect((await world.reads.deadLetter(letter.id))?.state).toBe('resolved')
    expect((await states(world)).filter((state) => state === 'done')).toHaveLength(3)
  })
})
