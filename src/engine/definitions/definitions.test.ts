import { describe, expect, test } from 'vitest'
import { makeStaticCode } from '../../adapters/code-static/index.ts'
import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import { makeMemoryStore } from '../../adapters/store-memory/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import type { HttpRequest } from '../../ports/http-client.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  makeWorld,
  type Node,
  PAID,
  ROUTE,
  SOURCE,
  type World,
  workOf,
} from '../engine.fixture.ts'
import type { ApplyRequest, Definitions } from './definition-types.ts'
import { makeDefinitions } from './definitions.ts'
import { makeRegistry } from './registry.ts'

const OTHER = 'other' as TenantId
const OWN = { ...ROUTE, name: 'mail' }

const api = (
  documents: readonly (typeof ROUTE | typeof SOURCE)[],
  more: Partial<ApplyRequest> = {},
): ApplyRequest => ({
  definitions: documents.map((document) => ({ document, authored: null })),
  managedBy: 'api',
  prune: false,
  by: 'mona',
  reason: null,
  ...more,
})

/** Keeps the time still while a promise settles. */
async function settle<Value>(world: World, promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {})
  await world.pass()
  return promise
}

async function start(answer?: (request: HttpRequest) => typeof CREATED) {
  const world = makeWorld(answer ?? (() => CREATED))
  const node = await world.node()
  const { definitions } = node.engine
  return { world, node, definitions }
}

/** The definitions of a node that has no folder and does not follow others by itself. */
async function bare(
  world: World,
  store = world.store,
  registry = makeRegistry({ store }),
): Promise<Definitions> {
  const definitions = makeDefinitions({
    store,
    registry,
    code: makeStaticCode({}),
    log: makeMemoryLog(),
    clock: world.clock,
    now: world.now,
    wake() {},
  })
  await settle(world, definitions.load())
  return definitions
}

const states = async (world: World, ids: readonly Parameters<typeof workOf>[1][]) =>
  Promise.all(ids.map(async (id) => (await workOf(world, id)).state))

describe('applying', () => {
  test('[AC18] documents that take long to compile are compiled one by one, and the node does other work between them', async () => {
    const world = makeWorld(() => CREATED)
    const documents = Array.from({ length: 8 }, (_, index) => ({ ...OWN, name: `own_${index}` }))
    const breaksOf = async (stepMs: number) => {
      const store = makeMemoryStore({ now: () => 1_000, defer: (callback) => queueMicrotask(callback) })
      let [elapsedMs, breaks] = [0, 0]
      const definitions = makeDefinitions({
        store,
        registry: makeRegistry({ store }),
        code: makeStaticCode({}),
        log: makeMemoryLog(),
        clock: {
          monotonic: () => (elapsedMs += stepMs),
          defer(callback) {
            breaks += 1
            queueMicrotask(callback)
          },
        },
        now: world.now,
        wake() {},
      })
      await definitions.load()
      await definitions.apply(DEFAULT_TENANT, api(structuredClone(documents)))
      expect(await definitions.list(DEFAULT_TENANT)).toHaveLength(documents.length)
      return breaks
    }
    // Between any two of them: before the commit, and again when they are deployed.
    expect(await breaksOf(25)).toBeGreaterThanOrEqual(documents.length)
    expect(await breaksOf(0)).toBe(0)
  })

  test('[DV1] [DV2] [DV3] versions grow with changes, and with nothing else', async () => {
    const { world, definitions } = await start()
    const first = await settle(world, definitions.apply(DEFAULT_TENANT, api([OWN], { reason: 'try it' })))
    expect(first).toMatchObject({ version: 2, changes: [{ kind: 'Route', name: 'mail', change: 'create' }] })
    const again = await settle(world, definitions.apply(DEFAULT_TENANT, api([OWN])))
    expect(again).toEqual({ ...first, changes: [{ kind: 'Route', name: 'mail', change: 'unchanged' }] })
    const next = { ...OWN, maxWaitMs: 1_000 }
    const second = await settle(world, definitions.apply(DEFAULT_TENANT, api([next])))
    expect(second.version).toBe(3)
    const { items, nextCursor } = await definitions.versions(DEFAULT_TENANT, { cursor: null, limit: 2 })
    expect(items).toMatchObject([
      { version: 3, hash: second.hash, by: 'mona', changes: 1 },
      { version: 2, hash: first.hash, by: 'mona', reason: 'try it', changes: 1 },
    ])
    const rest = await definitions.versions(DEFAULT_TENANT, { cursor: nextCursor, limit: 2 })
    expect(rest).toMatchObject({ items: [{ version: 1, changes: 2 }], nextCursor: null })
    const { history } = await definitions.one(DEFAULT_TENANT, 'Route', 'mail')
    expect(history.map(({ version }) => version)).toEqual([3, 2])
  })

  test('a list of versions reads no bundle, however many there are', async () => {
    const { world, node } = await start()
    for (let index = 0; index < 60; index += 1) {
      const next = { ...OWN, maxWaitMs: 1_000 + index }
      await settle(world, node.engine.definitions.apply(DEFAULT_TENANT, api([next])))
    }
    const asked: string[] = []
    const counting: World['store'] = {
      ...world.store,
      forTenant: () => ({
        ...world.reads,
        record(kind, key) {
          asked.push(key)
          return world.reads.record(kind, key)
        },
      }),
    }
    const definitions = await bare(world, counting)
    asked.length = 0
    const whole = await definitions.versions(DEFAULT_TENANT, { cursor: null, limit: 500 })
    expect(whole.items.map(({ version }) => version)).toEqual(Array.from({ length: 61 }, (_, at) => 61 - at))
    expect(whole.nextCursor).toBeNull()
    expect(asked.filter((key) => key.startsWith('v/'))).toEqual([])
    expect(asked).toHaveLength(62)
    // Versions from before summaries were stored are shown all the same.
    const keys = Array.from({ length: 30 }, (_, at) => `h/${String(at + 1).padStart(8, '0')}`)
    const forget = keys.map((key) => ({ w: 'record.delete', kind: 'bundle', key }) as const)
    await settle(world, world.store.commit({ tenant: DEFAULT_TENANT, guards: [], writes: forget }))
    expect(await definitions.versions(DEFAULT_TENANT, { cursor: null, limit: 500 })).toEqual(whole)
  })

  test('[DV1] of two nodes that saw the same version one wins', async () => {
    const world = makeWorld(() => CREATED)
    const one = await world.node({ name: 'one' })
    const two = await world.node({ name: 'two' })
    const both = [one, two].map(({ engine }, index) =>
      engine.definitions.apply(DEFAULT_TENANT, api([{ ...OWN, maxWaitMs: 1_000 + index }])),
    )
    for (const promise of both) promise.catch(() => {})
    await world.pass()
    const results = await Promise.allSettled(both)
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const lost = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult
    expect(lost.reason).toMatchObject({ code: 'conflict' })
    expect(
      (await one.engine.definitions.versions(DEFAULT_TENANT, { cursor: null, limit: 9 })).items[0],
    ).toMatchObject({
      version: 2,
    })
  })

  test('[DV1] a base that is not deployed is refused', async () => {
    const { world, definitions } = await start()
    await expect(
      settle(world, definitions.apply(DEFAULT_TENANT, api([OWN], { base: 7 }))),
    ).rejects.toMatchObject({
      code: 'conflict',
      message: 'version 1 is in force, not 7',
    })
    expect((await settle(world, definitions.apply(DEFAULT_TENANT, api([OWN], { base: 1 })))).version).toBe(2)
  })

  test('[DV4] the API cannot change what the folder has, and nothing is changed', async () => {
    const { world, definitions } = await start()
    const request = api([OWN, { ...ROUTE, maxWaitMs: 5_000 }])
    await expect(settle(world, definitions.apply(DEFAULT_TENANT, request))).rejects.toMatchObject({
      code: 'managed_by_folder',
      details: { definitions: ['Route/book'] },
    })
    expect((await definitions.list(DEFAULT_TENANT)).map(({ name, version }) => [name, version])).toEqual([
      ['shop', 1],
      ['book', 1],
    ])
  })

  test('[DV5] [DV6] what the folder lost stays until it is pruned; the demo is removed by itself', async () => {
    const { world, node, definitions } = await start()
    const demo = api([{ ...ROUTE, name: 'demo' }], { managedBy: 'demo' })
    await settle(world, definitions.apply(DEFAULT_TENANT, demo))
    await settle(world, definitions.apply(DEFAULT_TENANT, api([SOURCE], { managedBy: 'folder' })))
    expect((await definitions.list(DEFAULT_TENANT)).map(({ name }) => name)).toEqual(['shop', 'book'])
    expect(definitions.goneFromFolder(DEFAULT_TENANT)).toMatchObject([{ name: 'book' }])
    const eventId = await accept(world, node)
    expect((await workOf(world, eventId)).state).toBe('done')
    await settle(world, definitions.apply(DEFAULT_TENANT, api([SOURCE], { prune: true })))
    expect((await definitions.list(DEFAULT_TENANT)).map(({ name }) => name)).toEqual(['shop'])
    expect(definitions.goneFromFolder(DEFAULT_TENANT)).toEqual([])
  })

  test('[DV22] what the folder of one node has is held by every node, and what it lost by none', async () => {
    const { world, definitions } = await start()
    const two = await bare(world)
    const other = api([{ ...SOURCE, name: 'other' }], { prune: true })
    expect((await settle(world, two.apply(DEFAULT_TENANT, other))).changes).toEqual([
      { kind: 'Source', name: 'other', change: 'create' },
    ])
    const changed = api([{ ...ROUTE, maxWaitMs: 5_000 }])
    await expect(settle(world, two.apply(DEFAULT_TENANT, changed))).rejects.toMatchObject({
      code: 'managed_by_folder',
    })
    expect(two.goneFromFolder(DEFAULT_TENANT)).toEqual([])

    const lost = await settle(
      world,
      definitions.apply(DEFAULT_TENANT, api([SOURCE], { managedBy: 'folder' })),
    )
    expect(lost.version).toBe(2)
    await settle(world, two.refresh(DEFAULT_TENANT))
    expect(two.goneFromFolder(DEFAULT_TENANT)).toMatchObject([{ name: 'book' }])
    const planned = await settle(world, two.plan(DEFAULT_TENANT, other))
    expect(planned.changes.map(({ name, change }) => `${name} ${change}`)).toEqual([
      'book remove',
      'other unchanged',
    ])
    // A definition that returns is the folder's again.
    await settle(world, definitions.apply(DEFAULT_TENANT, api([SOURCE, ROUTE], { managedBy: 'folder' })))
    await expect(settle(world, two.apply(DEFAULT_TENANT, changed))).rejects.toMatchObject({
      code: 'managed_by_folder',
    })
  })

  test('[DV22] a rollback changes nothing about what the folder has', async () => {
    const { world, definitions } = await start()
    await settle(world, definitions.apply(DEFAULT_TENANT, api([OWN])))
    await settle(world, definitions.apply(DEFAULT_TENANT, api([SOURCE], { managedBy: 'folder' })))
    await settle(world, definitions.apply(DEFAULT_TENANT, api([], { prune: true })))
    await settle(world, definitions.rollback(DEFAULT_TENANT, { to: 1, by: 'mona', reason: null }))
    expect(definitions.goneFromFolder(DEFAULT_TENANT)).toMatchObject([{ name: 'book' }])
  })

  test('[DV7] a rollback is a new version of the old definitions', async () => {
    const { world, node, definitions } = await start()
    await settle(world, definitions.apply(DEFAULT_TENANT, api([OWN])))
    const back = await settle(
      world,
      definitions.rollback(DEFAULT_TENANT, { to: 1, by: 'mona', reason: 'oops' }),
    )
    expect(back).toMatchObject({
      version: 3,
      changes: [
        { name: 'shop', change: 'unchanged' },
        { name: 'book', change: 'unchanged' },
        { name: 'mail', change: 'remove' },
      ],
    })
    const eventId = await accept(world, node)
    expect(await world.reads.workOfEvent(eventId)).toHaveLength(1)
    const forth = await settle(
      world,
      definitions.rollback(DEFAULT_TENANT, { to: 2, by: 'mona', reason: null }),
    )
    expect(forth.version).toBe(4)
    await expect(
      settle(world, definitions.rollback(DEFAULT_TENANT, { to: 99, by: 'mona', reason: null })),
    ).rejects.toMatchObject({ code: 'not_found' })
  })

  test('[DV28] a rollback says what the folder will restore, and the folder says that it did', async () => {
    const { world, definitions } = await start()
    const folder = (documents: readonly (typeof ROUTE | typeof SOURCE)[]) =>
      settle(world, definitions.apply(DEFAULT_TENANT, api(documents, { managedBy: 'folder' })))
    const changed = { ...ROUTE, maxWaitMs: 5_000 }
    await folder([SOURCE, changed])
    const said = { by: 'mona', reason: null }
    const back = await settle(world, definitions.rollback(DEFAULT_TENANT, { to: 1, ...said }))
    expect(back.untilFolder).toEqual([{ id: 'Route/book', path: null }])
    const own = await settle(world, definitions.apply(DEFAULT_TENANT, api([OWN])))
    expect(own.putBack).toEqual([])
    expect((await folder([SOURCE, changed])).putBack).toEqual(['Route/book'])
    expect((await folder([SOURCE, ROUTE])).putBack).toEqual([])
    const other = await settle(world, definitions.rollback(DEFAULT_TENANT, { to: 4, ...said }))
    expect(other.untilFolder).toEqual([])
  })

  test('[DV26] a rollback to code that cannot be loaded is refused by name, and changes nothing', async () => {
    const { world, node, definitions } = await start()
    const lost = { type: 'function', name: 'f', codeHash: 'lost', with: null, timeoutMs: 1_000 } as const
    await settle(world, definitions.apply(DEFAULT_TENANT, api([{ ...OWN, do: lost }])))
    const back = (to: number) => definitions.rollback(DEFAULT_TENANT, { to, by: 'mona', reason: null })
    await settle(world, back(1))
    await expect(settle(world, back(2))).rejects.toMatchObject({
      code: 'conflict',
      message: 'the code that Route/mail had then cannot be loaded by this node',
      details: { definitions: ['Route/mail'] },
    })
    expect((await definitions.list(DEFAULT_TENANT)).map(({ name }) => name)).toEqual(['shop', 'book'])

    // Nor does this node claim jobs that it could not run.
    await settle(world, definitions.apply(DEFAULT_TENANT, api([{ ...OWN, do: lost }])))
    const eventId = await accept(world, node)
    await world.pass(10_000)
    const work = await world.reads.workOfEvent(eventId)
    expect(work.map(({ consumer, state, epoch }) => [consumer, state, epoch])).toEqual([
      ['route:book', 'done', 1],
      ['route:mail', 'ready', 0],
    ])
  })

  test('[DV8] the written text is stored, and a comment alone is no version', async () => {
    const { world, definitions } = await start()
    const written = (text: string) =>
      api([], { definitions: [{ document: OWN, authored: { path: 'a/mail.yaml', text } }] })
    const first = await settle(world, definitions.apply(DEFAULT_TENANT, written('kind: Route\n')))
    const second = await settle(world, definitions.apply(DEFAULT_TENANT, written('# why\nkind: Route\n')))
    expect(second.version).toBe(first.version)
    expect(await definitions.one(DEFAULT_TENANT, 'Route', 'mail')).toMatchObject({
      authored: { path: 'a/mail.yaml', text: '# why\nkind: Route\n' },
    })
  })

  test('[DV9] jobs that began stay on their version', async () => {
    const { world, node, definitions } = await start()
    await settle(world, control(definitions, 'pause'))
    const eventId = await accept(world, node)
    const moved = { ...ROUTE, do: { ...HTTP, url: 'https://elsewhere.example/' } }
    await settle(world, definitions.apply(DEFAULT_TENANT, api([SOURCE, moved], { managedBy: 'folder' })))
    await settle(world, control(definitions, 'resume'))
    await world.pass(1_000)
    expect((await workOf(world, eventId)).state).toBe('done')
    expect(world.calls.map(({ request }) => request.url)).toEqual(['https://vendor.example/orders/o1'])
  })

  test('[DV10] tenants are isolated, and a restart finds both', async () => {
    const { world, node, definitions } = await start()
    await settle(world, definitions.apply(OTHER, api([OWN])))
    expect((await definitions.list(DEFAULT_TENANT)).map(({ name }) => name)).toEqual(['shop', 'book'])
    await settle(world, definitions.apply(DEFAULT_TENANT, api([{ ...OWN, name: 'own' }])))
    node.crash()
    const again = (await world.node({ documents: [SOURCE, ROUTE] })).engine.definitions
    await settle(world, again.load())
    expect((await again.list(DEFAULT_TENANT)).map(({ name }) => name)).toEqual(['shop', 'book', 'own'])
    expect((await again.list(OTHER)).map(({ name }) => name)).toEqual(['mail'])
    expect(await again.list('nobody' as TenantId)).toEqual([])
  })

  test('[DV11] a node follows what another one applied and paused', async () => {
    const world = makeWorld(() => CREATED)
    const one = await world.node({ name: 'one' })
    const two = await world.node({ name: 'two' })
    await settle(world, one.engine.definitions.apply(DEFAULT_TENANT, api([OWN])))
    await settle(world, control(one.engine.definitions, 'disable'))
    await world.pass(6_000)
    const eventId = await accept(world, two)
    const work = await world.reads.workOfEvent(eventId)
    expect(work.map(({ consumer, state }) => `${consumer} ${state}`).sort()).toEqual([
      'route:book skipped',
      'route:mail done',
    ])
  })
})

test('[DV23] what another node applies between two reads is not mixed with the old', async () => {
  const { world, definitions } = await start()
  await settle(world, control(definitions, 'pause'))
  const paused = { ...ROUTE, status: 'paused' } as const
  let isAsked = false
  const store = {
    ...world.store,
    forTenant(tenant: TenantId) {
      const reads = world.store.forTenant(tenant)
      const records: typeof reads.records = async (query) => {
        // The operator's override ends here, because the document declares the status itself from now on.
        const request = api([SOURCE, paused], { managedBy: 'folder' })
        if (!isAsked) {
          isAsked = true
          await definitions.apply(DEFAULT_TENANT, request)
        }
        return reads.records(query)
      }
      return { ...reads, records }
    },
  }
  const registry = makeRegistry({ store })
  await bare(world, store, registry)
  expect(isAsked).toBe(true)
  expect(registry.route(DEFAULT_TENANT, 'route:book')?.status).toBe('paused')
})

function control(definitions: Definitions, verb: 'pause' | 'resume' | 'disable', name = 'book') {
  return definitions.control(DEFAULT_TENANT, 'Route', name, verb, { by: 'mona', reason: 'vendor is down' })
}

describe('pausing', () => {
  test('[DV12] [DV13] a paused route keeps its jobs over a restart, and runs them when resumed', async () => {
    const { world, node, definitions } = await start()
    const before = (await definitions.list(DEFAULT_TENANT)).find(({ name }) => name === 'book')
    const paused = await settle(world, control(definitions, 'pause'))
    expect(paused).toEqual({
      ...before,
      status: 'paused',
      declaredStatus: 'active',
      control: { status: 'paused', at: world.now(), by: 'mona', reason: 'vendor is down' },
    })
    const ids = [await accept(world, node)]
    await world.pass(10_000)
    node.crash()
    const next: Node = await world.node()
    ids.push(await accept(world, next, { ...PAID, id: 'd2', order: 'o2' }))
    await world.pass(60_000)
    expect(await states(world, ids)).toEqual(['ready', 'ready'])
    expect(await settle(world, control(next.engine.definitions, 'resume'))).toEqual(before)
    await world.pass()
    expect(await states(world, ids)).toEqual(['done', 'done'])
    expect(
      (await next.engine.definitions.versions(DEFAULT_TENANT, { cursor: null, limit: 9 })).items,
    ).toHaveLength(1)
  })

  test('[DV13] jobs of a route that was removed and comes back paused stay', async () => {
    const world = makeWorld(() => answered(503))
    const slow = { ...ROUTE, retry: { profile: null, attempts: 2, delaysMs: [20_000] } }
    const node = await world.node({ documents: [SOURCE, slow] })
    await world.pass(29_000)
    const eventId = await accept(world, node)
    await settle(world, node.engine.apply(DEFAULT_TENANT, [SOURCE]))
    // Here its jobs are found as those of a consumer that is no longer defined.
    await world.pass(5_000)
    await settle(world, node.engine.apply(DEFAULT_TENANT, [SOURCE, { ...slow, status: 'paused' }]))
    await world.pass(23_000)
    expect(world.calls).toHaveLength(1)
    expect((await workOf(world, eventId)).state).toBe('ready')
  })

  test('[DV21] a node that does not know a new, paused route yet leaves its jobs alone', async () => {
    const world = makeWorld(() => CREATED)
    // The node looks for jobs without a consumer between two checks of the definitions.
    const config = { pollMs: 8_000 }
    await world.node({ name: 'two', documents: [SOURCE], config })
    const one = await world.node({ name: 'one', documents: [SOURCE] })
    await world.pass(30_500)
    await settle(world, one.engine.apply(DEFAULT_TENANT, [SOURCE, { ...ROUTE, status: 'paused' }]))
    const eventId = await accept(world, one)
    await world.pass(6_000)
    expect(world.calls).toEqual([])
    expect((await workOf(world, eventId)).state).toBe('ready')
  })

  test('[DV14] a disabled route keeps queued jobs and skips new events', async () => {
    const { world, node, definitions } = await start()
    await settle(world, control(definitions, 'pause'))
    const queued = await accept(world, node)
    await settle(world, control(definitions, 'disable'))
    const arriving = await accept(world, node, { ...PAID, id: 'd2', order: 'o2' })
    await world.pass(10_000)
    expect(await states(world, [queued, arriving])).toEqual(['ready', 'skipped'])
    await settle(world, control(definitions, 'resume'))
    await world.pass()
    expect(await states(world, [queued, arriving])).toEqual(['done', 'skipped'])
  })

  test('[DV14] a disabled source refuses, and accepts again', async () => {
    const { world, node, definitions } = await start()
    const say = (verb: 'disable' | 'resume') =>
      settle(world, definitions.control(DEFAULT_TENANT, 'Source', 'shop', verb, { by: 'mona', reason: null }))
    await say('disable')
    await expect(settle(world, node.send(PAID))).rejects.toMatchObject({ code: 'source_disabled' })
    await say('resume')
    expect(await settle(world, node.send(PAID))).toMatchObject({ duplicate: false })
  })

  test('[DV15] an override ends with its definition, and when the document declares a new status', async () => {
    const { world, definitions } = await start()
    await settle(world, definitions.apply(DEFAULT_TENANT, api([OWN])))
    await settle(world, control(definitions, 'pause', 'mail'))
    const apply = (documents: Parameters<typeof api>[0], prune = false) =>
      settle(world, definitions.apply(DEFAULT_TENANT, api(documents, { prune })))
    const status = async () => (await definitions.one(DEFAULT_TENANT, 'Route', 'mail')).item.status
    await apply([{ ...OWN, maxWaitMs: 9_000 }])
    expect(await status()).toBe('paused')
    await apply([{ ...OWN, status: 'disabled' }])
    expect(await status()).toBe('disabled')
    await settle(world, control(definitions, 'resume', 'mail'))
    expect(await status()).toBe('active')
    await apply([], true)
    await apply([OWN])
    expect(await status()).toBe('active')
    await settle(world, control(definitions, 'pause', 'mail'))
    await apply([], true)
    await apply([OWN])
    expect(await status()).toBe('active')
  })

  test('[DV16] what cannot be paused is refused, and a missing definition is not found', async () => {
    const { world, definitions } = await start()
    const said = { by: 'mona', reason: null }
    const profile = { kind: 'Profile', name: 'slow', description: null, retry: ROUTE.retry } as const
    await settle(
      world,
      definitions.apply(DEFAULT_TENANT, api([], { definitions: [{ document: profile, authored: null }] })),
    )
    await expect(
      settle(world, definitions.control(DEFAULT_TENANT, 'Profile', 'slow', 'pause', said)),
    ).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(
      settle(world, definitions.control(DEFAULT_TENANT, 'Route', 'nobody', 'pause', said)),
    ).rejects.toMatchObject({ code: 'not_found' })
    await expect(
      settle(world, definitions.control(OTHER, 'Route', 'book', 'pause', said)),
    ).rejects.toMatchObject({ code: 'not_found' })
  })
})

test('[DV17] a plan shows what was and what would be, and changes nothing', async () => {
  const { world, definitions } = await start()
  const authored = { path: 'mail.yaml', text: 'old' }
  await settle(
    world,
    definitions.apply(DEFAULT_TENANT, api([], { definitions: [{ document: OWN, authored }] })),
  )
  const next = { document: { ...OWN, maxWaitMs: 1 }, authored: { path: 'mail.yaml', text: 'new' } }
  const planned = await definitions.plan(DEFAULT_TENANT, {
    definitions: [next, { document: SOURCE, authored: null }],
    managedBy: 'api',
    prune: true,
  })
  expect(planned).toEqual({
    base: 2,
    warnings: [],
    changes: [
      { kind: 'Source', name: 'shop', change: 'unchanged', before: null, after: null },
      { kind: 'Route', name: 'mail', change: 'update', before: { document: OWN, authored }, after: next },
    ],
  })
  expect((await definitions.versions(DEFAULT_TENANT, { cursor: null, limit: 9 })).items).toHaveLength(2)
})

test('listeners are called when definitions are deployed', async () => {
  const { world, definitions } = await start()
  const heard: string[] = []
  const stop = definitions.onChange(({ tenant, version }) => heard.push(`${tenant} ${version}`))
  await settle(world, definitions.apply(OTHER, api([OWN])))
  await settle(world, control(definitions, 'pause'))
  stop()
  await settle(world, control(definitions, 'resume'))
  expect(heard).toEqual(['other 1', 'default 1'])
})
