import { describe, expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import { DAY, HOUR, MINUTE } from '../../../core/foundation/time/index.ts'
import { answered } from '../../engine.fixture.ts'
import { ADA, DOCUMENTS, type HookWorld, makeHookWorld } from '../subscriptions/subscriptions.fixture.ts'

/** The first one first. */
async function rows(world: HookWorld) {
  const page = await world.got(
    world.reads.workList({ consumer: 'subscription:crm', cursor: null, limit: 20 }),
  )
  return page.items.toReversed()
}

async function letters(world: HookWorld) {
  return (await world.got(world.reads.deadLetters({ cursor: null, limit: 20 }))).items
}

describe('a delivery that no node could run', () => {
  test('[DY29] a delivery that waited in a pause beyond its expiry is sent, attempted before or not', async () => {
    const world = makeHookWorld()
    const first = await world.node({ name: 'a', documents: DOCUMENTS })
    await world.create(first, { maxWaitMs: DAY })
    world.answer(answered(500))
    await world.pay(first)
    await world.got(first.engine.subscriptions.pause(DEFAULT_TENANT, 'crm', ADA))
    await world.pay(first)
    first.crash()
    await world.pass(3 * DAY)
    const second = await world.node({ name: 'b', documents: DOCUMENTS })
    world.answer(answered(200))
    await world.got(second.engine.subscriptions.resume(DEFAULT_TENANT, 'crm', ADA))
    await world.pass(1 * HOUR)
    expect(await rows(world)).toMatchObject([
      { state: 'done', attempts: 2 },
      { state: 'done', attempts: 1 },
    ])
  })

  test('[DY29] a delivery that failed before its subscription was disabled has all its attempts when it is enabled', async () => {
    const world = makeHookWorld()
    const first = await world.node({ name: 'a', documents: DOCUMENTS })
    await world.create(first, { maxWaitMs: DAY })
    world.answer(answered(500))
    await world.pay(first)
    await world.got(first.engine.subscriptions.disable(DEFAULT_TENANT, 'crm', ADA))
    first.crash()
    await world.pass(3 * DAY)
    const second = await world.node({ name: 'b', documents: DOCUMENTS, config: { pollMs: 10 * MINUTE } })
    await world.got(second.engine.subscriptions.enable(DEFAULT_TENANT, 'crm', ADA))
    await world.pass(12 * HOUR)
    // It used all attempts: it did not expire before.
    expect((await letters(world)).map(({ reason, attempts }) => `${reason} ${attempts}`)).toEqual([
      'cap_reached 8',
      'cap_reached 8',
    ])
  })

  test('[DY29] a delivery that was created during the pause has its whole time from its first attempt', async () => {
    const world = makeHookWorld()
    const node = await world.node({ name: 'a', documents: DOCUMENTS, config: { pollMs: 10 * MINUTE } })
    await world.create(node, { maxWaitMs: DAY })
    await world.got(node.engine.subscriptions.pause(DEFAULT_TENANT, 'crm', ADA))
    await world.pay(node)
    const [born] = await rows(world)
    await world.pass(30 * HOUR)
    world.answer(answered(500))
    await world.got(node.engine.subscriptions.resume(DEFAULT_TENANT, 'crm', ADA))
    const [tried] = await rows(world)
    expect(tried).toMatchObject({ state: 'ready', attempts: 1 })
    expect((tried?.expiresAt ?? 0) - world.now()).toBeGreaterThanOrEqual(
      (born?.expiresAt ?? 0) - (born?.createdAt ?? 0) - MINUTE,
    )
  })

  test('[DY29] a delivery that a 429 delays beyond its expiry ends, however late its last attempt comes', async () => {
    const world = makeHookWorld()
    const first = await world.node({ name: 'a', documents: DOCUMENTS })
    await world.create(first, { maxWaitMs: 1 * HOUR })
    world.answer(answered(429, { 'retry-after': '60' }))
    await world.pay(first)
    first.crash()
    await world.pass(3 * DAY)
    await world.node({ name: 'b', documents: DOCUMENTS })
    await world.pass(1 * MINUTE)
    expect(await rows(world)).toMatchObject([{ state: 'dead', httpStatus: 429 }])
    expect(await letters(world)).toMatchObject([{ reason: 'expired' }])
  })
})

describe('a delivery that was asked to wait', () => {
  const retry = { profile: null, attempts: 5, delaysMs: [1_000, 1_000, 1_000, 1_000] }

  test('[DY31] a wait of its whole time ends nothing before its attempts are used up', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    await world.create(node, { retry, maxWaitMs: 5 * MINUTE })
    world.answer(answered(503, { 'retry-after': '300' }))
    await world.pay(node)
    await world.pass(25 * MINUTE)
    expect(await rows(world)).toMatchObject([{ state: 'dead', attempts: 5 }])
    expect(await letters(world)).toMatchObject([{ reason: 'cap_reached' }])
  })

  test('[DY31] a delivery that may not wait for long is retried sooner, instead of never', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    await world.create(node, { maxWaitMs: 1 * MINUTE })
    world.answer(answered(503, { 'retry-after': '99999999999999' }))
    await world.pay(node)
    const [row] = await rows(world)
    expect(row).toMatchObject({ state: 'ready', attempts: 1 })
    expect((row?.dueAt ?? 0) - world.now()).toBeLessThanOrEqual(1.1 * MINUTE)
    expect(row?.expiresAt).toBeGreaterThan(row?.dueAt ?? 0)
  })

  test('[DY31] the waits of a 429 count', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    await world.create(node, { retry, maxWaitMs: 5 * MINUTE })
    world.answer(answered(429, { 'retry-after': '120' }))
    await world.pay(node)
    await world.pass(10 * MINUTE)
    expect(await rows(world)).toMatchObject([{ state: 'dead' }])
    expect(await letters(world)).toMatchObject([{ reason: 'expired' }])
  })
})
