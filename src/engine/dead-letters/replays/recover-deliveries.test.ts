// What a subscription has missed: found, sent, and never duplicated.

import { expect, test } from 'vitest'
import { accept, answered, SOURCE } from '../../engine.fixture.ts'
import { findReplay, HOOK, heard, keepEvents, makeScene, PATIENT, type Scene, T } from './recovery.fixture.ts'
import type { DeliveriesFilter } from './replay-record.ts'

/** From start to end. */
async function recover(scene: Scene, filter: DeliveriesFilter = ALL, more: { perSecond?: number } = {}) {
  const { world, node } = scene
  const { id } = await heard(world, node.engine.replays.beginDeliveries(T, filter, { reason: 'r', ...more }))
  await world.pass(10_000)
  return findReplay(node, id)
}

const ALL = { subscription: 'crm', since: 0, what: 'all' } as const

test('[RV1] [RV3] failed deliveries are replayed, unsent ones are sent, delivered ones stay', async () => {
  const { world, node, answer, sent, states } = await makeScene()
  const good = await accept(world, node, { kind: 'paid', id: 'd1', order: 'o1' })
  answer(answered(500))
  const dead = await accept(world, node, { kind: 'paid', id: 'd2', order: 'o2' })
  await world.pass(5_000)
  const [never] = await keepEvents(world, 1)
  const other = await keepEvents(world, 1, { subject: 'elsewhere.thing' })
  answer(answered(204))
  expect([await states(good), await states(dead), await states(never!)]).toEqual([['done'], ['dead'], []])
  const before = world.calls.length
  const preview = await heard(world, node.engine.replays.previewDeliveries(T, ALL))
  expect(preview).toMatchObject({
    totals: { failed: 1, missing: 1, delivered: 1, 'under-way': 0 },
    recovered: 2,
    isComplete: true,
  })
  expect(preview.items.map(({ eventId, verdict }) => [eventId, verdict])).toEqual([
    [dead, 'failed'],
    [never, 'missing'],
  ])
  expect(world.calls).toHaveLength(before)
  const begun = await heard(
    world,
    node.engine.replays.beginDeliveries(T, ALL, { actor: 'anna', reason: 'it is back' }),
  )
  await world.pass(10_000)
  expect(await findReplay(node, begun.id)).toMatchObject({
    of: 'deliveries',
    state: 'done',
    total: 2,
    replayed: 2,
    refused: 0,
    walk: { left: 1 },
  })
  expect(sent().slice(before)).toEqual([dead, never])
  expect(await states(dead)).toEqual(['dead', 'done'])
  expect(await states(never!)).toEqual(['done'])
  expect(await states(other[0]!)).toEqual([])
  expect((await world.reads.deadLetters({ cursor: null, limit: 9 })).items[0]?.state).toBe('resolved')
})

test('[RV3] only failed ones, and only unsent ones', async () => {
  const scene = await makeScene()
  const { world, node, answer, states } = scene
  answer(answered(500))
  const dead = await accept(world, node)
  await world.pass(5_000)
  const [never] = await keepEvents(world, 1)
  answer(answered(204))
  expect(await recover(scene, { ...ALL, what: 'missing' })).toMatchObject({ replayed: 1, walk: { left: 0 } })
  expect([await states(dead), await states(never!)]).toEqual([['dead'], ['done']])
  expect(await recover(scene, { ...ALL, what: 'failed' })).toMatchObject({ replayed: 1 })
  expect(await states(dead)).toEqual(['dead', 'done'])
  // There is nothing left to do, and nothing is done.
  const calls = world.calls.length
  expect(await recover(scene)).toMatchObject({ state: 'done', total: 0, replayed: 0, walk: { left: 2 } })
  expect(world.calls).toHaveLength(calls)
})

test('[RV3] deliveries skipped while it was disabled, or cancelled, were never sent', async () => {
  const scene = await makeScene()
  const { world, node, states } = scene
  await heard(world, node.engine.apply(T, [SOURCE, { ...HOOK, status: 'disabled' }]))
  const skipped = await accept(world, node)
  await heard(world, node.engine.apply(T, [SOURCE, { ...HOOK, status: 'paused' }]))
  const cancelled = await accept(world, node, { kind: 'paid', id: 'd2', order: 'o2' })
  const [work] = await world.reads.workOfEvent(cancelled)
  await heard(world, node.engine.deliveries.cancel(T, work!.id, { reason: 'not now' }))
  expect([await states(skipped), await states(cancelled)]).toEqual([['skipped'], ['cancelled']])
  await heard(world, node.engine.apply(T, [SOURCE, HOOK]))
  expect(await recover(scene)).toMatchObject({ replayed: 2 })
  expect([await states(skipped), await states(cancelled)]).toEqual([
    ['skipped', 'done'],
    ['cancelled', 'done'],
  ])
})

test('[RV1] since and until refer to when events were received; later events are not part of it', async () => {
  const scene = await makeScene()
  const { world, node, states } = scene
  const early = await keepEvents(world, 3)
  await world.pass(1_000)
  const since = world.now()
  const [first] = await keepEvents(world, 1)
  await world.pass(1_000)
  const until = world.now()
  const [late] = await keepEvents(world, 1)
  expect(await recover(scene, { ...ALL, since, until })).toMatchObject({ replayed: 1 })
  expect(await states(first!)).toEqual(['done'])
  expect([await states(early[2]!), await states(late!)]).toEqual([[], []])
  const begun = await heard(world, node.engine.replays.beginDeliveries(T, { ...ALL, since }, {}), 0)
  expect(begun).toMatchObject({ filter: { until: expect.any(Number) } })
})

test('[RV1] the deployed condition selects; one that cannot be evaluated creates a dead letter', async () => {
  const where = 'payload.amount > 10'
  const scene = await makeScene([{ ...HOOK, where }])
  const { world, states } = scene
  const data = (index: number) => [{ amount: 11 }, { amount: 9 }, { amount: 'x' }][index] ?? {}
  const ids = await keepEvents(world, 3, { data })
  expect(await recover(scene)).toMatchObject({ replayed: 2 })
  expect(await Promise.all(ids.map((id) => states(id)))).toEqual([['done'], [], ['dead']])
})

test('[RV5] an event that waits to be matched, or could not be, is left to its matching', async () => {
  const scene = await makeScene()
  const { world, node, states } = scene
  await heard(world, node.engine.apply(T, [{ ...SOURCE, status: 'paused' }, HOOK]))
  const id = await accept(world, node)
  const preview = await heard(world, node.engine.replays.previewDeliveries(T, ALL))
  expect(preview.totals).toMatchObject({ unmatched: 1, missing: 0 })
  expect(await recover(scene)).toMatchObject({ replayed: 0, walk: { left: 1 } })
  await heard(world, node.engine.apply(T, [SOURCE, HOOK]))
  await world.pass(1_000)
  expect(await states(id)).toEqual(['done'])
})

test('[RV5] an edited dead letter is replayed once, with its copy', async () => {
  const scene = await makeScene()
  const { world, node, answer, sent, states } = scene
  answer(answered(500))
  const id = await accept(world, node)
  await world.pass(5_000)
  const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
  const data = { kind: 'paid', id: 'd1', order: 'mended' }
  const { eventId } = await heard(world, node.engine.edit(T, letter!.id, { data, reason: 'typo' }))
  answer(answered(204))
  const before = world.calls.length
  expect(await recover(scene)).toMatchObject({ replayed: 1, refused: 0 })
  expect(sent().slice(before)).toEqual([eventId])
  expect([await states(id), await states(eventId)]).toEqual([['dead'], ['done']])
  expect(await recover(scene)).toMatchObject({ replayed: 0 })
})

test('[RV5] a discarded dead letter stays discarded', async () => {
  const scene = await makeScene()
  const { world, node, answer, states } = scene
  answer(answered(500))
  const id = await accept(world, node)
  await world.pass(5_000)
  const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
  await heard(world, node.engine.discard(T, letter!.id, { reason: 'never mind' }))
  answer(answered(204))
  expect(await recover(scene)).toMatchObject({ replayed: 0, walk: { left: 1 } })
  expect(await states(id)).toEqual(['dead'])
})

test('[RV6] [RV9] the count is unlimited; a preview is bounded and says so', async () => {
  const scene = await makeScene([{ ...HOOK, status: 'paused' }])
  const { world, node } = scene
  const count = 10_500
  const ids = await keepEvents(world, count)
  const preview = await heard(world, node.engine.replays.previewDeliveries(T, ALL))
  expect(preview).toMatchObject({ recovered: 2_000, walked: 2_000, isComplete: false })
  expect(preview.items).toHaveLength(50)
  expect(preview.walkedTo).not.toBeNull()
  expect(preview.oldestEventAt).not.toBeNull()
  const done = await recover(scene)
  expect(done).toMatchObject({ state: 'done', total: count, replayed: count, walk: { walked: count } })
  const { work } = await world.store.system('verification').dump()
  expect(work.map(({ eventId }) => eventId).sort()).toEqual(ids.toSorted())
})

test('[RV6] a walk over unselected events takes few commits', async () => {
  const scene = await makeScene()
  await keepEvents(scene.world, 12_000, { subject: 'elsewhere.thing' })
  const done = await recover(scene)
  expect(done).toMatchObject({ state: 'done', replayed: 0, walk: { walked: 12_000 } })
  const record = await scene.world.reads.record('replay', done!.id)
  expect(record!.version).toBeLessThan(6)
})

test('[RV7] it goes no faster than requested, nor than its subscription’s rate', async () => {
  const scene = await makeScene()
  const { world, node } = scene
  await keepEvents(world, 30)
  const options = { perSecond: 50 }
  const { id } = await heard(world, node.engine.replays.beginDeliveries(T, ALL, options), 0)
  await world.pass(100)
  expect(await findReplay(node, id)).toMatchObject({ state: 'running', replayed: 10 })
  await world.pass(200)
  expect(await findReplay(node, id)).toMatchObject({ replayed: 20 })
  await world.pass(5_000)
  const limited = await makeScene([{ ...HOOK, rateLimit: { profile: null, perMinute: 600, burst: 1 } }])
  await keepEvents(limited.world, 10)
  const slow = await heard(limited.world, limited.node.engine.replays.beginDeliveries(T, ALL, {}), 0)
  await limited.world.pass(100)
  expect(await findReplay(limited.node, slow.id)).toMatchObject({ replayed: 2 })
})

test('[RV8] nothing is recovered for a disabled or unknown subscription', async () => {
  const { world, node } = await makeScene([{ ...HOOK, status: 'disabled' }])
  await keepEvents(world, 1)
  const { replays } = node.engine
  await expect(heard(world, replays.beginDeliveries(T, ALL, {}))).rejects.toMatchObject({
    code: 'subscription_disabled',
  })
  // A preview is still allowed.
  expect(await heard(world, replays.previewDeliveries(T, ALL))).toMatchObject({ recovered: 1 })
  const nobody = { ...ALL, subscription: 'nobody' }
  await expect(heard(world, replays.beginDeliveries(T, nobody, {}))).rejects.toMatchObject({
    code: 'unknown_subscription',
  })
  const ahead = { ...ALL, since: world.now() + 10_000 }
  await expect(heard(world, replays.previewDeliveries(T, ahead))).rejects.toMatchObject({
    code: 'invalid_request',
  })
  await heard(world, node.engine.apply(T, [SOURCE, HOOK]))
  const empty = { ...ALL, since: 5, until: 10 }
  await expect(heard(world, replays.beginDeliveries(T, empty, {}))).rejects.toMatchObject({
    code: 'nothing_to_recover',
  })
})

test('[RV8] it waits while its subscription is disabled, and ends with its subscription', async () => {
  const { world, node } = await makeScene()
  await keepEvents(world, 30)
  const begin = () => node.engine.replays.beginDeliveries(T, ALL, { perSecond: 50 })
  const { id } = await heard(world, begin(), 0)
  await heard(world, node.engine.apply(T, [SOURCE, { ...HOOK, status: 'disabled' }]))
  const { replayed } = (await findReplay(node, id))!
  expect(replayed).toBeLessThan(30)
  await world.pass(20_000)
  expect(await findReplay(node, id)).toMatchObject({ state: 'running', replayed })
  await heard(world, node.engine.apply(T, [SOURCE, HOOK]))
  await world.pass(20_000)
  expect(await findReplay(node, id)).toMatchObject({ state: 'done', replayed: 30 })
  await keepEvents(world, 30)
  const second = await heard(world, begin(), 0)
  await heard(world, node.engine.apply(T, [SOURCE]))
  await world.pass(20_000)
  expect(await findReplay(node, second.id)).toMatchObject({ state: 'cancelled' })
})

test('[RV16] ordered deliveries are sent in the order of the events', async () => {
  const scene = await makeScene([{ ...HOOK, order: { by: 'payload.customer' } }])
  const { world, node, answer, sent } = scene
  answer(answered(500))
  const first = await accept(world, node, { kind: 'paid', id: 'd1', order: 'o1', customer: 'a' })
  await world.pass(5_000)
  answer(answered(204))
  const ids = await keepEvents(world, 250, { data: (index) => ({ customer: index % 2 === 0 ? 'a' : 'b' }) })
  const before = world.calls.length
  expect(await recover(scene)).toMatchObject({ state: 'done', replayed: 251 })
  await world.pass(60_000)
  const order = sent().slice(before)
  const of = (rest: number) => ids.filter((_, index) => index % 2 === rest)
  expect(order.filter((id) => of(0).includes(id as (typeof ids)[number]) || id === first)).toEqual([
    first,
    ...of(0),
  ])
  expect(order.filter((id) => of(1).includes(id as (typeof ids)[number]))).toEqual(of(1))
})

test('[RV17] stops when it is cancelled', async () => {
  const { world, node } = await makeScene()
  await keepEvents(world, 30)
  const { id } = await heard(world, node.engine.replays.beginDeliveries(T, ALL, { perSecond: 50 }), 0)
  await heard(world, node.engine.replays.cancel(T, id, { reason: 'enough' }))
  const { replayed } = (await findReplay(node, id))!
  expect(replayed).toBeLessThan(30)
  await world.pass(20_000)
  expect(await findReplay(node, id)).toMatchObject({ state: 'cancelled', replayed })
  expect(world.calls).toHaveLength(replayed)
})

test('[RV1] a subscription gets events from before it existed', async () => {
  const scene = await makeScene([])
  const { world, node, sent } = scene
  const ids = [await accept(world, node), await accept(world, node, { kind: 'paid', id: 'd2', order: 'o2' })]
  expect((await world.reads.event(ids[0]!))!.matched).toBe(0)
  await heard(world, node.engine.apply(T, [SOURCE, HOOK]))
  expect(await recover(scene)).toMatchObject({ replayed: 2 })
  expect(sent()).toEqual(ids)
  // The event is matched now.
  expect((await world.reads.event(ids[0]!))!.matched).toBe(1)
  expect(node.log.controls.filter(({ action }) => action === 'RECOVERED')).toHaveLength(2)
})

test('[RP2] dead letters of a subscription are replayed by consumer, class, reason and time of death', async () => {
  const { world, node, answer, states } = await makeScene()
  answer(answered(500))
  const early = await accept(world, node, { kind: 'paid', id: 'd1', order: 'o1' })
  await world.pass(30_000)
  const from = world.now()
  const late = await accept(world, node, { kind: 'paid', id: 'd2', order: 'o2' })
  await world.pass(30_000)
  answer(answered(204))
  const filter = {
    consumer: 'subscription:crm',
    class: 'transient',
    reason: 'cap_reached',
    from,
    to: world.now(),
  } as const
  const preview = await heard(world, node.engine.replays.preview(T, filter, { force: false }))
  expect(preview).toMatchObject({ matched: 1, calls: { 'crm.example': 1 } })
  const { id } = await heard(world, node.engine.replays.begin(T, filter, { force: false }))
  await world.pass(60_000)
  expect(await findReplay(node, id)).toMatchObject({ state: 'done', replayed: 1, refused: 0 })
  expect([await states(early), await states(late)]).toEqual([['dead'], ['dead', 'done']])
})

test('[RV18] deliveries that wait for a retry are due now, and nothing else changes', async () => {
  const scene = await makeScene([PATIENT])
  const { world, node, answer, sent, states } = scene
  const good = await accept(world, node, { kind: 'paid', id: 'd1', order: 'o1' })
  answer(answered(503, { 'retry-after': '86400' }))
  const waiting = [
    await accept(world, node, { kind: 'paid', id: 'd2', order: 'o2' }),
    await accept(world, node, { kind: 'paid', id: 'd3', order: 'o3' }),
  ]
  const [never] = await keepEvents(world, 1)
  await world.pass(5_000)
  answer(answered(204))
  const before = world.calls.length
  const filter = { ...ALL, what: 'retrying' } as const
  const preview = await heard(world, node.engine.replays.previewDeliveries(T, filter))
  expect(preview).toMatchObject({ totals: { missing: 1, delivered: 1, 'under-way': 2 }, recovered: 1 })
  expect(preview.items).toMatchObject([{ eventId: waiting[0], verdict: 'under-way' }])
  expect(world.calls).toHaveLength(before)
  expect(await recover(scene, filter)).toMatchObject({ state: 'done', replayed: 1, refused: 0, total: 1 })
  // The second waited behind the pause of the endpoint, unattempted, and goes too.
  expect(sent().slice(before).toSorted()).toEqual(waiting.toSorted())
  expect(await Promise.all([good, ...waiting].map((id) => states(id)))).toEqual([
    ['done'],
    ['done'],
    ['done'],
  ])
  expect(await states(never!)).toEqual([])
  expect(node.log.controls.filter(({ action }) => action === 'RETRIED')).toHaveLength(1)
})
