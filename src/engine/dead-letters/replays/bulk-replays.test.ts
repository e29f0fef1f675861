// Bulk replays of dead letters: preview, progress, crashes, races.

import { expect, test } from 'vitest'
import type { DeadLetter } from '../../../core/failures/dead-letter/index.ts'
import { DEFAULT_TENANT, type DeadLetterId, type TenantId } from '../../../core/foundation/ids/index.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  LOST,
  makeWorld,
  type Node,
  PAID,
  ROUTE,
  SOURCE,
  type World,
} from '../../engine.fixture.ts'
import type { BulkReplay } from './replay-record.ts'

const T = DEFAULT_TENANT

async function heard<Value>(world: World, answer: Promise<Value>, ms = 50): Promise<Value> {
  const settled = answer.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  await world.pass(ms)
  const result = await settled
  if ('error' in result) throw result.error
  return result.value
}

interface Scene {
  readonly world: World
  readonly node: Node
  /** Newest first. */
  readonly letters: readonly DeadLetter[]
  heal(): void
}

/** `count` dead letters of a vendor that refuses everything until it is healed. */
async function withDeadLetters(count: number): Promise<Scene> {
  let isHealthy = false
  const world = makeWorld(() => (isHealthy ? CREATED : answered(422)))
  const node = await world.node()
  for (let index = 0; index < count; index += 1) {
    await accept(world, node, { kind: 'paid', id: `d${index}`, order: `o${index}` })
  }
  const { items } = await world.reads.deadLetters({ cursor: null, limit: 500 })
  expect(items).toHaveLength(count)
  return {
    world,
    node,
    letters: items,
    heal() {
      isHealthy = true
    },
  }
}

const states = async (world: World) =>
  (await world.reads.deadLetters({ cursor: null, limit: 500 })).items.map(({ state }) => state)

const finished = async (world: World, node: Node, id: string): Promise<BulkReplay> => {
  await world.pass(10_000)
  const replay = await node.engine.replays.find(T, id)
  if (replay === null) throw new Error('the replay is gone')
  return replay
}

test('[RL17] a dead letter about a whole list becomes a job per element, or says why not', async () => {
  const world = makeWorld(() => CREATED)
  const each = (max: number) => ({
    ...ROUTE,
    each: { of: 'payload.rows', as: 'row', max },
    key: "'ROW:' + row.id",
  })
  const node = await world.node({ documents: [SOURCE, each(1)] })
  await accept(world, node, {
    kind: 'paid',
    id: 'd1',
    order: 'o1',
    rows: [{ id: 1 }, { id: 2 }],
  } as typeof PAID)
  const told = async () => {
    const preview = await heard(world, node.engine.replays.preview(T, {}, { force: false }))
    return preview.items.map(({ verdict, reason }) => [verdict, reason])
  }
  expect(await told()).toEqual([
    ['would-fail', 'the list of `each` has 2 elements; the route takes 1 at most'],
  ])
  await heard(world, node.engine.apply(T, [SOURCE, each(2)]))
  expect(await told()).toEqual([['would-call', 'becomes 2 items, one per element']])
})

test('[RP1] a preview says what would happen, and changes nothing', async () => {
  const { world, node, letters } = await withDeadLetters(4)
  const [differs, skipped, exhausted, called] = letters as readonly [
    DeadLetter,
    DeadLetter,
    DeadLetter,
    DeadLetter,
  ]
  const entry = {
    key: skipped.key as string,
    work: skipped.workId,
    epoch: 1,
    consumer: skipped.consumer,
    eventId: skipped.eventId,
    objectId: null,
    payloadHash: skipped.payloadHash,
    correlationId: skipped.correlationId,
  }
  const { tenant: _tenant, createdAt: _createdAt, updatedAt: _updatedAt, ...row } = exhausted
  const put = world.store.commit({
    tenant: T,
    guards: [],
    writes: [
      { w: 'ledger.done', entry, effectRef: 'v1', result: null },
      { w: 'deadLetter.put', row: { ...row, version: 2, replays: 3 } },
    ],
  })
  await heard(world, put)
  const data = { kind: 'paid', id: 'dx', order: 'ox' }
  await heard(world, node.engine.edit(T, differs.id, { data, reason: 'typo' }))
  const before = await world.store.system('verification').dump()
  const ids = [...letters.map(({ id }) => id), 'dlq_none' as DeadLetterId]
  const preview = await heard(world, node.engine.replays.preview(T, { ids }, { force: false }))
  expect(preview.items).toEqual([
    {
      id: differs.id,
      verdict: 'would-differ',
      reason: 'calls vendor.example, other than before',
      diff: [
        {
          of: 'payload',
          changes: [
            { path: 'id', before: '"d3"', after: '"dx"' },
            { path: 'order', before: '"o3"', after: '"ox"' },
          ],
        },
      ],
    },
    {
      id: skipped.id,
      verdict: 'would-skip',
      reason: `the effect of ${skipped.key} is there already`,
      effect: { key: skipped.key, generation: 1, workId: skipped.workId, effectRef: 'v1' },
    },
    { id: exhausted.id, verdict: 'would-fail', reason: '3 replays have failed; another one needs force' },
    { id: called.id, verdict: 'would-call', reason: 'calls vendor.example' },
    { id: 'dlq_none', verdict: 'would-fail', reason: 'there is no such dead letter' },
  ])
  expect(preview).toMatchObject({
    totals: { 'would-skip': 1, 'would-call': 1, 'would-differ': 1, 'would-fail': 2 },
    calls: { 'vendor.example': 2 },
    cost: [{ host: 'vendor.example', route: 'book', calls: 2, perMinute: null, minutes: null }],
    matched: 5,
    isCapped: false,
  })
  const forced = await heard(world, node.engine.replays.preview(T, { ids: [exhausted.id] }, { force: true }))
  expect(forced.items).toMatchObject([{ verdict: 'would-call' }])
  expect(await world.store.system('verification').dump()).toEqual(before)
  expect(world.calls).toHaveLength(4)
})

test('[RP10] a preview shows a replay that would have to wait', async () => {
  const world = makeWorld((_request, call) => (call === 1 ? answered(422) : LOST))
  const node = await world.node()
  await accept(world, node)
  const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 1 })).items
  // The outcome of another job with the same key is unknown by now.
  await accept(world, node, { ...PAID, id: 'd2' })
  const preview = await heard(world, node.engine.replays.preview(T, {}, { force: false }))
  expect(preview.items).toEqual([
    { id: letter!.id, verdict: 'would-wait', reason: 'another item holds the key' },
  ])
  expect(preview.totals['would-wait']).toBe(1)
  expect(preview.calls).toEqual({})
})

test('[RP1] a preview lists what changed in the definition', async () => {
  const { world, node } = await withDeadLetters(1)
  const url = 'https://other.example/orders/{{ payload.order }}'
  await heard(world, node.engine.apply(T, [SOURCE, { ...ROUTE, where: 'true', do: { ...HTTP, url } }]))
  const preview = await heard(world, node.engine.replays.preview(T, {}, { force: false }))
  const changes = [
    { path: 'where', before: 'null', after: '"true"' },
    { path: 'do.url', before: JSON.stringify(HTTP.url), after: JSON.stringify(url) },
  ]
  expect(preview.items).toMatchObject([{ verdict: 'would-differ', diff: [{ of: 'definition', changes }] }])
  expect(preview.calls).toEqual({ 'other.example': 1 })
  await heard(world, node.engine.apply(T, [SOURCE, { ...ROUTE, where: 'false' }]))
  const refused = await heard(world, node.engine.replays.preview(T, {}, { force: false }))
  expect(refused.items).toMatchObject([{ verdict: 'would-fail' }])
  await heard(world, node.engine.apply(T, [SOURCE]))
  const gone = await heard(world, node.engine.replays.preview(T, {}, { force: false }))
  expect(gone.items).toMatchObject([{ verdict: 'would-fail', reason: 'route:book is not defined any more' }])
})

test('[RP3] a replay works through its dead letters, a few at a time', async () => {
  const { world, node, heal } = await withDeadLetters(35)
  heal()
  const seen: string[] = []
  node.engine.watch({
    changed: (_tenant, change) => void (change.type === 'replay' && seen.push(change.id)),
    lost: () => {},
  })
  const begun = await heard(
    world,
    node.engine.replays.begin(
      T,
      {},
      { force: false, perSecond: 50, actor: 'anna', reason: 'vendor is back' },
    ),
  )
  expect(begun).toMatchObject({ state: 'running', total: 35, replayed: 0, by: 'anna', finishedAt: null })
  const early = await node.engine.replays.find(T, begun.id)
  expect(early).toMatchObject({ state: 'running', replayed: 10 })
  const done = await finished(world, node, begun.id)
  expect(done).toMatchObject({ state: 'done', total: 35, replayed: 35, refused: 0 })
  expect(done.finishedAt).toBeGreaterThanOrEqual(done.createdAt + 600)
  expect(new Set(await states(world))).toEqual(new Set(['resolved']))
  // [RP8] the start, and each piece.
  expect(seen).toEqual(Array.from({ length: 5 }, () => begun.id))
  expect(node.log.controls.filter(({ action }) => action === 'REPLAYED')).toHaveLength(35)
  const marker = { kind: 'replay', prefix: 'running/', cursor: null, limit: 9 } as const
  expect((await world.reads.records(marker)).items).toEqual([])
})

test('[RP8] watchers see every step', async () => {
  const { world, node, heal } = await withDeadLetters(1)
  heal()
  let told = 0
  node.engine.watch({
    changed: (_tenant, change) => void (change.type === 'replay' && told++),
    lost: () => {},
  })
  await heard(world, node.engine.replays.begin(T, {}, { force: false }))
  expect(told).toBe(2)
})

test('[RP2] a filter selects what matches, and nothing that died later', async () => {
  const { world, node, letters } = await withDeadLetters(3)
  const cause = 'answered 422'
  await expect(
    heard(world, node.engine.replays.begin(T, { cause: 'other' }, { force: false })),
  ).rejects.toMatchObject({ code: 'not_found', next: expect.stringContaining('same filter') })
  for (const filter of [{ class: 'auth' }, { consumer: 'route:none' }, { reason: 'expired' }] as const) {
    const preview = await heard(world, node.engine.replays.preview(T, filter, { force: false }))
    expect(preview).toMatchObject({ items: [], matched: 0 })
  }
  await heard(world, node.engine.ready(T, letters[1]!.id, {}))
  const filter = { state: 'ready_to_replay', cause, consumer: 'route:book', class: 'validation' } as const
  const { id } = await heard(world, node.engine.replays.begin(T, filter, { force: false }))
  // The vendor still refuses: the dead letter opens again, and is not selected a second time.
  expect(await finished(world, node, id)).toMatchObject({ total: 1, replayed: 1, refused: 0 })
  const after = await world.reads.deadLetters({ cursor: null, limit: 9 })
  expect(after.items.map(({ replays }) => replays)).toEqual([0, 1, 0])
})

test('[RP4] dead letters that open again are not replayed twice', async () => {
  const { world, node } = await withDeadLetters(25)
  const { id } = await heard(world, node.engine.replays.begin(T, { cause: 'answered 422' }, { force: false }))
  expect(await finished(world, node, id)).toMatchObject({ state: 'done', replayed: 25, refused: 0 })
  const { items } = await world.reads.deadLetters({ cursor: null, limit: 99 })
  expect(items.every(({ replays, state }) => replays === 1 && state === 'open')).toBe(true)
})

test('[RP5] a dead letter that cannot be replayed is counted, and does not stop the others', async () => {
  const { world, node, letters, heal } = await withDeadLetters(4)
  heal()
  await heard(world, node.engine.discard(T, letters[1]!.id, { reason: 'no' }))
  const ids = [letters[0]!.id, letters[1]!.id, 'dlq_none' as DeadLetterId, letters[3]!.id]
  const { id } = await heard(world, node.engine.replays.begin(T, { ids }, { force: false }))
  expect(await finished(world, node, id)).toMatchObject({
    state: 'done',
    total: 4,
    replayed: 2,
    refused: 2,
    refusals: [
      { id: letters[1]!.id, code: 'conflict' },
      { id: 'dlq_none', code: 'not_found' },
    ],
  })
  expect(await states(world)).toEqual(['resolved', 'discarded', 'open', 'resolved'])
})

test('[RP6] the next node to start continues after a crash', async () => {
  const { world, node, heal } = await withDeadLetters(30)
  heal()
  const { id } = await heard(world, node.engine.replays.begin(T, {}, { force: false, perSecond: 50 }))
  node.crash()
  const { replayed } = (await node.engine.replays.find(T, id))!
  expect(replayed).toBeLessThan(30)
  const next = await world.node({ name: 'two' })
  await world.pass(60_000)
  expect(await next.engine.replays.find(T, id)).toMatchObject({ state: 'done', replayed: 30, refused: 0 })
  const { items } = await world.reads.deadLetters({ cursor: null, limit: 99 })
  expect(items.every(({ replays, state }) => replays === 1 && state === 'resolved')).toBe(true)
})

test('[RP4] two nodes at once count every dead letter once', async () => {
  const { world, node, heal } = await withDeadLetters(40)
  heal()
  const other = await world.node({ name: 'two' })
  const { id } = await heard(world, node.engine.replays.begin(T, {}, { force: false, perSecond: 50 }))
  await world.pass(30_000)
  expect(await other.engine.replays.find(T, id)).toMatchObject({ state: 'done', replayed: 40, refused: 0 })
  const { items } = await world.reads.deadLetters({ cursor: null, limit: 99 })
  expect(items.every(({ replays }) => replays === 1)).toBe(true)
})

test('[RP7] stops when it is cancelled', async () => {
  const { world, node, heal } = await withDeadLetters(30)
  heal()
  const { id } = await heard(world, node.engine.replays.begin(T, {}, { force: false, perSecond: 50 }))
  const cancelled = await heard(world, node.engine.replays.cancel(T, id, { actor: 'anna' }))
  expect(cancelled).toMatchObject({ state: 'cancelled', replayed: 10 })
  expect(await finished(world, node, id)).toEqual(cancelled)
  expect((await states(world)).filter((state) => state === 'resolved')).toHaveLength(10)
  await expect(heard(world, node.engine.replays.cancel(T, id, {}))).rejects.toMatchObject({
    code: 'conflict',
  })
  await expect(heard(world, node.engine.replays.cancel(T, 'rpl_0', {}))).rejects.toMatchObject({
    code: 'not_found',
  })
})

test('[RP9] replays are listed newest first, and belong to their tenant', async () => {
  const { world, node, letters } = await withDeadLetters(3)
  const begun: string[] = []
  for (const { id } of letters) {
    begun.unshift((await heard(world, node.engine.replays.begin(T, { ids: [id] }, { force: false }))).id)
  }
  const first = await node.engine.replays.list(T, { cursor: null, limit: 2 })
  const second = await node.engine.replays.list(T, { cursor: first.nextCursor, limit: 2 })
  expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(begun)
  expect(second.nextCursor).toBeNull()
  const other = 'other' as TenantId
  expect((await node.engine.replays.list(other, { cursor: null, limit: 2 })).items).toEqual([])
  expect(await node.engine.replays.find(other, begun[0]!)).toBeNull()
  await expect(node.engine.replays.cancel(other, begun[0]!, {})).rejects.toMatchObject({ code: 'not_found' })
})

test('[RL1] a dead letter named twice is replayed once', async () => {
  const { world, node, letters, heal } = await withDeadLetters(2)
  heal()
  const ids = [letters[0]!.id, letters[1]!.id, letters[0]!.id]
  const preview = await heard(world, node.engine.replays.preview(T, { ids }, { force: false }))
  expect(preview.items).toHaveLength(2)
  const { id } = await heard(world, node.engine.replays.begin(T, { ids }, { force: false }))
  expect(await finished(world, node, id)).toMatchObject({ total: 2, replayed: 2, refused: 0 })
  const { items } = await world.reads.workList({ cursor: null, limit: 50 })
  expect(items.filter(({ replayOf }) => replayOf === letters[0]!.id)).toHaveLength(1)
  const { eventId } = letters[1]!
  const events = await heard(world, node.engine.replays.beginEvents(T, { ids: [eventId, eventId] }, {}))
  expect(events).toMatchObject({ total: 1 })
})

test('[RL1] a stuck replay does not delay the others', async () => {
  const { world, node, heal } = await withDeadLetters(1)
  heal()
  // The first of all, by its name.
  const broken = `rpl_${'0'.repeat(24)}`
  const put = (key: string) =>
    ({ w: 'record.put', kind: 'replay', key, version: 1, body: 'not a replay' }) as const
  const written = world.store.commit({
    tenant: T,
    guards: [],
    writes: [put(broken), put(`running/${broken}`)],
  })
  await world.pass()
  await written
  const { id } = await heard(world, node.engine.replays.begin(T, {}, { force: false }))
  expect(await finished(world, node, id)).toMatchObject({ state: 'done', replayed: 1 })
})

test('[RL1] dead letters of one lane are replayed in the order in which they died', async () => {
  let isHealthy = false
  const world = makeWorld(() => (isHealthy ? CREATED : answered(422)))
  const ordered = { ...ROUTE, order: { by: 'payload.lane', onBlocked: 'skip' } } as const
  const node = await world.node({ documents: [SOURCE, ordered] })
  const names = ['a', 'b', 'c', 'd']
  for (const order of names) await accept(world, node, { kind: 'paid', id: order, order, lane: 'one' })
  await world.pass(5_000)
  expect(await states(world)).toEqual(names.map(() => 'open'))
  isHealthy = true
  const before = world.calls.length
  const { id } = await heard(world, node.engine.replays.begin(T, {}, { force: false }))
  expect(await finished(world, node, id)).toMatchObject({ state: 'done', replayed: 4 })
  const keys = world.calls.slice(before).map(({ request }) => request.headers['idempotency-key'])
  expect(keys).toEqual(names.map((name) => `BOOK:${name}`))
})
