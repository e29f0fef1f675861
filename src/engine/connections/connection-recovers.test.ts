// End to end with the engine's own credentials: an account stops accepting its secret, the secret is rotated, and the jobs
// continue.
import { expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { accept, answered, CREATED, makeWorld, PAID, workOf } from '../engine.fixture.ts'
import { documents, WELL } from './connections.fixture.ts'

test('[DR6] [CX6] a refused secret is rotated, verified and promoted; waiting jobs continue by themselves, in one timeline', async () => {
  let good = 'sk-the-first-one'
  const world = makeWorld((request) => {
    if (request.headers.authorization !== `Bearer ${good}`) return answered(401)
    return request.url.endsWith('/me') ? WELL : CREATED
  })
  await world.vault.set(DEFAULT_TENANT, 'shop_key', good, { isPending: false, by: 'ops' })
  const node = await world.node({ documents: documents() })
  await world.pass(1_000)
  const { integrations } = node.engine
  const stateOf = async () => (await integrations.connection(DEFAULT_TENANT, 'shop')).state
  expect(await stateOf()).toMatchObject({ status: 'active' })
  const first = await accept(world, node)
  await world.pass(1_000)
  expect(await workOf(world, first)).toMatchObject({ state: 'done' })

  good = 'sk-the-second-one'
  const refused = await accept(world, node, { ...PAID, id: 'd2', order: 'o2' })
  await world.pass(2_000)
  const behind = await accept(world, node, { ...PAID, id: 'd3', order: 'o3' })
  await world.pass(30_000)
  expect(await workOf(world, refused)).toMatchObject({ state: 'ready', attempts: 0 })
  expect(await workOf(world, behind)).toMatchObject({ state: 'ready', attempts: 0 })
  expect(await stateOf()).toMatchObject({ circuit: { state: 'closed' } })

  await world.vault.set(DEFAULT_TENANT, 'shop_key', good, { isPending: true, by: 'ops' })
  const supplied = integrations.supplied(DEFAULT_TENANT, 'shop_key', 'ops')
  await world.pass(60_000)
  await supplied
  for (const id of [refused, behind])
    expect(await workOf(world, id)).toMatchObject({ state: 'done', attempts: 1 })
  const event = await world.reads.event(refused)
  const story = await world.reads.events({ cursor: null, limit: 50, correlationId: event!.correlationId })
  expect(story.items.map(({ subject }) => subject)).toEqual(
    expect.arrayContaining([
      'shop.events.paid',
      'integration.credential.rotating',
      'integration.credential.rotated',
    ]),
  )
  const { items } = await world.reads.runs({ cursor: null, limit: 50 })
  expect(items.find(({ eventId }) => eventId === refused)).toMatchObject({
    state: 'completed',
    attemptCount: 2,
  })
  expect(items.some(({ purpose, state }) => purpose === 'verification' && state === 'completed')).toBe(true)
  const { events, work, runs } = await world.kept.system('verification').dump()
  const kept = JSON.stringify([events, work, runs, node.log.messages, node.log.controls])
  for (const secret of ['sk-the-first-one', 'sk-the-second-one']) expect(kept.includes(secret)).toBe(false)
})
