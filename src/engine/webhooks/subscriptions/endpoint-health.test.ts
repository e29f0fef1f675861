import { describe, expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import { DAY, MINUTE, SECOND } from '../../../core/foundation/time/index.ts'
import { signDelivery } from '../../../core/webhooks/signing/index.ts'
import type { HttpOutcome, HttpRequest } from '../../../ports/http-client.ts'
import { answered, type Node, SOURCE } from '../../engine.fixture.ts'
import { ADA, DOCUMENTS, HOOK, type HookWorld, makeHookWorld } from './subscriptions.fixture.ts'

const T = DEFAULT_TENANT
const CONSUMER = 'subscription:crm'

async function openOf(world: HookWorld, consumer = CONSUMER) {
  const [count] = await world.got(world.reads.openCounts([consumer], 1_000))
  return (count?.ready ?? 0) + (count?.waiting ?? 0) + (count?.leased ?? 0)
}

/** Payments that an endpoint refuses, one each half minute. */
async function failFor(world: HookWorld, node: Node, ms: number) {
  for (let passed = 0; passed < ms; passed += MINUTE / 2) {
    await world.pay(node)
    await world.pass(MINUTE / 2)
  }
}

let lives = 0

/** The node stops, and another one starts after that time: this makes days pass quickly. */
async function later(world: HookWorld, node: Node, ms: number): Promise<Node> {
  lives += 1
  node.crash()
  await world.pass(ms)
  return world.node({ name: `life-${lives}`, documents: DOCUMENTS })
}

/** The signature by this secret alone. */
function signatureOf(secret: string, { headers, body }: HttpRequest): string | undefined {
  const id = headers['webhook-id'] ?? ''
  const timestamp = Number(headers['webhook-timestamp'])
  const signed = signDelivery({ signing: 'standard', secrets: [secret], id, timestamp, body: body ?? '' })
  return signed['webhook-signature']
}

describe('an endpoint that fails', () => {
  test('[SU12] a healthy endpoint writes nothing of its own, nor does a failed attempt that changes nothing', async () => {
    const world = makeHookWorld()
    let writes = 0
    const node = await world.node({
      documents: DOCUMENTS,
      faults: {
        commit(commit, pass) {
          if (commit.writes.some((one) => one.w === 'record.put' && one.kind === 'subscription')) writes += 1
          return pass()
        },
      },
    })
    await world.create(node)
    expect(writes).toBe(1)
    for (let index = 0; index < 5; index += 1) await world.pay(node)
    world.answer(answered(500))
    for (let index = 0; index < 4; index += 1) await world.pay(node)
    expect(writes).toBe(1)
    await world.pay(node)
    expect(writes).toBe(2)
  })

  test('[SU13] is failing after five failed attempts in a row, and recovers by one success: each change is emitted in its commit', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    await world.create(node, { url: 'https://crm.example/hooks?token=abc' })
    world.answer(answered(500))
    for (let index = 0; index < 5; index += 1) await world.pay(node)
    const { subscriptions } = node.engine
    const failing = await world.got(subscriptions.find(T, 'crm'))
    expect(failing).toMatchObject({ status: 'failing', disableAt: world.now() + 5 * DAY })
    const [emitted] = await world.emittedData('webhook.subscription.failing')
    expect(emitted).toMatchObject({ subscription: 'crm', url: 'https://crm.example', warning: 0 })
    world.answer(answered(204))
    await world.pay(node)
    await world.pass(MINUTE)
    expect((await world.got(subscriptions.find(T, 'crm'))).status).toBe('active')
    expect((await world.emitted()).filter((subject) => subject.startsWith('webhook.'))).toEqual([
      'webhook.subscription.failing',
      'webhook.subscription.recovered',
    ])
  })

  test('[SU13] [SU19] warns three times, each once, and disables itself after five days without a success, across nodes', async () => {
    const world = makeHookWorld()
    let node = await world.node({ documents: DOCUMENTS })
    await world.create(node)
    world.answer(answered(500))
    for (let index = 0; index < 6; index += 1) await world.pay(node)
    const since = (await world.got(node.engine.subscriptions.find(T, 'crm'))).state.failingSince
    const warnings = async () =>
      (await world.emittedData('webhook.subscription.failing')).map(({ warning }) => warning)
    expect(await warnings()).toEqual([0])
    // At 0, 16, 32, 48, 64 and 80 percent of the time.
    for (const known of [[0], [0], [0, 1], [0, 1], [0, 1, 2], [0, 1, 2, 3]]) {
      await world.pay(node)
      await world.pay(node)
      expect(await warnings()).toEqual(known)
      node = await later(world, node, 0.8 * DAY)
    }
    const failing = await world.got(node.engine.subscriptions.find(T, 'crm'))
    expect(failing).toMatchObject({ status: 'failing', state: { failingSince: since } })
    node = await later(world, node, 0.3 * DAY)
    await world.pay(node)
    const item = await world.got(node.engine.subscriptions.find(T, 'crm'))
    expect(item).toMatchObject({ status: 'disabled', state: { because: 'failing', by: null } })
    expect(await world.emittedData('webhook.subscription.disabled')).toMatchObject([{ because: 'failing' }])
    const calls = world.calls.length
    await world.pay(node)
    node = await later(world, node, DAY)
    await world.pay(node)
    expect(world.calls).toHaveLength(calls)
  })

  test.each(['blocked', 'bad_url'])(
    '[SB8] %s makes dead letters, and does not count against the endpoint',
    async (code) => {
      const world = makeHookWorld()
      const node = await world.node({ documents: DOCUMENTS })
      await world.create(node)
      world.answer({ kind: 'failed', sent: 'no', code, message: 'not allowed', durationMs: 0 } as HttpOutcome)
      for (let index = 0; index < 6; index += 1) await world.pay(node)
      expect(await world.got(node.engine.subscriptions.find(T, 'crm'))).toMatchObject({
        status: 'active',
        health: { recent: { delivered: 0, failed: 6 } },
      })
      const letters = await world.got(world.reads.deadLetters({ cursor: null, limit: 10 }))
      expect(letters.items.map(({ reason }) => reason)).toEqual(Array(6).fill('rejected'))
      const emitted = await world.emitted()
      expect(emitted).toContain('integration.failed')
      expect(emitted).not.toContain('webhook.subscription.failing')
    },
  )

  test('[SU29] a late response of a former address changes nothing about the deployed one', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    await world.create(node)
    world.answer(() => null)
    for (let index = 0; index < 4; index += 1) await world.pay(node)
    const [gone, ...others] = world.calls.slice(-4)
    const document = { ...HOOK, url: 'https://new.example/hooks' }
    await world.got(node.engine.subscriptions.patch(T, 'crm', { document, written: '{}' }, ADA))
    world.answer(answered(200))
    await world.pay(node)
    gone?.answer(answered(410))
    for (const call of others) call.answer(answered(503, { 'retry-after': '3600' }))
    await world.pass(1 * SECOND)
    await world.pay(node)
    expect(await world.got(node.engine.subscriptions.find(T, 'crm'))).toMatchObject({
      status: 'active',
      state: { because: null },
    })
    expect(node.engine.deliveries.window(T, 'crm')).toMatchObject({ pausedUntil: null })
    expect(world.calls.slice(4).map(({ request }) => request.url)).toEqual([document.url, document.url])
    expect(await world.emitted()).not.toContain('webhook.subscription.disabled')
  })

  test('[SU29] nor does a call that began before the subscription was enabled', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    await world.create(node)
    world.answer(() => null)
    await world.pay(node)
    const call = world.calls.at(-1)
    await world.got(node.engine.subscriptions.disable(T, 'crm', ADA))
    await world.pass(1 * SECOND)
    world.answer(answered(200))
    await world.got(node.engine.subscriptions.enable(T, 'crm', ADA))
    call?.answer(answered(410))
    await world.pass(1 * SECOND)
    expect(await world.got(node.engine.subscriptions.find(T, 'crm'))).toMatchObject({ status: 'active' })
  })

  test('[SU29] failures of a former address do not count for another', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    await world.create(node)
    world.answer(answered(500))
    for (let index = 0; index < 5; index += 1) await world.pay(node)
    expect(await world.got(node.engine.subscriptions.find(T, 'crm'))).toMatchObject({ status: 'failing' })
    const document = { ...HOOK, url: 'https://new.example/hooks' }
    await world.got(node.engine.subscriptions.patch(T, 'crm', { document, written: '{}' }, ADA))
    expect(await world.got(node.engine.subscriptions.find(T, 'crm'))).toMatchObject({
      status: 'active',
      state: { failingSince: null, warnings: 0 },
    })
    for (let index = 0; index < 4; index += 1) await world.pay(node)
    expect(await world.got(node.engine.subscriptions.find(T, 'crm'))).toMatchObject({ status: 'active' })
    await world.pay(node)
    expect(await world.got(node.engine.subscriptions.find(T, 'crm'))).toMatchObject({ status: 'failing' })
  })

  test('[SU13] 410 disables at once, whatever else is delivered at the same moment', async () => {
    const world = makeHookWorld()
    const one = await world.node({ documents: DOCUMENTS })
    const two = await world.node({ name: 'two', documents: DOCUMENTS })
    await world.create(one)
    await world.pass(5_000)
    world.answer(answered(410))
    await world.got(
      Promise.all([
        one.send({ kind: 'paid', id: 'x1', order: 'x1' }),
        two.send({ kind: 'paid', id: 'x2', order: 'x2' }),
      ]),
    )
    const item = await world.got(one.engine.subscriptions.find(T, 'crm'))
    expect(item).toMatchObject({ status: 'disabled', state: { because: 'gone' } })
    expect(await world.emittedData('webhook.subscription.disabled')).toMatchObject([
      { because: 'gone', by: null },
    ])
    await world.pass(5_000)
    await world.pay(two)
    expect(world.calls).toHaveLength(2)
  })
})

describe('operator actions', () => {
  test('[SU23] an endpoint that flaps is reported once a minute', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    await world.create(node, { retry: { profile: null, attempts: 2, delaysMs: [DAY] } })
    const failing = async () =>
      (await world.emitted()).filter((subject) => subject === 'webhook.subscription.failing').length
    const comeAndGo = async () => {
      world.answer(answered(500))
      for (let index = 0; index < 6; index += 1) await world.pay(node)
      world.answer(answered(204))
      await world.pay(node)
    }
    for (let times = 0; times < 4; times += 1) await comeAndGo()
    expect(await failing()).toBe(1)
    await world.pass(MINUTE)
    for (let times = 0; times < 4; times += 1) await comeAndGo()
    expect(await failing()).toBe(2)
    expect((await world.got(node.engine.subscriptions.find(T, 'crm'))).status).toBe('active')
  })

  test('[SU22] a success that comes while failing is being written ends it', async () => {
    const world = makeHookWorld()
    let hold: (() => void) | null = null
    const node = await world.node({
      documents: DOCUMENTS,
      faults: {
        async commit(commit, pass) {
          const isState = commit.writes.some((one) => one.w === 'record.put' && one.kind === 'subscription')
          if (isState && hold === null && world.calls.length > 0)
            await new Promise<void>((resolve) => {
              hold = resolve
            })
          return pass()
        },
      },
    })
    await world.create(node, { retry: { profile: null, attempts: 1, delaysMs: [] } })
    world.answer(answered(500))
    await world.pay(node)
    world.answer(answered(204))
    await world.pay(node)
    hold!()
    await world.pass(1_000)
    expect((await world.got(node.engine.subscriptions.find(T, 'crm'))).status).toBe('active')
  })

  test('[SU22] a success on another node counts: the subscription neither becomes failing nor is disabled', async () => {
    const world = makeHookWorld()
    const one = await world.node({ name: 'one', documents: DOCUMENTS })
    const two = await world.node({ name: 'two', documents: DOCUMENTS })
    await world.create(one, {
      disableAfterMs: 10 * MINUTE,
      retry: { profile: null, attempts: 2, delaysMs: [DAY] },
    })
    await world.pass(6_000)
    for (let index = 0; index < 6; index += 1) {
      world.answer(answered(500))
      await world.pay(one)
      world.answer(answered(204))
      if (index < 4) await world.pay(two)
      await world.pass(3 * MINUTE)
    }
    expect((await world.got(one.engine.subscriptions.find(T, 'crm'))).status).toBe('active')
    const emitted = async () => (await world.emitted()).filter((subject) => subject.startsWith('webhook.'))
    expect(await emitted()).toEqual([])
    world.answer(answered(500))
    for (let index = 0; index < 4; index += 1) await world.pay(one)
    expect(await emitted()).toEqual(['webhook.subscription.failing'])
  })

  test('[SU14] enabling a disabled one sends a test event before all waiting deliveries', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    const { subscriptions } = node.engine
    await world.create(node, { order: { by: 'payload.order' }, transform: { order: '{{ payload.order }}' } })
    await world.got(subscriptions.pause(T, 'crm', ADA))
    for (let index = 0; index < 3; index += 1) await world.pay(node)
    await world.got(subscriptions.disable(T, 'crm', ADA))
    await world.pay(node)
    expect([world.calls.length, await openOf(world)]).toEqual([0, 3])
    const commits: string[][] = []
    node.faults.commit = (commit, pass) => {
      commits.push(commit.writes.map(({ w }) => w))
      return pass()
    }
    const item = await world.got(subscriptions.enable(T, 'crm', ADA))
    expect(item).toMatchObject({ status: 'active', state: { by: 'ada', reason: 'because' } })
    await world.pass(60_000)
    const types = world.calls.map(({ request }) => JSON.parse(request.body ?? '').type ?? 'shop')
    expect(types).toEqual(['webhook.test', 'shop', 'shop', 'shop'])
    const enabling = commits.find((writes) => writes.includes('record.put') && writes.includes('work.add'))
    expect(enabling).toContain('event.append')
    expect(await world.emittedData('webhook.subscription.enabled')).toMatchObject([{ by: 'ada' }])
    // An active one does not change.
    await world.got(subscriptions.enable(T, 'crm', ADA))
    expect(world.calls).toHaveLength(4)
  })

  test('[SU14] enabling resets the count: earlier failures do not disable it again', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    await world.create(node, { disableAfterMs: 2 * MINUTE })
    world.answer(answered(500))
    await failFor(world, node, 6 * MINUTE)
    expect((await world.got(node.engine.subscriptions.find(T, 'crm'))).status).toBe('disabled')
    const enabledAt = world.now()
    await world.got(node.engine.subscriptions.enable(T, 'crm', ADA))
    await world.pass(MINUTE)
    const { status, state } = await world.got(node.engine.subscriptions.find(T, 'crm'))
    expect(status).toBe('failing')
    expect(state.failingSince).toBeGreaterThanOrEqual(enabledAt)
  })

  test('[SU16] a test is one signed call now, whatever the status, and never repeated', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    const { subscriptions } = node.engine
    const secret = await world.create(node, { headers: { authorization: 'Bearer hidden-token' } })
    await world.got(subscriptions.disable(T, 'crm', ADA))
    world.answer(answered(503))
    const tested = await world.got(subscriptions.test(T, 'crm', ADA))
    await world.pass(10 * MINUTE)
    expect(world.calls).toHaveLength(1)
    expect(tested).toMatchObject({ ok: false, status: 503, class: 'transient', response: { body: '' } })
    const { request } = world.calls[0] as (typeof world.calls)[number]
    expect(request.headers.authorization).toBe('Bearer hidden-token')
    expect(JSON.stringify(tested)).not.toContain('hidden-token')
    expect(request.headers['webhook-signature']).toBe(signatureOf(secret ?? '', request))
    world.answer(answered(200))
    expect(await world.got(subscriptions.test(T, 'crm', ADA))).toMatchObject({ ok: true, error: null })
    expect(await openOf(world)).toBe(0)
    await world.create(node, { name: 'unset', secret: { env: 'NOT_SET' } })
    const unsent = await world.got(subscriptions.test(T, 'unset', ADA))
    expect(unsent).toMatchObject({ ok: false, class: 'config', request: null })
    expect(unsent.error).toContain('NOT_SET')
  })
})

describe('secrets', () => {
  test('[SU15] deliveries carry both signatures until the overlap is over', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    const { subscriptions } = node.engine
    const before = (await world.create(node)) ?? ''
    world.answer(answered(503))
    await world.pay(node)
    const rotated = await world.got(subscriptions.rotateSecret(T, 'crm', { overlapMs: 5 * MINUTE }, ADA))
    expect(rotated).toMatchObject({ version: 2, oldUntil: world.now() + 5 * MINUTE })
    world.answer(answered(204))
    await world.pass(2 * MINUTE)
    const last = () => world.calls.at(-1)?.request.headers['webhook-signature']?.split(' ') ?? []
    expect(last()).toHaveLength(2)
    const { request } = world.calls.at(-1) as (typeof world.calls)[number]
    expect(last()).toEqual([rotated.secret, before].map((secret) => signatureOf(secret, request)))
    expect((await world.got(subscriptions.find(T, 'crm'))).secret).toMatchObject({
      version: 2,
      oldUntil: [rotated.oldUntil],
    })
    await world.pass(5 * MINUTE)
    await world.pay(node)
    expect(last()).toHaveLength(1)
    expect(await world.emittedData('webhook.secret.rotated')).toMatchObject([{ version: 2, by: 'ada' }])
  })

  test('[SU15] a rotation needs an overlap of 0 to 7 days, a secret of its form, and one that is not in the environment', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    const { subscriptions } = node.engine
    await world.create(node)
    await world.create(node, { name: 'env', secret: { env: 'HOOK' } })
    const rotate = (name: string, request: object) => subscriptions.rotateSecret(T, name, request, ADA)
    expect(await world.refusal(rotate('env', {}))).toBe('secret_in_environment')
    expect(await world.refusal(rotate('crm', { overlapMs: 8 * DAY }))).toBe('overlap_invalid')
    expect(await world.refusal(rotate('crm', { overlapMs: -1 }))).toBe('overlap_invalid')
    expect(await world.refusal(rotate('crm', { secret: 'short' }))).toBe('signing_secret_invalid')
    const given = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
    expect(await world.got(rotate('crm', { secret: given, overlapMs: 0 }))).toEqual({
      secret: given,
      version: 2,
      oldUntil: null,
    })
  })

  test('[SU1] if the vault refuses the secret, nothing is created, and the name is free', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    const { set } = world.vault
    world.vault.set = () => Promise.reject(new Error('the vault is closed'))
    expect(await world.refusal(world.create(node))).toContain('the vault is closed')
    expect(await world.refusal(node.engine.subscriptions.find(T, 'crm'))).toBe('unknown_subscription')
    await world.pay(node)
    world.vault.set = set
    expect(await world.create(node)).toMatch(/^whsec_/)
    expect(world.calls).toHaveLength(0)
  })

  test('[SU11] if a node stops between a subscription and its secret, the next start makes one, to be revealed', async () => {
    const world = makeHookWorld()
    const one = await world.node({ documents: DOCUMENTS })
    const { set } = world.vault
    world.vault.set = () => {
      one.crash()
      return new Promise(() => {})
    }
    void one.engine.subscriptions.create(T, { document: HOOK, written: '{}' }, ADA)
    await world.pass(2 * MINUTE)
    world.vault.set = set
    const two = await world.node({ name: 'two', documents: DOCUMENTS })
    await world.pay(two)
    expect(world.calls).toHaveLength(1)
    const { secret } = await world.got(two.engine.subscriptions.revealSecret(T, 'crm', ADA))
    const { request } = world.calls[0] as (typeof world.calls)[number]
    expect(request.headers['webhook-signature']).toBe(signatureOf(secret, request))
  })

  test('[SU10] a value is in the vault and in one response: neither in the store nor in the log', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: [SOURCE, { ...HOOK, name: 'folder' }] })
    const { subscriptions } = node.engine
    const shown = [
      (await world.create(node)) ?? '',
      (await world.got(subscriptions.rotateSecret(T, 'crm', {}, ADA))).secret,
      (await world.got(subscriptions.revealSecret(T, 'folder', ADA))).secret,
    ]
    await world.pay(node)
    await world.got(subscriptions.test(T, 'crm', ADA))
    const kept = JSON.stringify([
      await world.got(world.kept.system('verification').dump()),
      node.log.messages,
    ])
    for (const secret of shown) expect(kept).not.toContain(secret.slice(6))
  })
})

describe('removal', () => {
  test('[SU7] [SU9] waiting deliveries are cancelled, its secret is deleted, and its name is free when none is left', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    const { subscriptions } = node.engine
    const first = await world.create(node)
    await world.got(subscriptions.pause(T, 'crm', ADA))
    for (let index = 0; index < 5; index += 1) await world.pay(node)
    await world.got(subscriptions.remove(T, 'crm', ADA))
    expect(await openOf(world)).toBe(0)
    const cancelled = await world.got(
      world.reads.workList({ consumer: CONSUMER, state: 'cancelled', cursor: null, limit: 10 }),
    )
    expect(cancelled.items.map(({ lastError }) => lastError)).toEqual(Array(5).fill('SUBSCRIPTION_GONE'))
    // Other nodes may not have learned of it yet.
    expect(await world.refusal(world.create(node))).toBe('name_taken')
    await world.pass(15_000)
    const second = await world.create(node)
    expect(second).not.toBe(first)
    expect(await world.refusal(subscriptions.remove(T, 'other', ADA))).toBe('unknown_subscription')
  })

  test('[SU8] after a crash in the middle of it, the next node that starts continues', async () => {
    const world = makeHookWorld()
    const one = await world.node({ documents: DOCUMENTS })
    await world.create(one)
    await world.got(one.engine.subscriptions.pause(T, 'crm', ADA))
    for (let index = 0; index < 130; index += 1) await world.pay(one)
    let cancelled = 0
    one.faults.commit = (commit, pass) => {
      const isCancel = commit.writes.some((write) => write.w === 'work.settle' && write.to === 'cancelled')
      if (isCancel && ++cancelled > 40) one.crash()
      return pass()
    }
    void one.engine.subscriptions.remove(T, 'crm', ADA)
    await world.pass()
    const left = await openOf(world)
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThan(130)
    const two = await world.node({ name: 'two', documents: DOCUMENTS })
    await world.pass(60_000)
    expect(await openOf(world)).toBe(0)
    expect(await world.create(two)).toMatch(/^whsec_/)
  })

  test('[SU7] a subscription that this version cannot read is not removed: its deliveries wait for a node that can', async () => {
    const world = makeHookWorld()
    const one = await world.node({ name: 'one', documents: DOCUMENTS })
    await world.create(one)
    await world.got(one.engine.subscriptions.pause(T, 'crm', ADA))
    await world.pay(one)
    one.crash()
    const kept = await world.got(world.reads.record('subscription', 'crm'))
    const record = JSON.parse(kept?.body ?? 'null')
    const unreadable = {
      ...record,
      document: { ...record.document, headers: { 'x-new': '{{ of tomorrow(' } },
    }
    const put = { w: 'record.put', kind: 'subscription', key: 'crm', version: 99 } as const
    const body = JSON.stringify(unreadable)
    await world.got(world.store.commit({ tenant: T, guards: [], writes: [{ ...put, body }] }))
    await world.node({ name: 'two', documents: DOCUMENTS })
    await world.pass(90_000)
    expect(await openOf(world)).toBe(1)
  })

  test('[SU7] leased deliveries are cancelled when they are put back', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: DOCUMENTS })
    await world.create(node)
    world.answer(() => null)
    await world.pay(node)
    await world.got(node.engine.subscriptions.remove(T, 'crm', ADA))
    expect(await openOf(world)).toBe(1)
    world.calls[0]?.answer(answered(503))
    await world.pass(60_000)
    expect(await openOf(world)).toBe(0)
    expect(world.calls).toHaveLength(1)
  })

  test('[SU7] also of a subscription that is removed from the definitions; its secret stays for when it returns', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: [SOURCE, HOOK] })
    await world.got(node.engine.subscriptions.pause(T, 'crm', ADA))
    await world.pay(node)
    await world.got(node.engine.apply(T, [SOURCE]))
    await world.pass(15_000)
    expect(await openOf(world)).toBe(0)
    await world.got(node.engine.apply(T, [SOURCE, HOOK]))
    expect((await world.got(node.engine.subscriptions.find(T, 'crm'))).secret.version).toBe(1)
  })
})
