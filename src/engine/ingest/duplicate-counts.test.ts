// Duplicates are counted on the first event, without delaying any response.

import { expect, test } from 'vitest'
import { type Commit, StoreError } from '../../ports/store.ts'
import { accept, CREATED, makeDeferred, makeWorld, PAID } from '../engine.fixture.ts'

const repeatsOf = (commit: Commit) => commit.writes.filter((write) => write.w === 'event.repeat')

test('[RT1] duplicates count on the first event, many in one write, after their responses', async () => {
  const world = makeWorld(() => CREATED)
  const node = await world.node()
  const hand = makeDeferred<void>()
  const written: Commit[] = []
  node.faults.commit = async (commit, pass) => {
    if (repeatsOf(commit).length === 0) return pass()
    written.push(commit)
    await hand.promise
    return pass()
  }
  const first = await accept(world, node)
  const other = await accept(world, node, { ...PAID, id: 'd2' })
  for (const id of ['d1', 'd1', 'd2', 'd1']) {
    const answer = node.send({ ...PAID, id })
    await world.pass()
    expect(await answer).toEqual({ eventId: id === 'd1' ? first : other, duplicate: true })
  }
  expect(await world.reads.event(first)).toMatchObject({ duplicates: 0, lastDuplicateAt: null })
  await world.pass(1_000)
  expect(written.map(repeatsOf)).toEqual([
    [
      { w: 'event.repeat', event: first, count: 3 },
      { w: 'event.repeat', event: other, count: 1 },
    ],
  ])
  // The store is slow, and a duplicate sent now is still answered at once.
  const late = node.send(PAID)
  await world.pass()
  expect(await late).toEqual({ eventId: first, duplicate: true })
  hand.give()
  await world.pass(1_000)
  expect(await world.reads.event(first)).toMatchObject({ duplicates: 4, lastDuplicateAt: world.now() })
  expect((await world.reads.events({ cursor: null, limit: 9 })).items).toMatchObject([
    { id: other, duplicates: 1 },
    { id: first, duplicates: 4 },
  ])
})

test('[RT2] counts that the store refused are written later; counts that it may have applied are not counted twice', async () => {
  const world = makeWorld(() => CREATED)
  const node = await world.node()
  const first = await accept(world, node)
  const failures = [
    new StoreError('unavailable', 'disk full'),
    new StoreError('unavailable', 'the connection broke', { applied: 'indeterminate' }),
  ]
  const { commit: passOn } = node.faults
  node.faults.commit = async (commit, pass) => {
    const error = repeatsOf(commit).length > 0 ? failures.shift() : undefined
    if (error === undefined) return passOn(commit, pass)
    if (error.applied === 'indeterminate') await pass()
    throw error
  }
  await accept(world, node)
  await world.pass(1_000)
  expect(await world.reads.event(first)).toMatchObject({ duplicates: 0 })
  await accept(world, node)
  await world.pass(1_000)
  expect(await world.reads.event(first)).toMatchObject({ duplicates: 2 })
  await world.pass(5_000)
  expect(await world.reads.event(first)).toMatchObject({ duplicates: 2 })
  expect(node.log.messages.filter(({ name }) => name === 'duplicates.not-written')).toHaveLength(2)
})

test('[RT3] a stopping node writes its counts', async () => {
  const world = makeWorld(() => CREATED)
  const node = await world.node()
  const first = await accept(world, node)
  await accept(world, node)
  const drained = node.engine.drain(1_000)
  await world.pass()
  await drained
  expect(await world.reads.event(first)).toMatchObject({ duplicates: 1 })
})
