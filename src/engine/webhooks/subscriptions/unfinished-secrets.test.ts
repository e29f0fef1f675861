import { expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import { MINUTE, SECOND } from '../../../core/foundation/time/index.ts'
import { answered } from '../../engine.fixture.ts'
import { ADA, DOCUMENTS, HOOK, makeHookWorld } from './subscriptions.fixture.ts'

type World = ReturnType<typeof makeHookWorld>

const never = () => new Promise<never>(() => {})

/** The vault stores nothing while `during` runs, as if the node crashed before it asked. */
async function withoutVault(world: World, during: () => Promise<void>): Promise<void> {
  const { set } = world.vault
  world.vault.set = never
  await during()
  world.vault.set = set
}

const deliveries = async (world: World) => {
  const page = { consumer: 'subscription:crm', cursor: null, limit: 10 }
  const { items } = await world.got(world.reads.workList(page))
  return items.map(({ state, attempts }) => ({ state, attempts }))
}

test('[SU24] one whose node crashed before its secret was made gets one soon after, also when the next node starts at once', async () => {
  const world = makeHookWorld()
  const a = await world.node({ name: 'a', documents: DOCUMENTS })
  await withoutVault(world, async () => {
    void a.engine.subscriptions.create(DEFAULT_TENANT, { document: HOOK, written: '{}' }, ADA).catch(() => {})
    await world.pass(SECOND)
    a.crash()
  })
  await world.pass(20 * SECOND)
  const b = await world.node({ name: 'b', documents: DOCUMENTS })
  await world.pay(b)
  await world.pass(10 * MINUTE)
  const { secret } = await world.got(b.engine.subscriptions.find(DEFAULT_TENANT, 'crm'))
  expect(secret).toMatchObject({ from: 'generated', version: 1, isUnseen: true })
  expect((await deliveries(world)).map(({ state }) => state)).toEqual(['done'])
})

test('[SU24] one whose node crashed between a patch of its signing method and the new secret signs the new way', async () => {
  const world = makeHookWorld()
  const a = await world.node({ name: 'a', documents: DOCUMENTS })
  await world.create(a)
  await withoutVault(world, async () => {
    const document = { ...HOOK, signing: 'ed25519' as const }
    void a.engine.subscriptions.patch(DEFAULT_TENANT, 'crm', { document, written: '{}' }, ADA).catch(() => {})
    await world.pass(SECOND)
    a.crash()
  })
  await world.pass(10 * MINUTE)
  const b = await world.node({ name: 'b', documents: DOCUMENTS })
  await world.pay(b)
  await world.pass(MINUTE)
  expect(await deliveries(world)).toEqual([{ state: 'done', attempts: 1 }])
  const { secret } = await world.got(b.engine.subscriptions.find(DEFAULT_TENANT, 'crm'))
  expect(secret).toMatchObject({ version: 2, isUnseen: true })
})

test('[SU26] a rotation whose node crashed before the event is emitted by another, and its secret can be revealed', async () => {
  const world = makeHookWorld()
  let isCut = false
  const a = await world.node({
    name: 'a',
    documents: DOCUMENTS,
    faults: {
      commit: (commit, pass) =>
        isCut && commit.writes.some((one) => one.w === 'record.put' && one.kind === 'subscription')
          ? never()
          : pass(),
    },
  })
  await world.create(a)
  const { set } = world.vault
  world.vault.set = async (...args) => {
    const done = await set(...args)
    isCut = true
    return done
  }
  void a.engine.subscriptions.rotateSecret(DEFAULT_TENANT, 'crm', { overlapMs: 0 }, ADA).catch(() => {})
  await world.pass(SECOND)
  a.crash()
  world.vault.set = set
  const b = await world.node({ name: 'b', documents: DOCUMENTS })
  await world.pass(2 * MINUTE)
  expect((await world.emitted()).filter((subject) => subject === 'webhook.secret.rotated')).toHaveLength(1)
  const shown = await world.got(b.engine.subscriptions.revealSecret(DEFAULT_TENANT, 'crm', ADA))
  expect(shown.version).toBe(2)
  // Emitted and seen: the next check finds nothing to fix.
  await world.pass(5 * MINUTE)
  expect((await world.emitted()).filter((subject) => subject === 'webhook.secret.rotated')).toHaveLength(1)
})

test('[SU26] a rotation that did not happen leaves the secret unchanged', async () => {
  const world = makeHookWorld()
  const a = await world.node({ name: 'a', documents: DOCUMENTS })
  await world.create(a)
  await withoutVault(world, async () => {
    void a.engine.subscriptions.rotateSecret(DEFAULT_TENANT, 'crm', {}, ADA).catch(() => {})
    await world.pass(SECOND)
    a.crash()
  })
  const b = await world.node({ name: 'b', documents: DOCUMENTS })
  await world.pass(2 * MINUTE)
  const { secret } = await world.got(b.engine.subscriptions.find(DEFAULT_TENANT, 'crm'))
  expect(secret).toMatchObject({ version: 1, isUnseen: false })
  expect(await world.emitted()).not.toContain('webhook.secret.rotated')
})

test('[SU27] keys of the former signing method are published while they sign', async () => {
  const world = makeHookWorld()
  const a = await world.node({ name: 'a', documents: DOCUMENTS })
  await world.create(a, { signing: 'ed25519' })
  const { subscriptions } = a.engine
  const before = await world.got(subscriptions.publicKeys(DEFAULT_TENANT, 'crm'))
  const document = { ...HOOK, signing: 'standard' as const }
  await world.got(subscriptions.patch(DEFAULT_TENANT, 'crm', { document, written: '{}' }, ADA))
  expect(await world.got(subscriptions.publicKeys(DEFAULT_TENANT, 'crm'))).toEqual(before)
  await world.pass(25 * 60 * MINUTE)
  expect(await world.got(subscriptions.publicKeys(DEFAULT_TENANT, 'crm'))).toBeNull()
})

test('[SU25] a node that found the marker late leaves a new subscription of the same name alone', async () => {
  const world = makeHookWorld()
  const a = await world.node({ name: 'a', documents: DOCUMENTS })
  await world.create(a)
  await world.got(a.engine.subscriptions.remove(DEFAULT_TENANT, 'crm', ADA))
  await world.pass(9 * SECOND)
  // It also begins to cancel the remaining deliveries.
  await world.node({ name: 'b', documents: DOCUMENTS })
  for (let waited = 0; (await world.refusal(world.create(a))) !== 'it was not refused'; waited += 1) {
    expect(waited).toBeLessThan(60)
    await world.pass(SECOND)
  }
  world.answer(answered(500))
  await world.pay(a)
  const before = await world.got(a.engine.subscriptions.find(DEFAULT_TENANT, 'crm'))
  await world.pass(20 * SECOND)
  const after = await world.got(a.engine.subscriptions.find(DEFAULT_TENANT, 'crm'))
  expect([before.secret.version, after.secret.version]).toEqual([1, 1])
  expect((await deliveries(world)).map(({ state }) => state)).not.toContain('cancelled')
})
