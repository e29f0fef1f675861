// Operator actions on dead letters.

import { expect, test } from 'vitest'
import type { DeadLetter } from '../../core/failures/dead-letter/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import { DEFAULT_TENANT, type DeadLetterId, type EventId } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { Write } from '../../ports/store.ts'
import {
  accept,
  answered,
  CREATED,
  makeWorld,
  type Node,
  PAID,
  ROUTE,
  SOURCE,
  type World,
} from '../engine.fixture.ts'
import { readEdit } from './edited-events.ts'

const T = DEFAULT_TENANT

async function deadLetterOf(world: World): Promise<DeadLetter> {
  const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 1 })).items
  if (letter === undefined) throw new Error('there is no dead letter')
  return letter
}

/** A node with one dead letter; the vendor accepts only orders other than o1. */
async function withDeadLetter(): Promise<{ world: World; node: Node; letter: DeadLetter }> {
  const world = makeWorld((request) => (request.url.endsWith('/o1') ? answered(422) : CREATED))
  const node = await world.node()
  await accept(world, node)
  return { world, node, letter: await deadLetterOf(world) }
}

/** Advances the world until the result is there. */
async function heard<Value>(world: World, answer: Promise<Value>): Promise<Value> {
  const settled = answer.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  await world.pass(1_000)
  const result = await settled
  if ('error' in result) throw result.error
  return result.value
}

test('[DL3] ready and discard change the dead letter, with a log line each', async () => {
  const { world, node, letter } = await withDeadLetter()
  await heard(world, node.engine.ready(T, letter.id, { actor: 'anna', reason: 'mended' }))
  expect(await world.reads.deadLetter(letter.id)).toMatchObject({ state: 'ready_to_replay', version: 2 })
  await heard(world, node.engine.discard(T, letter.id, { actor: 'anna', reason: 'not needed' }))
  expect(await world.reads.deadLetter(letter.id)).toMatchObject({ state: 'discarded', version: 3 })
  const lines = node.log.controls.filter(({ point }) => point === 'dead-letter').slice(1)
  expect(lines.map(({ action, message }) => [action, message])).toEqual([
    ['READY', 'by anna: mended'],
    ['DISCARDED', 'by anna: not needed'],
  ])
})

test('[DL6] actions on a final or deleted dead letter are refused, and nothing changes', async () => {
  const { world, node, letter } = await withDeadLetter()
  await heard(world, node.engine.discard(T, letter.id, { reason: 'no' }))
  const before = await world.store.system('verification').dump()
  const conflict = { code: 'conflict' }
  await expect(heard(world, node.engine.ready(T, letter.id, {}))).rejects.toMatchObject(conflict)
  await expect(heard(world, node.engine.discard(T, letter.id, { reason: 'x' }))).rejects.toMatchObject(
    conflict,
  )
  await expect(heard(world, node.engine.replay(T, letter.id, { force: true }))).rejects.toMatchObject(
    conflict,
  )
  await expect(heard(world, node.engine.edit(T, letter.id, { data: {}, reason: 'x' }))).rejects.toMatchObject(
    conflict,
  )
  await expect(heard(world, node.engine.ready(T, 'dlq_0' as DeadLetterId, {}))).rejects.toMatchObject({
    code: 'not_found',
  })
  expect(await world.store.system('verification').dump()).toEqual(before)
})

test('[DL15] a resolved dead letter accepts no action, and says that nothing is left to do', async () => {
  let isFixed = false
  const world = makeWorld(() => (isFixed ? CREATED : answered(422)))
  const node = await world.node()
  await accept(world, node)
  const { id } = await deadLetterOf(world)
  isFixed = true
  await heard(world, node.engine.replay(T, id, { force: false }))
  await world.pass(10_000)
  expect(await world.reads.deadLetter(id)).toMatchObject({ state: 'resolved' })
  expect(world.calls).toHaveLength(2)
  const before = await world.store.system('verification').dump()
  for (const act of [
    () => node.engine.ready(T, id, {}),
    () => node.engine.replay(T, id, { force: false }),
    () => node.engine.replay(T, id, { force: true }),
    () => node.engine.edit(T, id, { data: {}, reason: 'x' }),
    () => node.engine.discard(T, id, { reason: 'x' }),
  ]) {
    const refused = await heard<unknown>(world, act()).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      code: 'conflict',
      message: 'the dead letter is resolved',
      next: 'Nothing is left to do: a replay succeeded.',
    })
  }
  const preview = await heard(world, node.engine.replays.preview(T, { ids: [id] }, { force: false }))
  expect(preview.items).toMatchObject([{ verdict: 'would-fail', reason: 'it is resolved' }])
  expect(await world.store.system('verification').dump()).toEqual(before)
})

test('[DL6] of two operators at once one is refused', async () => {
  const { world, node, letter } = await withDeadLetter()
  const both = [
    node.engine.discard(T, letter.id, { reason: 'one' }),
    node.engine.edit(T, letter.id, { data: { kind: 'paid' }, reason: 'two' }),
  ]
  const settled = Promise.allSettled(both)
  await world.pass(1_000)
  expect((await settled).map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const { events } = await world.store.system('verification').dump()
  expect(events.filter(({ source }) => source === 'shop')).toHaveLength(
    (await world.reads.deadLetter(letter.id))?.state === 'discarded' ? 1 : 2,
  )
})

test('[DL4] an edit leaves the original unchanged, and points the dead letter at a copy', async () => {
  const { world, node, letter } = await withDeadLetter()
  const original = await world.reads.event(letter.eventId)
  const data = { ...PAID, order: 'o2', big: 12345678901234567890n }
  const { eventId } = await heard(world, node.engine.edit(T, letter.id, { data, reason: 'typo' }))
  expect(await world.reads.event(letter.eventId)).toEqual(original)
  const text = '{"kind":"paid","id":"d1","order":"o2","big":12345678901234567890}'
  expect(await world.reads.event(eventId)).toEqual({
    ...original,
    id: eventId,
    causationId: original?.id,
    data: text,
    payloadHash: hashText(text),
    dedupKey: `edit:${letter.id}:1`,
    matched: 1,
    receivedAt: expect.any(Number),
  })
  expect(await world.reads.deadLetter(letter.id)).toEqual({
    ...letter,
    state: 'ready_to_replay',
    version: 2,
    eventId,
    payloadHash: hashText(text),
    updatedAt: expect.any(Number),
  })
  expect((await world.reads.events({ cursor: null, limit: 9, unmatched: true })).items).toEqual([])
  const caused = await world.reads.causedBy(letter.eventId, 9)
  expect(caused.filter(({ source }) => source === 'shop')).toMatchObject([{ id: eventId }])
})

test('[DL14] a copy records who edited it, why and which fields; records left by retention are deleted', async () => {
  const { world, node, letter } = await withDeadLetter()
  const gone = 'evt_00000000-0000-7000-8000-000000000000'
  const left: Write = { w: 'record.put', kind: 'edit', key: gone, version: 1, body: '{}' }
  await heard(world, world.store.commit({ tenant: T, guards: [], writes: [left] }))
  const edit = (data: JsonValue) =>
    heard(world, node.engine.edit(T, letter.id, { data, reason: 'typo', actor: 'anna' }))
  const first = await edit({ ...PAID, order: 'o2', more: [1] })
  const original = await world.reads.event(letter.eventId)
  const copy = await world.reads.event(first.eventId)
  if (original === null || copy === null) throw new Error('an event is gone')
  expect(await readEdit(world.reads, original)).toBeNull()
  expect(await readEdit(world.reads, copy)).toEqual({
    by: 'anna',
    reason: 'typo',
    changed: ['order', 'more'],
    hasMore: false,
    payloadHashBefore: original.payloadHash,
  })
  // Created before edits were recorded: still a copy.
  expect(await readEdit(world.reads, { ...copy, id: 'evt_older' as EventId })).toBeNull()
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`f${index}`, index]))
  const { eventId } = await edit(many)
  const second = await world.reads.event(eventId)
  if (second === null) throw new Error('the copy is gone')
  expect(second.causationId).toBe(first.eventId)
  const { changed, hasMore } = (await readEdit(world.reads, second)) ?? {}
  expect([changed?.length, hasMore]).toEqual([50, true])
  const records = await world.reads.records({ kind: 'edit', cursor: null, limit: 9 })
  expect(records.items.map(({ key }) => key)).toEqual([first.eventId, eventId])
})

test('[DL5] a replay of an edited dead letter runs the copy under the old key', async () => {
  const { world, node, letter } = await withDeadLetter()
  expect(letter.key).toBe('BOOK:o1')
  for (const order of ['o3', 'o2']) {
    const data = { ...PAID, order }
    await heard(world, node.engine.edit(T, letter.id, { data, reason: 'typo' }))
  }
  const { workId } = await heard(world, node.engine.replay(T, letter.id, { force: false }))
  await world.pass(1_000)
  const last = world.calls.at(-1)?.request
  expect(last).toMatchObject({
    url: 'https://vendor.example/orders/o2',
    headers: { 'idempotency-key': 'BOOK:o1' },
  })
  expect(await world.reads.work(workId)).toMatchObject({ state: 'done', key: 'BOOK:o1' })
  expect(await world.reads.deadLetter(letter.id)).toMatchObject({ state: 'resolved', key: 'BOOK:o1' })
  expect(await world.reads.ledger('BOOK:o2')).toBeNull()
})

test('[DL4] a payload beyond the limit is refused', async () => {
  const { world, node, letter } = await withDeadLetter()
  const data = { text: 'x'.repeat(1_048_576) }
  await expect(heard(world, node.engine.edit(T, letter.id, { data, reason: 'x' }))).rejects.toMatchObject({
    code: 'body_too_large',
  })
  expect(await world.reads.deadLetter(letter.id)).toEqual(letter)
})

test('[DL3] a dead letter whose route was removed can be marked and discarded, but not replayed', async () => {
  const { world, node, letter } = await withDeadLetter()
  await heard(world, node.engine.apply(T, [SOURCE, { ...ROUTE, name: 'other' }]))
  await expect(heard(world, node.engine.replay(T, letter.id, { force: false }))).rejects.toMatchObject({
    code: 'definition_missing',
  })
  await heard(world, node.engine.discard(T, letter.id, { reason: 'its route is gone' }))
  expect(await world.reads.deadLetter(letter.id)).toMatchObject({ state: 'discarded' })
  expect((await world.reads.event(letter.eventId as EventId))?.id).toBe(letter.eventId)
})
