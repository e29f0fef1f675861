import { describe, expect, test } from 'vitest'
import { AppError } from '../../../core/foundation/errors/index.ts'
import { DEFAULT_TENANT, type EventId, type TenantId } from '../../../core/foundation/ids/index.ts'
import { HOUR, MINUTE, SECOND } from '../../../core/foundation/time/index.ts'
import { filterHashOf } from '../../../core/routing/index.ts'
import { compileSubscription } from '../../../core/webhooks/subscription/index.ts'
import type { HttpOutcome } from '../../../ports/http-client.ts'
import type { Commit } from '../../../ports/store.ts'
import {
  accept,
  answered,
  LOST,
  makeDeferred,
  makeWorld,
  PAID,
  ROUTE,
  SOURCE,
  workOf,
} from '../../engine.fixture.ts'
import { findRoutes } from '../../planning/plan.ts'
import { endpointWorld, HOOK, REFUSED, SECRET } from './deliveries.fixture.ts'
import { signRequest } from './delivery-request.ts'

const ANN = { actor: 'ann', reason: 'because' }
const EVERYTHING = { ...HOOK, name: 'all', on: ['>'], url: 'https://all.example/' }

describe('an attempt', () => {
  test('[DY4] [DY12] a delivery is in the commit of its event, and one commit ends it with its attempt', async () => {
    const world = endpointWorld([{ ...answered(200, { server: 'x' }), body: 'thanks' } as HttpOutcome])
    const commits: Commit[] = []
    const faults = {
      commit: (commit: Commit, pass: () => never) => {
        commits.push(commit)
        return pass()
      },
    }
    const node = await world.start([HOOK], { faults: faults as never })
    commits.length = 0
    const id = await accept(world, node)
    expect(commits.map(({ writes }) => writes.map(({ w }) => w))).toEqual([
      ['event.append', 'work.add'],
      ['work.settle', 'attempt.append', 'fact.add'],
    ])
    const work = await workOf(world, id)
    expect(work).toMatchObject({ kind: 'delivery', consumer: 'subscription:crm', state: 'done', attempts: 1 })
    const [attempt] = await world.got(world.reads.attempts(work.id))
    expect(attempt).toMatchObject({ number: 1, outcome: 'done', httpStatus: 200, class: null })
    expect(attempt?.response).toBe('HTTP 200\nserver: x\n\nthanks')
    expect(node.log.controls.filter(({ point }) => point === 'effect')).toMatchObject([
      {
        ...{ action: 'DELIVERED', routeName: 'crm', targetSystem: 'crm.example', httpStatus: 200 },
        ...{ subscriptionName: 'crm', filterHash: filterHashOf(HOOK) },
      },
    ])
  })

  test('[DY10] [DY16] it is attempted eight times under one id, each with its own time, and then dead-lettered', async () => {
    const world = endpointWorld([answered(500)])
    const config = { pollMs: 10 * MINUTE }
    const node = await world.start([HOOK, { ...EVERYTHING, on: ['webhook.dead'] }], { config })
    const id = await accept(world, node)
    await world.pass(12 * HOUR)
    const crm = world.calls.filter(({ request }) => request.url === HOOK.url)
    expect(crm).toHaveLength(8)
    expect(new Set(crm.map(({ request }) => request.headers['webhook-id']))).toEqual(new Set([id]))
    expect(new Set(crm.map(({ request }) => request.headers['webhook-timestamp'])).size).toBe(8)
    expect(crm[0]?.request).toMatchObject({ method: 'POST', cut: true, maxResponseBytes: 16_384 })
    expect(crm[0]?.request.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-signature': expect.stringMatching(/^v1,/),
      'user-agent': expect.stringMatching(/^millrace\//),
      traceparent: expect.stringMatching(/^00-/),
    })
    expect(JSON.parse(crm[0]?.request.body ?? '')).toMatchObject({ id, type: 'shop.events.paid', data: PAID })
    const [work] = await world.deliveries()
    expect(work).toMatchObject({ state: 'dead', attempts: 8, class: 'transient', httpStatus: 500 })
    const letters = await world.got(world.reads.deadLetters({ cursor: null, limit: 10 }))
    expect(letters.items.find(({ consumer }) => consumer === 'subscription:crm')).toMatchObject({
      reason: 'cap_reached',
      step: 'call',
      attempts: 8,
    })
    const emitted = await world.emitted()
    expect(emitted).toContain('integration.failed')
    expect(emitted.filter((subject) => subject === 'webhook.dead')).toHaveLength(1)
  })

  test('[DY16] a later success resolves the failure', async () => {
    const world = endpointWorld([LOST, answered(204)])
    const node = await world.start()
    await accept(world, node)
    await world.pass(1 * MINUTE)
    expect(await world.deliveries()).toMatchObject([{ state: 'done', attempts: 2 }])
    expect(await world.emitted()).toEqual(['integration.failed', 'integration.failure.resolved'])
  })

  test('[DY16] it is not retried sooner than the endpoint asks', async () => {
    const world = endpointWorld([answered(503, { 'retry-after': '600' }), answered(204)])
    const node = await world.start()
    await accept(world, node)
    await world.pass(599 * SECOND)
    expect(world.calls).toHaveLength(1)
    await world.pass(200 * SECOND)
    expect(await world.deliveries()).toMatchObject([{ state: 'done', attempts: 2 }])
  })

  test('[DY17] an endpoint that is gone gets no further delivery', async () => {
    const world = endpointWorld([answered(410)])
    const node = await world.start()
    await accept(world, node)
    await world.pass()
    expect(await world.deliveries()).toMatchObject([{ state: 'dead', class: 'config', attempts: 1 }])
    await accept(world, node, { ...PAID, id: 'd2' })
    expect(world.calls).toHaveLength(1)
    expect((await world.deliveries())[1]).toMatchObject({ state: 'skipped', lastError: 'DISABLED' })
  })

  test('[DY18] a 429 uses no attempt', async () => {
    const world = endpointWorld([answered(429, { 'retry-after': '30' }), answered(429), answered(204)])
    const node = await world.start()
    await accept(world, node)
    await world.pass(10 * MINUTE)
    expect(await world.deliveries()).toMatchObject([{ state: 'done', attempts: 1, waits: 2 }])
  })

  test('[DY34] [RB4] a 429 closes the endpoint that it came from, and nothing else at its host; a closed host holds no delivery', async () => {
    const isLimited = new Set(['/slow', '/orders'])
    const world = makeWorld(
      ({ url }) =>
        isLimited.has(new URL(url).pathname) ? answered(429, { 'retry-after': '600' }) : answered(204),
      [SECRET],
    )
    const hook = (name: string) => ({
      ...HOOK,
      name,
      on: ['shop.events.paid'],
      url: `https://vendor.example/${name}`,
    })
    const route = (name: string) => ({
      ...ROUTE,
      name,
      key: `'${name}:' + payload.id`,
      maxWaitMs: 24 * HOUR,
      on: [`shop.events.${name}`],
      do: { ...ROUTE.do, type: 'http', url: `https://vendor.example/${name}` } as typeof ROUTE.do,
    })
    const node = await world.node({
      documents: [SOURCE, hook('slow'), hook('quick'), route('orders'), route('parcels')],
    })
    const callsOf = (name: string) =>
      world.calls.filter(({ request }) => request.url.endsWith(`/${name}`)).length
    await accept(world, node)
    expect([callsOf('slow'), callsOf('quick')]).toEqual([1, 1])
    // Neither the route nor the other subscription at the host waits for that.
    await accept(world, node, { ...PAID, kind: 'parcels', id: 'd2' })
    await accept(world, node, { ...PAID, id: 'd3' })
    expect([callsOf('slow'), callsOf('quick'), callsOf('parcels')]).toEqual([1, 2, 1])
    // Two refusals close the host for routes, and not for deliveries.
    for (const id of ['d4', 'd5']) await accept(world, node, { ...PAID, kind: 'orders', id })
    expect(callsOf('orders')).toBe(2)
    await accept(world, node, { ...PAID, kind: 'parcels', id: 'd6' })
    await accept(world, node, { ...PAID, id: 'd7' })
    expect([callsOf('quick'), callsOf('parcels')]).toEqual([3, 1])
    isLimited.clear()
    await world.pass(800_000)
    expect([callsOf('slow'), callsOf('parcels'), callsOf('orders')]).toEqual([4, 2, 4])
  })

  test.each([429, 503])('[DY16] a %d that asks for years is retried the next day', async (status) => {
    const world = endpointWorld([answered(status, { 'retry-after': '99999999' }), answered(204)])
    const node = await world.start([{ ...HOOK, maxWaitMs: 24 * HOUR }])
    await accept(world, node)
    expect(await world.deliveries()).toMatchObject([{ state: 'ready' }])
    // The endpoint's concurrency limit and the job ask for the same delay.
    const [{ dueAt } = { dueAt: 0 }] = await world.deliveries()
    expect(dueAt - world.now()).toBeLessThan(27 * HOUR)
    expect(dueAt - world.now()).toBeGreaterThan(23 * HOUR)
  })

  test.each([
    ['an address that is not allowed', { ...REFUSED, code: 'blocked' } as HttpOutcome, 'config'],
    ['no address at all', { ...REFUSED, code: 'bad_url' } as HttpOutcome, 'config'],
  ])('[DY15] %s is dead-lettered at once', async (_name, outcome, failureClass) => {
    const world = endpointWorld([outcome])
    const node = await world.start()
    await accept(world, node)
    expect(await world.deliveries()).toMatchObject([{ state: 'dead', class: failureClass, attempts: 1 }])
  })

  test('[DY15] a transform that fails makes a dead letter, and nothing is sent', async () => {
    const world = endpointWorld()
    const node = await world.start([{ ...HOOK, transform: { order: '{{ payload.order / 2 }}' } }])
    await accept(world, node)
    expect(await world.deliveries()).toMatchObject([{ state: 'dead', class: 'validation', attempts: 0 }])
    expect(world.calls).toHaveLength(0)
  })

  test('[DY10] nothing is sent unsigned: the error names the missing secret', async () => {
    const world = endpointWorld([answered(204)], [])
    const node = await world.start()
    await accept(world, node)
    const [work] = await world.deliveries()
    expect(work).toMatchObject({ state: 'ready', class: 'transient', attempts: 1 })
    expect(work?.lastError).toContain('`crm` is not set')
    expect(world.calls).toHaveLength(0)
  })

  test('[DY10] a secret that cannot be decrypted fails like a missing one, not as an internal error', async () => {
    const error = new AppError('secret_unreadable', 'the secret ‘crm’ cannot be opened')
    const vault = { resolve: () => Promise.reject(error) }
    const rendered = { url: HOOK.url, headers: {}, body: '{}' }
    const toSign = { id: 'e', at: 0, render: () => rendered }
    const signed = signRequest(vault, DEFAULT_TENANT, compileSubscription(HOOK), rendered, toSign)
    expect(await signed).toEqual({ ok: false, error: error.message })
  })

  test('[DY11] address and transform are those deployed when it is sent', async () => {
    const world = endpointWorld([REFUSED, answered(204)])
    const node = await world.start()
    await accept(world, node)
    const mended = { ...HOOK, url: 'https://new.example/', transform: { order: '{{ payload.order }}' } }
    await world.got(node.engine.apply(DEFAULT_TENANT, [SOURCE, { ...mended, where: 'false' }]))
    await world.pass(1 * MINUTE)
    expect(world.calls[1]?.request).toMatchObject({ url: 'https://new.example/', body: '{"order":"o1"}' })
    expect(await world.deliveries()).toMatchObject([{ state: 'done', attempts: 2 }])
  })

  test('[DY7] sensitive values are hidden, unless the subscription says otherwise', async () => {
    const world = endpointWorld()
    const source = { ...SOURCE, sensitive: ['payload.order'] }
    const seeing = { ...EVERYTHING, sensitive: 'send', where: "payload.order == 'o1'" } as const
    const node = await world.node({
      documents: [source, HOOK, seeing, { ...HOOK, name: 'blind', where: "payload.order == 'o1'" }],
    })
    await accept(world, node)
    const bodies = world.calls.map(({ request }) => [request.url, JSON.parse(request.body ?? '').data.order])
    expect(bodies).toEqual([
      ['https://all.example/', 'o1'],
      ['https://crm.example/hooks', '[hidden]'],
    ])
  })

  test.each([
    ['a value of another kind', 'payload.kind >= 100'],
    ['a value that is hidden', 'payload.amount >= 100'],
  ])('[DY30] a condition over %s sends nothing, and makes a dead letter', async (_name, where) => {
    const world = endpointWorld()
    const source = { ...SOURCE, sensitive: ['payload.amount'] }
    const node = await world.node({ documents: [source, { ...HOOK, where }] })
    const id = await accept(world, node, { ...PAID, amount: 200 })
    expect(world.calls).toHaveLength(0)
    expect(await world.deliveries()).toMatchObject([{ state: 'dead', class: 'validation', attempts: 0 }])
    const { items } = await world.got(world.reads.deadLetters({ cursor: null, limit: 10 }))
    expect(items).toMatchObject([{ reason: 'rejected', step: 'transform' }])
    expect(items[0]?.lastError).toMatch(/the condition cannot be decided/)
    const shown = await world.got(
      node.engine.deliveries.request(DEFAULT_TENANT, (await workOf(world, id)).id),
    )
    expect(shown).toMatchObject({ ok: false, error: expect.stringContaining('cannot be decided') })
    const preview = await world.got(
      node.engine.replays.preview(DEFAULT_TENANT, { ids: [items[0]!.id] }, { force: false }),
    )
    expect(preview.items).toMatchObject([{ verdict: 'would-fail' }])
  })

  test('[DY14] deliveries of a paused subscription wait, and those of a removed one are cancelled', async () => {
    const world = endpointWorld()
    const node = await world.start([{ ...HOOK, status: 'paused' }])
    await accept(world, node)
    await world.pass(1 * HOUR)
    expect(await world.deliveries()).toMatchObject([{ state: 'ready' }])
    await world.got(node.engine.apply(DEFAULT_TENANT, [SOURCE]))
    await world.pass(5 * MINUTE)
    expect(await world.deliveries()).toMatchObject([{ state: 'cancelled', lastError: 'SUBSCRIPTION_GONE' }])
    expect(world.calls).toHaveLength(0)
  })
})

describe('owners', () => {
  test('[DY13] after a crash between the call and its commit it is sent again, under the same id', async () => {
    const world = endpointWorld([null, answered(204)])
    const node = await world.start()
    const id = await accept(world, node)
    node.crash()
    await world.pass(1 * MINUTE)
    await world.start()
    await world.pass(1 * MINUTE)
    expect(world.calls.map(({ request }) => request.headers['webhook-id'])).toEqual([id, id])
    expect(await world.deliveries()).toMatchObject([{ state: 'done', attempts: 1 }])
  })

  test('[DY13] a stale owner writes nothing', async () => {
    const world = endpointWorld([null, answered(204)])
    const first = await world.start([HOOK], { name: 'one', faults: { renew: () => new Promise(() => {}) } })
    await accept(world, first)
    await world.start([HOOK], { name: 'two' })
    await world.pass(2 * MINUTE)
    expect(world.calls).toHaveLength(2)
    world.calls[0]?.answer(answered(500))
    await world.pass()
    const [work] = await world.deliveries()
    expect(work).toMatchObject({ state: 'done', attempts: 1, httpStatus: 204 })
    expect(first.log.controls.at(-1)).toMatchObject({ action: 'STALE' })
  })

  test('[DY28] after a crash, endpoints that hang do not hold up the other recovered deliveries', async () => {
    let isWell = false
    const answer = (url: string) => (isWell && url.includes('well') ? answered(204) : null)
    const world = { ...endpointWorld(), ...makeWorld(({ url }) => answer(url), [SECRET]) }
    const hooks = ['hangs', 'well'].map((name) => ({ ...HOOK, name, url: `https://${name}.example/` }))
    const documents = [SOURCE, ...hooks]
    const node = await world.node({ documents })
    const ids: EventId[] = []
    for (const id of ['d1', 'd2', 'd3']) ids.push(await accept(world, node, { ...PAID, id }))
    expect(world.calls).toHaveLength(6)
    node.crash()
    isWell = true
    await world.node({ documents })
    await world.pass(1 * SECOND)
    const states = async (consumer: string) => {
      const items = await Promise.all(ids.map((id) => world.store.forTenant(DEFAULT_TENANT).workOfEvent(id)))
      return items.flat().flatMap((work) => (work.consumer === consumer ? [work.state] : []))
    }
    expect(await states('subscription:well')).toEqual(['done', 'done', 'done'])
    expect(await states('subscription:hangs')).toEqual(['leased', 'leased', 'leased'])
  })

  test('[DY28] a delivery during which the node crashes each time is dead-lettered after a few crashes', async () => {
    const world = endpointWorld([null])
    let node = await world.start()
    await accept(world, node)
    for (let crashes = 0; crashes < 10; crashes += 1) {
      node.crash()
      node = await world.start()
      await world.pass(1 * SECOND)
    }
    expect(await world.deliveries()).toMatchObject([{ state: 'dead', class: 'poison', losses: 3 }])
    expect(world.calls.length).toBeLessThan(10)
  })

  test('[DY13] a node whose lease expired while the vault was asked sends nothing', async () => {
    const world = endpointWorld()
    const vault = world.vault as { resolve: typeof world.vault.resolve }
    const resolve = vault.resolve.bind(vault)
    const asked = makeDeferred<void>()
    const stale = await world.start([HOOK], { name: 'a', config: { leaseMs: 3_000 } })
    vault.resolve = async (...given) => {
      await asked.promise
      return resolve(...given)
    }
    const id = await accept(world, stale)
    // Another process starts under the same name, and takes over the jobs of this one.
    vault.resolve = resolve
    await world.start([HOOK], { name: 'a', config: { leaseMs: 3_000 } })
    await world.pass(1 * SECOND)
    expect(world.calls).toHaveLength(1)
    expect(await workOf(world, id)).toMatchObject({ state: 'done', attempts: 1 })
    stale.faults.renew = () => Promise.resolve('fenced')
    await world.pass(2 * SECOND)
    asked.give()
    await world.pass(5 * SECOND)
    expect(world.calls).toHaveLength(1)
  })

  test('[DY3] a job of another tenant’s event is not sent', async () => {
    const world = endpointWorld([REFUSED, answered(204)])
    const node = await world.start()
    await accept(world, node)
    const pass = node.faults.claim
    node.faults.claim = async (claim) => {
      const result = await pass(claim)
      const items = result.items.map((one) => ({
        ...one,
        event: { ...one.event, tenant: 'other' as TenantId },
      }))
      return { ...result, items }
    }
    await world.pass(10 * SECOND)
    expect(world.calls).toHaveLength(1)
    expect(node.log.messages.some(({ name }) => name === 'work.broken')).toBe(true)
  })
})

describe('emitted events', () => {
  test('[DY19] the end of a delivery is emitted if a subscription wants it', async () => {
    const world = endpointWorld()
    const watcher = { ...ROUTE, name: 'watch', on: ['webhook.delivered'], key: null, where: null }
    const node = await world.node({ documents: [SOURCE, HOOK, watcher] })
    const id = await accept(world, node)
    const [emitted] = (await world.got(world.reads.events({ source: 'millrace', cursor: null, limit: 9 })))
      .items
    expect(emitted).toMatchObject({ subject: 'webhook.delivered', causationId: id, matched: 1 })
    const alone = endpointWorld()
    await accept(alone, await alone.start())
    expect(await alone.emitted()).toEqual([])
  })

  test('[DY6] a test event goes to no other subscription, also when it is matched again', () => {
    const { route } = compileSubscription(EVERYTHING)
    const registry = { candidates: () => [route], subscription: () => null } as never
    const found = (subject: string) =>
      findRoutes(
        { registry, vars: () => ({}) },
        { source: 'millrace', subject, sensitive: [] } as never,
        {},
        {},
      )
    expect(found('webhook.delivered')).toMatchObject({ routes: [route] })
    expect(found('webhook.test')).toMatchObject({ routes: [] })
  })

  test('[DY6] two subscriptions to everything come to an end, and neither gets events about itself', async () => {
    const world = endpointWorld([answered(204), answered(500), answered(204)])
    const node = await world.start([
      EVERYTHING,
      { ...EVERYTHING, name: 'both', url: 'https://both.example/' },
    ])
    await accept(world, node)
    await world.pass(1 * HOUR)
    const all = await world.deliveries()
    expect(all.every(({ state }) => state === 'done')).toBe(true)
    for (const { request } of world.calls) {
      const { type, data } = JSON.parse(request.body ?? '')
      const own = request.url === 'https://both.example/' ? 'subscription:both' : 'subscription:all'
      expect(type === 'shop.events.paid' || data.consumer !== own).toBe(true)
    }
    const subjects = await world.emitted()
    expect(subjects.filter((subject) => subject === 'webhook.delivered')).toHaveLength(2)
    expect(world.calls.length).toBeLessThan(12)
  })
})

describe('concurrency', () => {
  test('[DY20] an endpoint gets four at once, then more as deliveries succeed', async () => {
    const world = endpointWorld([null])
    const node = await world.start()
    for (let n = 0; n < 20; n += 1) void node.send({ ...PAID, id: `d${n}` })
    await world.pass()
    expect(world.calls).toHaveLength(4)
    world.calls[0]?.answer(answered(204))
    await world.pass()
    expect(world.calls).toHaveLength(9)
    expect(node.engine.deliveries.window(DEFAULT_TENANT, 'crm')).toEqual({
      limit: 8,
      inFlight: 8,
      pausedUntil: null,
    })
  })

  test('[DY21] a failing endpoint is left alone for a pause, and then one delivery is tried; waiting uses no attempt', async () => {
    const world = endpointWorld([answered(503), null])
    const node = await world.start()
    await accept(world, node)
    for (let n = 0; n < 5; n += 1) void node.send({ ...PAID, id: `w${n}` })
    await world.pass(500)
    expect(world.calls).toHaveLength(1)
    const before = await world.deliveries()
    expect(before.filter(({ state, epoch }) => state === 'ready' && epoch === 0)).toHaveLength(5)
    await world.pass(1 * SECOND)
    expect(world.calls).toHaveLength(2)
    world.calls[1]?.answer(answered(204))
    await world.pass()
    expect(world.calls).toHaveLength(4)
    expect((await world.deliveries()).slice(1).every(({ attempts }) => attempts <= 1)).toBe(true)
  })

  test('[DY22] a subscription that a user resumes is tried at once', async () => {
    const world = endpointWorld([answered(503, { 'retry-after': '3600' }), answered(204)])
    const node = await world.start()
    await accept(world, node)
    await accept(world, node, { ...PAID, id: 'd2' })
    await world.got(node.engine.subscriptions.pause(DEFAULT_TENANT, HOOK.name, ANN))
    expect(world.calls).toHaveLength(1)
    await world.got(node.engine.subscriptions.enable(DEFAULT_TENANT, HOOK.name, ANN))
    await world.pass(2 * SECOND)
    expect(world.calls).toHaveLength(2)
  })

  test('[DY22] a corrected address is tried at once', async () => {
    const world = endpointWorld([answered(503, { 'retry-after': '3600' }), answered(204)])
    const node = await world.start()
    await accept(world, node)
    await accept(world, node, { ...PAID, id: 'd2' })
    expect(world.calls).toHaveLength(1)
    const mended = { ...HOOK, url: 'https://new.example/' }
    await world.got(node.engine.apply(DEFAULT_TENANT, [SOURCE, mended]))
    await world.pass(2 * SECOND)
    expect(world.calls).toHaveLength(2)
  })

  test('[DY22] a subscription that becomes failing does not end the pause that its endpoint asked for', async () => {
    const world = endpointWorld([answered(503, { 'retry-after': '3600' }), answered(204)])
    const once = { ...HOOK, retry: { profile: null, attempts: 1, delaysMs: [] } }
    const node = await world.start([once])
    await accept(world, node)
    await world.pass(2 * SECOND)
    expect(await world.emitted()).toContain('webhook.subscription.failing')
    await accept(world, node, { ...PAID, id: 'd2' })
    await world.pass(10 * SECOND)
    expect(world.calls).toHaveLength(1)
    await world.pass(2 * HOUR)
    expect(world.calls).toHaveLength(2)
  })

  test('[DY23] endpoints that hang lend their slots to others', async () => {
    const world = endpointWorld([null])
    const hooks = ['a', 'b', 'c'].map((name) => ({ ...HOOK, name, url: `https://${name}.example/` }))
    const node = await world.start(hooks, { config: { concurrency: 2 } })
    await accept(world, node)
    expect(world.calls).toHaveLength(2)
    await world.pass(1_100)
    expect(world.calls).toHaveLength(3)
    for (const call of world.calls) call.answer(answered(204))
    await world.pass()
    expect((await world.deliveries()).map(({ state }) => state)).toEqual(['done', 'done', 'done'])
    expect(node.engine.health().running).toBe(0)
  })

  test('[DY23] of many endpoints, some of which hang, all others get everything, and a claim asks few of them', async () => {
    const hooks = Array.from({ length: 150 }, (_, n) => ({
      ...HOOK,
      name: `e${n}`,
      url: n % 10 === 0 ? 'https://hangs.example/' : `https://e${n}.example/`,
    }))
    const world = makeWorld(({ url }) => (url === 'https://hangs.example/' ? null : answered(204)), [SECRET])
    const asked: number[] = []
    const node = await world.node({ documents: [SOURCE, ...hooks], config: { concurrency: 32 } })
    const claim = world.kept.claim
    world.kept.claim = (request) => {
      asked.push(request.slots.length)
      return claim(request)
    }
    for (let n = 0; n < 4; n += 1) void node.send({ ...PAID, id: `d${n}` })
    await world.pass(4 * SECOND)
    const open = (await world.reads.workList({ state: 'done', cursor: null, limit: 1_000 })).items
    expect(open).toHaveLength(135 * 4)
    expect(world.calls.filter(({ request }) => request.url === 'https://hangs.example/')).toHaveLength(60)
    expect(asked.filter((slots) => slots > 128).length).toBeLessThan(asked.length / 2)
  })

  test('[DY24] a rate limit and an order hold', async () => {
    const world = endpointWorld([null])
    const node = await world.start([{ ...HOOK, rateLimit: { profile: null, perMinute: 60, burst: 1 } }])
    for (let n = 0; n < 3; n += 1) void node.send({ ...PAID, id: `d${n}` })
    await world.pass()
    expect(world.calls).toHaveLength(1)
    await world.pass(1_100)
    expect(world.calls).toHaveLength(2)

    const ordered = endpointWorld([null])
    const other = await ordered.start([{ ...HOOK, order: { by: 'payload.order' } }])
    await accept(ordered, other, { ...PAID, id: 'x1' })
    await accept(ordered, other, { ...PAID, id: 'x2' })
    await accept(ordered, other, { ...PAID, id: 'y1', order: 'o2' })
    const sent = () => ordered.calls.map(({ request }) => JSON.parse(request.body ?? '').data.id)
    expect(sent()).toEqual(['x1', 'y1'])
    ordered.calls[0]?.answer(answered(204))
    await ordered.pass()
    expect(sent()).toEqual(['x1', 'y1', 'x2'])
  })
})

describe('operator actions', () => {
  test('[DY25] a delivery can be made due at once, or cancelled', async () => {
    const world = endpointWorld([answered(500), answered(204), answered(500)])
    const node = await world.start()
    const id = await accept(world, node)
    const { id: workId } = await workOf(world, id)
    await world.got(node.engine.retry(DEFAULT_TENANT, workId, ANN))
    expect((await workOf(world, id)).state).toBe('done')
    const next = await workOf(world, await accept(world, node, { ...PAID, id: 'd2' }))
    await world.got(node.engine.cancel(DEFAULT_TENANT, next.id, ANN))
    await world.pass(1 * HOUR)
    expect((await world.deliveries())[1]).toMatchObject({ state: 'cancelled' })
    expect(world.calls).toHaveLength(3)
  })

  test('[DY25] the replay of its dead letter goes to the deployed address, and ends without a call if it was delivered before', async () => {
    const world = endpointWorld([{ ...REFUSED, code: 'blocked' } as HttpOutcome, answered(204)])
    const node = await world.start()
    const id = await accept(world, node)
    await world.got(node.engine.apply(DEFAULT_TENANT, [SOURCE, { ...HOOK, url: 'https://new.example/' }]))
    const deadLetterOf = async () =>
      (await world.got(world.reads.deadLetters({ cursor: null, limit: 1 }))).items[0]!
    const { id: letter } = await deadLetterOf()
    const preview = await world.got(
      node.engine.replays.preview(DEFAULT_TENANT, { ids: [letter] }, { force: false }),
    )
    expect(preview.items).toMatchObject([{ verdict: 'would-call', reason: 'calls new.example' }])
    await world.got(node.engine.replay(DEFAULT_TENANT, letter, { force: false, ...ANN }))
    await world.pass()
    expect(world.calls[1]?.request).toMatchObject({ url: 'https://new.example/' })
    expect(world.calls[1]?.request.headers['webhook-id']).toBe(id)
    expect((await deadLetterOf()).state).toBe('resolved')
    expect((await world.deliveries()).map(({ state }) => state)).toEqual(['dead', 'done'])
  })

  test('[DY25] a replay of an event that was delivered meanwhile ends without a call, unless it is requested again', async () => {
    const blocked = { ...REFUSED, code: 'blocked' } as HttpOutcome
    const world = endpointWorld([blocked, blocked, answered(204)])
    const node = await world.start()
    const id = await accept(world, node)
    await world.got(node.engine.replays.beginEvents(DEFAULT_TENANT, { ids: [id] }, ANN))
    await world.pass(5 * SECOND)
    const letters = (await world.got(world.reads.deadLetters({ cursor: null, limit: 9 }))).items
    expect(letters).toHaveLength(2)
    const replay = async (at: number, again: boolean) => {
      const preview = node.engine.replays.preview(
        DEFAULT_TENANT,
        { ids: [letters[at]!.id] },
        { force: false, again },
      )
      const said = (await world.got(preview)).items[0]?.verdict
      await world.got(node.engine.replay(DEFAULT_TENANT, letters[at]!.id, { force: false, again, ...ANN }))
      await world.pass(2 * SECOND)
      return [said, world.calls.length]
    }
    expect(await replay(0, false)).toEqual(['would-call', 3])
    expect(await replay(1, false)).toEqual(['would-skip', 3])
    expect((await world.deliveries()).at(-1)).toMatchObject({
      state: 'skipped',
      effectRef: expect.any(String),
    })
  })

  test('[DY25] requested again, it is sent although it was delivered', async () => {
    const blocked = { ...REFUSED, code: 'blocked' } as HttpOutcome
    const world = endpointWorld([blocked, answered(204)])
    const node = await world.start()
    const id = await accept(world, node)
    await world.got(node.engine.replays.beginEvents(DEFAULT_TENANT, { ids: [id] }, ANN))
    await world.pass(5 * SECOND)
    const [letter] = (await world.got(world.reads.deadLetters({ cursor: null, limit: 9 }))).items
    await world.got(node.engine.replay(DEFAULT_TENANT, letter!.id, { force: false, again: true, ...ANN }))
    await world.pass(2 * SECOND)
    expect(world.calls.map(({ request }) => request.headers['webhook-id'])).toEqual([id, id, id])
    expect((await world.deliveries()).map(({ state }) => state)).toEqual(['dead', 'done', 'done'])
  })

  test('[DY26] explain names the subscriptions of an event, and why others do not want it', async () => {
    const world = endpointWorld()
    const node = await world.start([
      HOOK,
      { ...HOOK, name: 'never', where: "payload.order == 'o9'" },
      { ...HOOK, name: 'other', on: ['else.*'] },
    ])
    const id = await accept(world, node)
    const explained = await world.got(node.engine.inspect.explain(DEFAULT_TENANT, id))
    expect(explained.consumers.map(({ kind, name, verdict }) => [kind, name, verdict])).toEqual([
      ['subscription', 'crm', 'matched'],
      ['subscription', 'never', 'condition'],
      ['subscription', 'other', 'subject'],
    ])
    expect(explained.consumers[1]?.why).not.toEqual([])
  })

  test('[DY5] an event that is matched again is not sent again to subscriptions that have it', async () => {
    const world = endpointWorld([
      answered(204),
      { ...REFUSED, code: 'blocked' } as HttpOutcome,
      answered(204),
    ])
    const node = await world.start([HOOK, { ...EVERYTHING, on: ['shop.>'] }])
    const id = await accept(world, node)
    const before = (await world.deliveries()).map(({ consumer, state }) => [consumer, state])
    expect(before).toEqual([
      ['subscription:all', 'done'],
      ['subscription:crm', 'dead'],
    ])
    await world.got(node.engine.replays.beginEvents(DEFAULT_TENANT, { ids: [id] }, ANN))
    await world.pass(10 * SECOND)
    expect(world.calls.map(({ request }) => request.url)).toEqual([
      'https://all.example/',
      'https://crm.example/hooks',
      'https://crm.example/hooks',
    ])
  })
})
