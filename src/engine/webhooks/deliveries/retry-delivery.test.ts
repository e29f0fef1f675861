// Sends a delivery once more: whatever its state, and whatever other requests run at the same time.

import { expect, test } from 'vitest'
import type { EventId, WorkId } from '../../../core/foundation/ids/index.ts'
import {
  HOOK,
  heard,
  makeScene,
  PATIENT,
  type Scene,
  T,
} from '../../dead-letters/replays/recovery.fixture.ts'
import { accept, answered, SOURCE } from '../../engine.fixture.ts'

const WHY = { actor: 'anna', reason: 'they lost it' }

async function deliveryOf({ world }: Scene, id: EventId): Promise<WorkId> {
  const rows = await world.reads.workOfEvent(id)
  return rows.findLast(({ kind }) => kind === 'delivery')!.id
}

const retry = (scene: Scene, id: WorkId, decided: object = WHY) =>
  heard(scene.world, scene.node.engine.deliveries.retry(T, id, decided), 1_000)

test('[RV12] a dead one is replayed by its dead letter', async () => {
  const scene = await makeScene()
  const { world, node, answer, sent, states } = scene
  answer(answered(500))
  const id = await accept(world, node)
  await world.pass(5_000)
  const dead = await deliveryOf(scene, id)
  const shown = await node.engine.deliveries.find(T, dead)
  const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
  expect(shown).toMatchObject({
    subscription: 'crm',
    state: 'dead-lettered',
    subject: 'shop.events.paid',
    deadLetterId: letter!.id,
  })
  // Also after more failed replays than a dead letter has by itself.
  for (let index = 0; index < 4; index += 1)
    expect(await retry(scene, dead, {})).toMatchObject({ how: 'replayed' })
  await world.pass(200_000)
  answer(answered(204))
  const { how, workId } = await retry(scene, dead, {})
  expect(how).toBe('replayed')
  await world.pass(120_000)
  expect((await world.reads.work(workId))!.state).toBe('done')
  expect(new Set(sent())).toEqual(new Set([id]))
  expect((await states(id)).filter((state) => state === 'done')).toHaveLength(1)
})

test('[RV12] a delivery that waits for its retry is due now, also while its endpoint pauses', async () => {
  const scene = await makeScene([PATIENT])
  const { world, node, answer } = scene
  answer(answered(503))
  const id = await accept(world, node)
  const work = await deliveryOf(scene, id)
  expect(await node.engine.deliveries.find(T, work)).toMatchObject({ state: 'retrying' })
  expect((await world.reads.work(work))!.dueAt).toBeGreaterThan(world.now())
  answer(answered(204))
  expect(await heard(world, node.engine.deliveries.retry(T, work, {}), 10)).toEqual({
    how: 'hurried',
    workId: work,
  })
  expect(await node.engine.deliveries.find(T, work)).toMatchObject({ state: 'delivered' })
})

test('[RV11] [RV12] a delivered one is sent again under the same id, as often as a reason is given', async () => {
  const scene = await makeScene()
  const { world, node, sent, states } = scene
  const id = await accept(world, node)
  const work = await deliveryOf(scene, id)
  await expect(retry(scene, work, {})).rejects.toMatchObject({ code: 'reason_required' })
  const first = await retry(scene, work)
  const second = await retry(scene, work)
  expect([first.how, second.how]).toEqual(['resent', 'resent'])
  expect(first.workId).not.toBe(second.workId)
  expect(sent()).toEqual([id, id, id])
  expect(await states(id)).toEqual(['done', 'done', 'done'])
  expect((await world.reads.work(second.workId))!.replayOf).toBe(id)
  expect(node.log.controls.filter(({ action }) => action === 'RESENT')).toHaveLength(2)
})

test('[RV12] a delivered one whose resend was dead-lettered is sent once more by that dead letter', async () => {
  const scene = await makeScene()
  const { world, node, answer, sent } = scene
  const id = await accept(world, node)
  const work = await deliveryOf(scene, id)
  answer(answered(500))
  await retry(scene, work)
  await world.pass(5_000)
  answer(answered(204))
  await expect(retry(scene, work, {})).rejects.toMatchObject({ code: 'reason_required' })
  expect(await retry(scene, work)).toMatchObject({ how: 'replayed' })
  await world.pass(60_000)
  expect(sent()).toEqual([id, id, id])
})

test('[RV12] a skipped or cancelled one is sent', async () => {
  const scene = await makeScene([{ ...HOOK, status: 'disabled' }])
  const { world, node, states } = scene
  const skipped = await accept(world, node)
  await heard(world, node.engine.apply(T, [SOURCE, { ...HOOK, status: 'paused' }]))
  const cancelled = await accept(world, node, { kind: 'paid', id: 'd2', order: 'o2' })
  await heard(
    world,
    node.engine.deliveries.cancel(T, await deliveryOf(scene, cancelled), { reason: 'not now' }),
  )
  await heard(world, node.engine.apply(T, [SOURCE, HOOK]))
  for (const id of [skipped, cancelled])
    expect(await retry(scene, await deliveryOf(scene, id))).toMatchObject({ how: 'resent' })
  expect([await states(skipped), await states(cancelled)]).toEqual([
    ['skipped', 'done'],
    ['cancelled', 'done'],
  ])
})

test('[RV10] of two concurrent requests one succeeds, and the other gets a conflict', async () => {
  const scene = await makeScene()
  const { world, node, answer, sent } = scene
  const id = await accept(world, node)
  const work = await deliveryOf(scene, id)
  const other = await world.node({ name: 'two', documents: [SOURCE, HOOK] })
  answer(null)
  const both = [node, other].map((one) =>
    one.engine.deliveries.retry(T, work, WHY).then(
      ({ how }) => how,
      ({ code, message }) => `${code}: ${message}`,
    ),
  )
  const said = await heard(world, Promise.all(both))
  expect(said.toSorted()).toEqual([expect.stringMatching(/^conflict: wrk_.* is under way already/), 'resent'])
  // And a third request, while it is being sent.
  await expect(retry(scene, work)).rejects.toMatchObject({ code: 'conflict' })
  expect(sent()).toEqual([id, id])
})

test('[RV11] one that is being sent, waits in its lane or is paused is refused', async () => {
  const scene = await makeScene([{ ...HOOK, order: { by: 'payload.order' } }])
  const { world, node, answer } = scene
  answer(null)
  const first = await accept(world, node)
  const second = await accept(world, node, { kind: 'paid', id: 'd2', order: 'o1' })
  await expect(retry(scene, await deliveryOf(scene, first))).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('at this moment'),
  })
  await expect(retry(scene, await deliveryOf(scene, second))).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('turn'),
  })
  await heard(world, node.engine.apply(T, [SOURCE, { ...HOOK, status: 'paused' }]))
  const third = await accept(world, node, { kind: 'paid', id: 'd3', order: 'o3' })
  await expect(retry(scene, await deliveryOf(scene, third))).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('paused'),
  })
})

test('[RV13] if its subscription is removed or disabled, the error says what to do', async () => {
  const scene = await makeScene()
  const { world, node } = scene
  const id = await accept(world, node)
  const work = await deliveryOf(scene, id)
  await heard(world, node.engine.apply(T, [SOURCE, { ...HOOK, status: 'disabled' }]))
  await expect(retry(scene, work)).rejects.toMatchObject({ code: 'subscription_disabled' })
  await heard(world, node.engine.apply(T, [SOURCE]))
  await expect(retry(scene, work)).rejects.toMatchObject({
    code: 'unknown_subscription',
    next: expect.stringContaining('recover'),
  })
  await expect(retry(scene, 'wrk_none' as WorkId)).rejects.toMatchObject({ code: 'not_found' })
})

test('[RV14] deliveries are listed by subscription, state, event and time', async () => {
  const scene = await makeScene([
    { ...PATIENT, order: { by: 'payload.order' } },
    { ...HOOK, name: 'other', url: 'https://other.example/' },
  ])
  const { world, node, answer } = scene
  const done = await accept(world, node, { kind: 'paid', id: 'd0', order: 'o0' })
  await world.pass(1_000)
  const from = world.now()
  answer(answered(500))
  const ids: EventId[] = []
  for (let index = 1; index <= 4; index += 1)
    ids.push(await accept(world, node, { kind: 'paid', id: `d${index}`, order: 'o1' }))
  const list = async (filter: object, limit = 50) => {
    const found: string[] = []
    let cursor: string | null = null
    do {
      const page = await node.engine.deliveries.list(T, filter, { cursor, limit })
      expect(page.items.length).toBeLessThanOrEqual(limit)
      found.push(...page.items.map(({ work }) => work.eventId))
      cursor = page.nextCursor
    } while (cursor !== null)
    return found
  }
  expect(await list({ subscription: 'crm' })).toEqual([...ids.toReversed(), done])
  expect(await list({ subscription: 'crm', from })).toEqual(ids.toReversed())
  expect(await list({ subscription: 'crm', state: 'delivered' })).toEqual([done])
  expect(await list({ subscription: 'crm', state: 'retrying' })).toEqual([ids[0]])
  for (const limit of [1, 2, 50])
    expect(await list({ subscription: 'crm', state: 'pending' }, limit)).toEqual(ids.slice(1).toReversed())
  expect(await list({ state: 'dead-lettered' }, 2)).toEqual(ids.toReversed())
  expect(await list({ eventId: done })).toEqual([done, done])
  expect(await list({ eventId: done, subscription: 'other' })).toEqual([done])
  await expect(node.engine.deliveries.list(T, {}, { cursor: 'x', limit: 1 })).rejects.toMatchObject({
    code: 'invalid_cursor',
  })
})

test.each([
  [503, 'dead'],
  [504, 'ready'],
] as const)('[T10] a delivery that retries timeouts only is %i and then %s', async (status, state) => {
  const retry = { ...PATIENT.retry, retryOn: ['timeout' as const] }
  const scene = await makeScene([{ ...PATIENT, retry }])
  const { world, node, answer } = scene
  answer(answered(status))
  const work = await deliveryOf(scene, await accept(world, node))
  expect(await world.reads.work(work)).toMatchObject({ state, attempts: 1 })
})
