// Bulk replays in pieces: speed, guards, repetitions, and what a preview and a dead letter show.

import { expect, test } from 'vitest'
import type { RouteDocument, SourceDocument } from '../../../core/definitions/documents/index.ts'
import type { DeadLetter } from '../../../core/failures/dead-letter/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  makeWorld,
  type Node,
  type NodeOptions,
  ROUTE,
  SOURCE,
  type World,
} from '../../engine.fixture.ts'
import { listDeadLetters } from './dead-letter-pages.ts'
import { PIECE_MAX, sizePiece } from './replay-speed.ts'

const T = DEFAULT_TENANT
const LIMITED: RouteDocument = {
  ...ROUTE,
  circuit: 'off',
  rateLimit: { profile: null, perMinute: 60, burst: 60 },
}

async function heard<Value>(world: World, answer: Promise<Value>): Promise<Value> {
  const settled = answer.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  await world.pass(50)
  const result = await settled
  if ('error' in result) throw result.error
  return result.value
}

/** Dead letters of a vendor that refuses everything until it is healed; newest first. */
async function withDeadLetters(count: number, options: NodeOptions = {}) {
  let isHealthy = false
  const world = makeWorld(() => (isHealthy ? CREATED : answered(422)))
  const documents = [SOURCE, { ...ROUTE, circuit: 'off' } as const]
  const node = await world.node({ documents, ...options })
  for (let index = 0; index < count; index += 1) {
    await accept(world, node, { kind: 'paid', id: `d${index}`, order: `o${index}` })
    // With a rate limit the calls come one after another.
    if (options.documents !== undefined) await world.pass(1_100)
  }
  const letters = (await world.reads.deadLetters({ cursor: null, limit: 500 })).items
  expect(letters).toHaveLength(count)
  const heal = () => {
    isHealthy = true
  }
  return { world, node, letters, heal }
}

const progress = async (node: Node, id: string) => (await node.engine.replays.find(T, id))!

test('[RL1] dead letters and progress are one commit; one that changed meanwhile does not stop its piece', async () => {
  let discard: (() => Promise<void>) | null = null
  const sizes: number[] = []
  const { world, node, letters, heal } = await withDeadLetters(5, {
    faults: {
      async commit(commit, pass) {
        const isPiece = commit.writes.some((write) => write.w === 'record.put' && write.kind === 'replay')
        const adds = commit.writes.filter(({ w }) => w === 'work.add').length
        if (isPiece && adds > 0) {
          sizes.push(adds)
          const act = discard
          discard = null
          await act?.()
        }
        return pass()
      },
    },
  })
  heal()
  const { tenant: _tenant, createdAt: _at, updatedAt: _updated, ...row } = letters[2] as DeadLetter
  discard = async () => {
    const put = { w: 'deadLetter.put', row: { ...row, state: 'discarded', version: 2 } } as const
    await world.kept.commit({ tenant: T, guards: [], writes: [put] })
  }
  const { id } = await heard(world, node.engine.replays.begin(T, {}, { force: false }))
  await world.pass(5_000)
  expect(sizes).toEqual([5, 4])
  expect(await progress(node, id)).toMatchObject({
    state: 'done',
    replayed: 4,
    refused: 1,
    refusals: [{ id: letters[2]?.id, code: 'conflict' }],
  })
  const { items } = await world.reads.deadLetters({ cursor: null, limit: 9 })
  expect(items.map(({ state }) => state).sort()).toEqual([
    'discarded',
    ...Array.from({ length: 4 }, () => 'resolved'),
  ])
})

test('[RL1] a piece is bounded', () => {
  const free = Array.from({ length: 500 }, () => null)
  expect(sizePiece(null, free)).toEqual({ count: PIECE_MAX, waitMs: 0 })
  expect(sizePiece(100_000, free)).toEqual({ count: PIECE_MAX, waitMs: 2 })
})

test('[RL2] a replay goes no faster than requested, also after a restart', async () => {
  const { world, node, heal } = await withDeadLetters(4)
  heal()
  const { id } = await heard(world, node.engine.replays.begin(T, {}, { force: false, perSecond: 0.5 }))
  await world.pass(1_500)
  expect(await progress(node, id)).toMatchObject({ replayed: 1, state: 'running' })
  node.crash()
  const next = await world.node({ name: 'two' })
  await world.pass(100)
  expect((await progress(next, id)).replayed).toBe(1)
  await world.pass(2_000)
  expect((await progress(next, id)).replayed).toBe(2)
  await world.pass(60_000)
  expect(await progress(next, id)).toMatchObject({ replayed: 4, state: 'done' })
})

test('[RL3] a replay does not retrigger throttling: it respects the rate limit of the route', async () => {
  const { world, node, heal } = await withDeadLetters(6, { documents: [SOURCE, LIMITED] })
  heal()
  const before = world.calls.length
  const { id } = await heard(world, node.engine.replays.begin(T, {}, { force: false, perSecond: 1_000 }))
  await world.pass(2_500)
  expect((await progress(node, id)).replayed).toBe(3)
  expect(world.calls.length - before).toBeLessThanOrEqual(3)
  await world.pass(10_000)
  expect(await progress(node, id)).toMatchObject({ replayed: 6, state: 'done' })
  // Other routes' dead letters beside them are delayed by no more than that.
  expect(sizePiece(null, [null, 60, null, 60])).toEqual({ count: 3, waitMs: 1_000 })
})

test('[RL4] a node that is behind lets due jobs go first', async () => {
  const { world, node, heal } = await withDeadLetters(3, { config: { concurrency: 1 } })
  heal()
  const { id } = await heard(world, node.engine.replays.begin(T, {}, { force: false }))
  await world.pass(30_000)
  // A few are always added to the queue, however full the node is.
  expect(await progress(node, id)).toMatchObject({ state: 'done', replayed: 3 })
  const { items } = await world.reads.deadLetters({ cursor: null, limit: 9 })
  expect(items.every(({ state }) => state === 'resolved')).toBe(true)
})

test('[RL5] again repeats an effect, as the next generation of its key', async () => {
  const { world, node, letters, heal } = await withDeadLetters(1)
  const letter = letters[0] as DeadLetter
  heal()
  // Another event of the same key has made the effect meanwhile.
  await accept(world, node, { kind: 'paid', id: 'later', order: 'o0' })
  expect(await world.reads.ledger('BOOK:o0')).toMatchObject({ state: 'done', generation: 1 })
  const calls = world.calls.length
  const options = { force: false, again: true }
  await expect(heard(world, node.engine.replay(T, letter.id, options))).rejects.toMatchObject({
    code: 'reason_required',
  })
  await expect(heard(world, node.engine.replays.begin(T, {}, options))).rejects.toMatchObject({
    code: 'reason_required',
  })
  const preview = await heard(world, node.engine.replays.preview(T, {}, options))
  expect(preview.items).toMatchObject([{ verdict: 'would-call' }])
  await heard(world, node.engine.replays.begin(T, {}, { ...options, actor: 'anna', reason: 'it was lost' }))
  await world.pass(5_000)
  expect(world.calls).toHaveLength(calls + 1)
  expect(world.calls.at(-1)?.request.headers['idempotency-key']).toBe('BOOK:o0#2')
  // [RL12] both are stored.
  const history = await world.reads.ledgerHistory('BOOK:o0')
  expect(history.map(({ generation, state }) => [generation, state])).toEqual([
    [1, 'done'],
    [2, 'done'],
  ])
  expect(node.log.controls.filter(({ action }) => action === 'REPEATED')).toMatchObject([
    { idempotencyKey: 'BOOK:o0', message: 'by anna: it was lost' },
  ])
})

test('[RL7] a preview shows the edit, and hides sensitive values', async () => {
  const source: SourceDocument = { ...SOURCE, sensitive: ['payload.order'] }
  const world = makeWorld(() => answered(422))
  const node = await world.node({ documents: [source, ROUTE] })
  await accept(world, node, { kind: 'paid', id: 'd1', order: 'secret-1', tags: ['a'] })
  const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 1 })).items
  const data = { kind: 'paid', id: 'd1', order: 'secret-2', tags: ['a', 'b'] }
  await heard(world, node.engine.edit(T, letter!.id, { data, reason: 'typo', actor: 'anna' }))
  const preview = await heard(
    world,
    node.engine.replays.preview(T, { state: 'ready_to_replay' }, { force: false }),
  )
  expect(preview.items[0]?.diff).toEqual([
    {
      of: 'payload',
      changes: [
        { path: 'order', before: '[hidden]', after: '[hidden]' },
        { path: 'tags[1]', before: null, after: '"b"' },
      ],
    },
  ])
  expect(JSON.stringify(preview)).not.toContain('secret-')
  // [RL15] who, why, and both hashes.
  const edited = await world.reads.deadLetter(letter!.id)
  const [line] = node.log.controls.filter(({ action }) => action === 'EDITED')
  expect(line?.message).toContain('by anna: typo')
  expect(line?.message).toContain(`${letter!.payloadHash} became ${edited!.payloadHash}`)
})

test('[RL15] an edit is logged with the hashes before and after', async () => {
  const { world, node, letters } = await withDeadLetters(1)
  await heard(world, node.engine.edit(T, letters[0]!.id, { data: {}, reason: 'typo' }))
  const after = await world.reads.deadLetter(letters[0]!.id)
  const [line] = node.log.controls.filter(({ action }) => action === 'EDITED')
  expect(line?.message).toContain(`${letters[0]!.payloadHash} became ${after!.payloadHash}`)
})

test('[RL8] a skip in a preview points to the existing effect', async () => {
  const { world, node, heal } = await withDeadLetters(1)
  heal()
  const event = await accept(world, node, { kind: 'paid', id: 'later', order: 'o0' })
  const [work] = await world.reads.workOfEvent(event)
  const preview = await heard(world, node.engine.replays.preview(T, {}, { force: false }))
  expect(preview.items).toMatchObject([
    {
      verdict: 'would-skip',
      effect: { key: 'BOOK:o0', generation: 1, workId: work?.id, effectRef: 'v1' },
    },
  ])
})

test('[RL9] a preview shows how long its calls take under the rate limit', async () => {
  const { world, node } = await withDeadLetters(3)
  const slow = { profile: null, perMinute: 2, burst: 2 }
  await heard(world, node.engine.apply(T, [SOURCE, { ...ROUTE, rateLimit: slow }]))
  const preview = await heard(world, node.engine.replays.preview(T, {}, { force: false }))
  expect(preview.calls).toEqual({ 'vendor.example': 3 })
  expect(preview.cost).toEqual([
    { host: 'vendor.example', route: 'book', calls: 3, perMinute: 2, minutes: 1.5 },
  ])
})

test('[RL10] dead letters marked ready are replayed automatically only if configured', async () => {
  for (const replayReadyPerMinute of [0, 60]) {
    const { world, node, letters, heal } = await withDeadLetters(2, { config: { replayReadyPerMinute } })
    heal()
    await heard(world, node.engine.ready(T, letters[0]!.id, {}))
    await world.pass(130_000)
    const { items } = await world.reads.deadLetters({ cursor: null, limit: 9 })
    const ready = replayReadyPerMinute === 0 ? 'ready_to_replay' : 'resolved'
    expect(items.map(({ state }) => state)).toEqual([ready, 'open'])
  }
})

test('[RL13] dead letters are found by key, correlation, severity, cause and time', async () => {
  const { world, letters } = await withDeadLetters(3)
  const [newest, middle] = letters as [DeadLetter, DeadLetter, DeadLetter]
  const find = async (filter: object, cursor: string | null = null, limit = 10) =>
    listDeadLetters(world.reads, { ...filter, cursor, limit })
  const ids = async (filter: object) => (await find(filter)).items.map(({ id }) => id)
  expect(await ids({ key: 'BOOK:o1' })).toEqual([middle.id])
  expect(await ids({ correlationId: newest.correlationId })).toEqual([newest.id])
  expect(await ids({ severity: 'low' })).toEqual([])
  expect(await ids({ severity: 'high', cause: 'answered 422' })).toHaveLength(3)
  expect(await ids({ from: newest.createdAt + 1 })).toEqual([])
  expect(await ids({ to: newest.createdAt + 1, from: middle.createdAt })).toContain(middle.id)
  const first = await find({ severity: 'high' }, null, 2)
  const second = await find({ severity: 'high' }, first.nextCursor, 2)
  expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(letters.map(({ id }) => id))
  expect(second.nextCursor).toBeNull()
  await expect(find({ severity: 'high' }, 'nonsense')).rejects.toMatchObject({ code: 'invalid_cursor' })
})

test('[RL14] a dead letter says how far its job came, and a failed replay updates that', async () => {
  const world = makeWorld(() => answered(422))
  const broken: RouteDocument = { ...ROUTE, name: 'broken', key: 'payload.nothing.there' }
  const node = await world.node({ documents: [SOURCE, ROUTE, broken] })
  await accept(world, node)
  const steps = async () =>
    Object.fromEntries(
      (await world.reads.deadLetters({ cursor: null, limit: 9 })).items.map((letter) => [
        letter.consumer,
        letter.step,
      ]),
    )
  expect(await steps()).toEqual({ 'route:book': 'call', 'route:broken': 'key' })
  const url = 'https://vendor.example/{{ payload.missing.deep }}'
  await heard(
    world,
    node.engine.apply(T, [SOURCE, { ...ROUTE, key: 'payload.gone.deep', do: { ...HTTP, url } }]),
  )
  await heard(world, node.engine.replays.begin(T, { consumer: 'route:book' }, { force: false }))
  await world.pass(5_000)
  expect((await steps())['route:book']).toBe('request')
})
