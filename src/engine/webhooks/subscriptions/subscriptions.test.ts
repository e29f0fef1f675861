import { describe, expect, test } from 'vitest'
import { hashDocument, type SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import { parseJson } from '../../../core/foundation/json/index.ts'
import { answered, SOURCE } from '../../engine.fixture.ts'
import { ADA, DOCUMENTS, HOOK, makeHookWorld } from './subscriptions.fixture.ts'

const T = DEFAULT_TENANT
const page = { cursor: null, limit: 50 }

describe('created through the API', () => {
  test('[SU4] deployed with its commit: the next event is delivered, signed by the secret that was shown', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    const secret = await world.create(node)
    expect(secret).toMatch(/^whsec_/)
    await world.pay(node)
    expect(world.calls.map(({ request }) => request.url)).toEqual([HOOK.url])
    expect(world.calls[0]?.request.headers['webhook-signature']).toMatch(/^v1,/)
    const item = await world.got(node.engine.subscriptions.find(T, 'crm'))
    expect(item).toMatchObject({
      managedBy: 'api',
      status: 'active',
      createdBy: 'ada',
      hash: hashDocument(HOOK),
      secret: { from: 'generated', name: 'webhooks.crm', version: 1, oldUntil: [], isUnseen: false },
    })
    // The document that jobs are pinned to can always be looked up.
    expect(await world.got(world.reads.record('definition', hashDocument(HOOK)))).not.toBeNull()
  })

  test('[SU4] other nodes have it by their next check, and a node that starts later at its start', async () => {
    const world = makeHookWorld()
    const one = await world.node({ documents: DOCUMENTS })
    const two = await world.node({ name: 'two', documents: DOCUMENTS })
    await world.create(one)
    await world.pay(two)
    expect(world.calls).toHaveLength(0)
    await world.pass(5_000)
    await world.pay(two)
    expect(world.calls.map(({ node }) => node)).toEqual(['two'])
    const three = await world.node({ name: 'three', documents: DOCUMENTS })
    await world.pay(three)
    expect(world.calls.at(-1)?.node).toBe('three')
    await world.got(two.engine.subscriptions.remove(T, 'crm', ADA))
    await world.pass(5_000)
    await world.pay(one)
    expect(world.calls).toHaveLength(2)
  })

  test('[SU4] numbers in it are stored digit for digit', async () => {
    const world = makeHookWorld()
    const one = await world.node({ documents: DOCUMENTS })
    const transform = parseJson('{"v":1.000000000000000001,"n":12345678901234567890}')
    await world.create(one, { transform })
    const two = await world.node({ name: 'two', documents: DOCUMENTS })
    const item = await world.got(two.engine.subscriptions.find(T, 'crm'))
    expect(item.document.transform).toStrictEqual(transform)
    expect(item.hash).toBe(hashDocument({ ...HOOK, transform }))
    await world.pay(two)
    expect(world.calls[0]?.request.body).toContain('"v":1.000000000000000001,"n":12345678901234567890')
  })

  test('[SU28] a document that cannot be compiled is neither created nor replaces another', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    const { subscriptions } = node.engine
    const broken = { document: { ...HOOK, where: 'payload.(' }, written: '{}' }
    expect(await world.refusal(subscriptions.create(T, broken, ADA))).toBe('subscription_invalid')
    expect(await world.refusal(subscriptions.find(T, 'crm'))).toBe('unknown_subscription')
    await world.create(node)
    expect(await world.refusal(subscriptions.patch(T, 'crm', broken, ADA))).toBe('subscription_invalid')
    expect((await world.got(subscriptions.find(T, 'crm'))).hash).toBe(hashDocument(HOOK))
  })

  test('[SU3] a node that missed many changes reads all; one that missed few reads those', async () => {
    const world = makeHookWorld()
    const one = await world.node({ documents: DOCUMENTS })
    for (let index = 0; index < 3; index += 1) await world.create(one, { name: `hook-${index}` })
    const two = await world.node({ name: 'two', documents: DOCUMENTS })
    for (let index = 3; index < 80; index += 1) await world.create(one, { name: `hook-${index}` })
    await world.got(one.engine.subscriptions.remove(T, 'hook-0', ADA))
    await world.pass(5_000)
    const { items, nextCursor } = await world.got(two.engine.subscriptions.list(T, { ...page, limit: 100 }))
    expect(items).toHaveLength(79)
    expect(nextCursor).toBeNull()
    await world.got(one.engine.subscriptions.pause(T, 'hook-7', ADA))
    expect((await world.got(two.engine.subscriptions.find(T, 'hook-7'))).status).toBe('paused')
  })

  test('[SU2] the writes of creating one do not grow with the number of subscriptions', async () => {
    const world = makeHookWorld()
    const sizes: number[] = []
    const node = await world.node({
      documents: DOCUMENTS,
      faults: {
        commit(commit, pass) {
          if (commit.writes.some(({ w }) => w === 'record.put')) sizes.push(JSON.stringify(commit).length)
          return pass()
        },
      },
    })
    for (let index = 100; index < 300; index += 1) await world.create(node, { name: `hook-${index}` })
    // Numbers may have a digit more or less.
    expect(Math.abs((sizes.at(-1) ?? 0) - (sizes.at(-80) ?? 0))).toBeLessThan(10)
  })

  test('[SU5] a name belongs to one subscription, of the API or of the definitions', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: [SOURCE, { ...HOOK, name: 'folder' }] })
    await world.create(node)
    expect(await world.refusal(world.create(node))).toBe('name_taken')
    expect(await world.refusal(world.create(node, { name: 'folder' }))).toBe('name_taken')
    const before = await world.got(node.engine.definitions.list(T))
    expect(await world.refusal(node.engine.apply(T, [SOURCE, HOOK]))).toBe('name_taken')
    expect(await world.got(node.engine.definitions.list(T))).toEqual(before)
  })

  test('[SU5] [SU1] of two nodes that create the same name at the same moment one gets an error', async () => {
    const world = makeHookWorld()
    const one = await world.node({ documents: DOCUMENTS })
    const two = await world.node({ name: 'two', documents: DOCUMENTS })
    const given = { document: HOOK, written: '{}' }
    const tries = await world.got(
      Promise.allSettled([one, two].map(({ engine }) => engine.subscriptions.create(T, given, ADA))),
    )
    expect(tries.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    // The request whose response has the secret created the subscription that signs.
    const shown = tries.flatMap((one) => (one.status === 'fulfilled' ? one.value.secret : []))
    expect(shown).toHaveLength(1)
    expect((await world.got(one.engine.subscriptions.find(T, 'crm'))).secret.version).toBe(1)
  })

  test('[SU5] if one is created while another node applies its name, one of the two is refused, whichever comes first', async () => {
    for (const isMadeFirst of [true, false]) {
      const world = makeHookWorld()
      const one = await world.node({ documents: DOCUMENTS })
      const two = await world.node({ name: 'two', documents: DOCUMENTS })
      const make = () => one.engine.subscriptions.create(T, { document: HOOK, written: '{}' }, ADA)
      const apply = () => two.engine.apply(T, [SOURCE, HOOK])
      const tries = await world.got(
        Promise.allSettled((isMadeFirst ? [make, apply] : [apply, make]).map((start) => start())),
      )
      expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      const items = await world.got(two.engine.subscriptions.list(T, page))
      expect(items.items.map(({ name }) => name)).toEqual(['crm'])
    }
  })

  test('[SU1] of two patches made from the same document one wins, and the other gets a conflict', async () => {
    const world = makeHookWorld()
    const one = await world.node({ documents: DOCUMENTS })
    const two = await world.node({ name: 'two', documents: DOCUMENTS })
    await world.create(one)
    const patchOf = (url: string) => ({
      document: { ...HOOK, url },
      written: '{}',
      base: hashDocument(HOOK),
    })
    const tries = await world.got(
      Promise.allSettled([
        one.engine.subscriptions.patch(T, 'crm', patchOf('https://one.example/'), ADA),
        two.engine.subscriptions.patch(T, 'crm', patchOf('https://two.example/'), ADA),
      ]),
    )
    const lost = tries.find(({ status }) => status === 'rejected') as PromiseRejectedResult
    expect(lost.reason).toMatchObject({ code: 'conflict' })
    const won = tries.find(({ status }) => status === 'fulfilled') as PromiseFulfilledResult<{
      item: { document: SubscriptionDocument }
    }>
    const { url } = won.value.item.document
    for (const { engine } of [one, two])
      expect((await world.got(engine.subscriptions.find(T, 'crm'))).document.url).toBe(url)
  })

  test('[SU20] waiting deliveries go to the patched address; a new signing method has a new secret', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    await world.create(node)
    world.answer(answered(503))
    await world.pay(node)
    const { subscriptions } = node.engine
    const other = { ...HOOK, url: 'https://new.example/' }
    await world.got(subscriptions.patch(T, 'crm', { document: other, written: '{}' }, ADA))
    world.answer(answered(204))
    await world.pass(60_000)
    expect(world.calls.map(({ request }) => request.url)).toEqual([HOOK.url, other.url])
    const keys = { ...other, signing: 'ed25519' as const }
    const { secret } = await world.got(subscriptions.patch(T, 'crm', { document: keys, written: '{}' }, ADA))
    expect(secret).toMatch(/^whsk_/)
    await world.pay(node)
    expect(world.calls.at(-1)?.request.headers['webhook-signature']).toMatch(/^v1a,\S+ v1,\S+$/)
    expect(await world.got(subscriptions.publicKeys(T, 'crm'))).toEqual([
      { id: expect.any(String), algorithm: 'ed25519', key: expect.stringMatching(/^whpk_/) },
    ])
    const renamed = { document: { ...HOOK, name: 'erp' }, written: '{}' }
    expect(await world.refusal(subscriptions.patch(T, 'crm', renamed, ADA))).toBe('invalid_request')
  })

  test('[SU20] a newly declared status counts; an unchanged one leaves the stored status', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    const { subscriptions } = node.engine
    await world.create(node)
    await world.got(subscriptions.pause(T, 'crm', ADA))
    const patch = (document: Partial<SubscriptionDocument>) =>
      world.got(subscriptions.patch(T, 'crm', { document: { ...HOOK, ...document }, written: '{}' }, ADA))
    expect((await patch({ description: 'other' })).item.status).toBe('paused')
    expect((await patch({ status: 'disabled' })).item.status).toBe('disabled')
    expect((await patch({ status: 'active' })).item.status).toBe('active')
  })

  test('[SU18] lists by name, status and text, with the health of each', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    const { subscriptions } = node.engine
    await world.create(node, { name: 'b', metadata: { team: 'Sales' } })
    await world.create(node, { name: 'a', on: ['other.*'] })
    await world.create(node, { name: 'c', url: 'https://down.example/' })
    world.answer(({ url }) => answered(url.includes('down') ? 500 : 204))
    await world.pay(node)
    const names = async (query: object) =>
      (await world.got(subscriptions.list(T, { ...page, ...query }))).items.map(({ name }) => name)
    expect(await names({})).toEqual(['a', 'b', 'c'])
    expect(await names({ q: 'sales' })).toEqual(['b'])
    const first = await world.got(subscriptions.list(T, { cursor: null, limit: 2 }))
    expect(first.nextCursor).not.toBeNull()
    expect(await names({ cursor: first.nextCursor })).toEqual(['c'])
    await world.got(subscriptions.pause(T, 'a', ADA))
    expect(await names({ status: 'paused' })).toEqual(['a'])
    expect((await world.got(subscriptions.find(T, 'b'))).health).toMatchObject({
      lastDeliveredAt: world.now(),
      lastFailedAt: null,
      recent: { delivered: 1, failed: 0 },
      waiting: 0,
      isCapped: false,
    })
    expect((await world.got(subscriptions.find(T, 'c'))).health).toMatchObject({
      lastDeliveredAt: null,
      lastFailedAt: world.now(),
      recent: { delivered: 0, failed: 1 },
      waiting: 1,
    })
    expect(await world.refusal(subscriptions.find(T, 'none'))).toBe('unknown_subscription')
  })
})

describe('of definitions', () => {
  const defined = [SOURCE, HOOK]

  test('[SU6] its state survives an apply, a restart, and its removal and return', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: defined })
    await world.got(node.engine.subscriptions.pause(T, 'crm', ADA))
    await world.got(node.engine.apply(T, [SOURCE, { ...HOOK, description: 'other' }]))
    const status = async (one = node) => (await world.got(one.engine.subscriptions.find(T, 'crm'))).status
    expect(await status()).toBe('paused')
    const two = await world.node({ name: 'two', documents: defined })
    expect(await status(two)).toBe('paused')
    await world.pay(two)
    expect(world.calls).toHaveLength(0)
    await world.got(two.engine.apply(T, [SOURCE]))
    expect(await world.refusal(two.engine.subscriptions.find(T, 'crm'))).toBe('unknown_subscription')
    await world.got(two.engine.apply(T, defined))
    expect(await status(two)).toBe('paused')
    await world.got(two.engine.subscriptions.resume(T, 'crm', ADA))
    await world.pay(two)
    expect(world.calls).toHaveLength(1)
  })

  test('[SU11] its generated secret exists before it is deployed, made once by however many nodes, and shown once', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: defined })
    const two = await world.node({ name: 'two', documents: defined })
    await world.pay(node)
    expect(world.calls[0]?.request.headers['webhook-signature']).toMatch(/^v1,/)
    const { secret } = await world.got(two.engine.subscriptions.find(T, 'crm'))
    expect(secret).toEqual({
      from: 'generated',
      name: 'webhooks.crm',
      version: 1,
      oldUntil: [],
      isUnseen: true,
    })
    const shown = await world.got(two.engine.subscriptions.revealSecret(T, 'crm', ADA))
    expect(shown.secret).toMatch(/^whsec_/)
    expect(await world.refusal(node.engine.subscriptions.revealSecret(T, 'crm', ADA))).toBe('secret_shown')
    await world.node({ name: 'three', documents: defined })
    expect((await world.got(node.engine.subscriptions.find(T, 'crm'))).secret).toMatchObject({
      version: 1,
      isUnseen: false,
    })
  })

  test('[SU17] are changed in their definitions, and paused as subscriptions', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: defined })
    const { subscriptions, definitions } = node.engine
    const patch = subscriptions.patch(T, 'crm', { document: HOOK, written: '{}' }, ADA)
    expect(await world.refusal(patch)).toBe('managed_by_folder')
    expect(await world.refusal(subscriptions.remove(T, 'crm', ADA))).toBe('managed_by_folder')
    const said = { by: 'ada', reason: null }
    const paused = definitions.control(T, 'Subscription', 'crm', 'pause', said)
    await expect(world.got(paused)).rejects.toThrow(/\/v1\/webhooks\/subscriptions/)
  })
})
