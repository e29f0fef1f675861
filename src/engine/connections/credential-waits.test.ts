// Calls that wait for a credential: how long, and what they still know afterwards.
import { expect, test } from 'vitest'
import { DAY, HOUR } from '../../core/foundation/time/index.ts'
import { accept, answered, CREATED, LOST, workOf } from '../engine.fixture.ts'
import { documents, makeManualCredentials, makeShop } from './connections.fixture.ts'

async function start(world: ReturnType<typeof makeShop>, known: Parameters<typeof documents>[0] = {}) {
  const credentials = makeManualCredentials()
  const node = await world.node({ documents: documents(known), credentials })
  await world.pass()
  credentials.next = { is: 'wait', delayMs: 1_000, why: 'it is being rotated' }
  return { node, credentials }
}

test('[R27] a refused job waits for a user who is away for longer than its time', async () => {
  const world = makeShop((_request, call) => (call === 1 ? answered(401) : CREATED))
  const { node, credentials } = await start(world, { route: { maxWaitMs: 1 * HOUR } })
  const eventId = await accept(world, node)
  const { createdAt, expiresAt } = await workOf(world, eventId)
  credentials.closed = { is: 'closed', untilAt: null, why: 'a person has to bring it' }
  expect(expiresAt - createdAt).toBeGreaterThan(2 * HOUR)
  await world.pass(1.8 * HOUR)
  expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', attempts: 0 })
  credentials.closed = null
  await world.pass(10_000)
  expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
})

test('[R27] a vendor that refuses without end is not called without end', async () => {
  const world = makeShop(() => answered(401))
  const { node, credentials } = await start(world, { route: { maxWaitMs: 1 * HOUR } })
  credentials.next = { is: 'wait', delayMs: 600_000, why: 'it is being rotated' }
  const eventId = await accept(world, node)
  await world.pass(1 * DAY)
  expect(await workOf(world, eventId)).toMatchObject({ state: 'dead', class: 'auth', attempts: 1 })
  expect(world.sent.length).toBeLessThan(40)
})

test('[R28] a repeat that is refused waits as well, and the outcome stays unknown until it is answered', async () => {
  const outcomes = [LOST, answered(401)]
  const world = makeShop((_request, call) => outcomes[call - 1] ?? CREATED)
  const { node, credentials } = await start(world, {
    operation: { idempotency: 'native', keyTtlMs: 1 * DAY },
  })
  credentials.next = { is: 'wait', delayMs: 30_000, why: 'it is being rotated' }
  const eventId = await accept(world, node)
  await world.pass(20_000)
  expect(world.sent).toHaveLength(2)
  const { key, ...waiting } = await workOf(world, eventId)
  expect(waiting).toMatchObject({ state: 'ready', attempts: 1, lastError: 'it is being rotated' })
  expect(await world.reads.ledger(key ?? '')).toMatchObject({ state: 'unknown' })
  await world.pass(30_000)
  expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 2 })
  expect(world.sent).toHaveLength(3)
})
