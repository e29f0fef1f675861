// Nodes that share a store wake each other: one memory store, wake-up signals over the in-process bus, manual time.

import { describe, expect, test } from 'vitest'
import { type LocalHubOptions, type Moment, makeLocalHub } from '../../adapters/bus-local/index.ts'
import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import type { RouteDocument } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import type { Role } from '../../core/queue/node-role/index.ts'
import type { Write } from '../../ports/store.ts'
import { type Followed, readWake, type Wake, type Wakes } from '../../ports/wakes.ts'
import {
  accept,
  answered,
  CREATED,
  makeWorld,
  type NodeOptions,
  ROUTE,
  SOURCE,
  type World,
} from '../engine.fixture.ts'
import type { Change, Watcher } from '../observe/change-feed.ts'
import { makeNodesFeed } from '../observe/feed-between-nodes.ts'
import { endpointWorld, HOOK } from '../webhooks/deliveries/deliveries.fixture.ts'
import { makeNodeWakes } from './wake-signals.ts'

/** The wake-up signals of one node, driven by the test. */
function makeWire() {
  const told: Wake[] = []
  let hear: (wake: Wake) => void = () => {}
  const wakes: Wakes = {
    send: (wake) => void told.push(wake),
    listen(listener) {
      hear = listener
      return () => {}
    },
  }
  return { wakes, told, hear: (wake: Wake) => hear(wake) }
}

const SHARED = { isShared: true, pollMs: 60_000 }
const DOCUMENTS = [SOURCE, ROUTE]

/** Records every wake-up signal and its sender. */
function makeCluster(world: World, fate: LocalHubOptions['fate'] = () => ({})) {
  const hub = makeLocalHub({ clock: world.clock, fate })
  const told: { readonly node: string; readonly wake: Wake }[] = []
  const connect = (name: string): Wakes => {
    const { wakes } = hub.connect(name)
    return {
      listen: wakes.listen,
      send(wake) {
        told.push({ node: name, wake })
        wakes.send(wake)
      },
    }
  }
  const node = (name: string, options: NodeOptions = {}) =>
    world.node({
      documents: DOCUMENTS,
      ...options,
      name,
      wakes: connect(name),
      config: { ...SHARED, ...options.config },
    })
  return { told, node, hub }
}

const roles = (...names: readonly Role[]): ReadonlySet<Role> => new Set(names)
const kinds = (told: readonly { readonly wake: Wake }[]) => told.map(({ wake }) => wake.wake)

const pay = (order: string) => ({ kind: 'paid', id: order, order })

describe('jobs', () => {
  test('[WK10] a node that runs no jobs wakes those that do: nothing waits for the poll', async () => {
    const world = makeWorld(() => CREATED)
    const { node, told } = makeCluster(world)
    const ingestNode = await node('door', { config: { roles: roles('ingest', 'api') } })
    await node('worker', { config: { roles: roles('work') } })
    await world.pass(1_000)
    await accept(world, ingestNode, pay('o1'))
    await world.pass(100)
    expect(world.calls.map((call) => call.node)).toEqual(['worker'])
    expect(kinds(told.filter((one) => one.node === 'door'))).toContain('work')
  })

  test('[WK10] a node without a free slot wakes the others; one with a free slot does not', async () => {
    const world = makeWorld()
    const { node, told } = makeCluster(world)
    const small = await node('small', { config: { concurrency: 2 } })
    await node('large')
    await world.pass(1_000)
    told.length = 0
    for (const order of ['a', 'b']) await accept(world, small, pay(order))
    expect(told).toEqual([])
    for (const order of ['c', 'd', 'e']) await accept(world, small, pay(order))
    await world.pass(200)
    expect(world.calls.map((call) => call.node)).toEqual(['small', 'small', 'large', 'large', 'large'])
  })

  test('[WK10] jobs of a dead node are taken by all nodes with free slots', async () => {
    const world = makeWorld()
    const { node } = makeCluster(world)
    const first = await node('first')
    await node('second')
    await world.pass(1_000)
    for (const order of ['a', 'b', 'c']) await accept(world, first, pay(order))
    first.crash()
    const before = world.calls.length
    for (let round = 0; round < 5; round += 1) {
      await world.pass(40_000)
      for (const call of world.calls) call.answer(CREATED)
    }
    expect(before).toBe(3)
    const left = await world.reads.workList({ state: 'ready', cursor: null, limit: 10 })
    expect(left.items).toEqual([])
  })

  test('[WK11] a lost wake-up signal delays jobs until the next poll, and no longer', async () => {
    const world = makeWorld(() => CREATED)
    const { node } = makeCluster(world, ({ what }: Moment) => ({ isLost: what === 'wake' }))
    const ingestNode = await node('door', { config: { roles: roles('ingest') } })
    await node('worker', { config: { roles: roles('work'), pollMs: 1_000 } })
    await accept(world, ingestNode, pay('o1'))
    await world.pass(1_000)
    expect(world.calls).toHaveLength(1)
  })

  test('[WK12] a burst sends a few signals, and costs each other node a few claims', async () => {
    const world = makeWorld()
    const { node, told } = makeCluster(world)
    const ingestNode = await node('door', { config: { roles: roles('ingest') } })
    let claims = 0
    await node('worker', {
      config: { roles: roles('work') },
      faults: {
        claim(pass) {
          claims += 1
          return pass()
        },
      },
    })
    await world.pass(1_000)
    told.length = 0
    claims = 0
    for (let index = 0; index < 200; index += 1) await accept(world, ingestNode, pay(`o${index}`))
    await world.pass(100)
    expect(kinds(told).length).toBeLessThanOrEqual(6)
    expect(claims).toBeLessThanOrEqual(12)
    expect(world.calls.length).toBe(200)
  })

  test('[WK10] a single node sends nothing', async () => {
    const world = makeWorld()
    const { node, told } = makeCluster(world)
    const alone = await node('alone', { config: { isShared: false, concurrency: 1 } })
    for (const order of ['a', 'b', 'c']) await accept(world, alone, pay(order))
    expect(told).toEqual([])
  })
})

describe('shared state', () => {
  const paused: RouteDocument = { ...ROUTE, status: 'paused' }

  test('[WK13] a definition that one node applies is active on the others at once', async () => {
    const world = makeWorld(() => CREATED)
    const { node } = makeCluster(world)
    const one = await node('one')
    const two = await node('two')
    await world.pass(1_000)
    const applying = one.engine.apply(DEFAULT_TENANT, [SOURCE, paused])
    await world.pass(50)
    await applying
    await accept(world, two, pay('o1'))
    await world.pass(500)
    expect(world.calls).toEqual([])
    const resuming = one.engine.apply(DEFAULT_TENANT, DOCUMENTS)
    await world.pass(50)
    await resuming
    await world.pass(200)
    expect(world.calls).toHaveLength(1)
  })

  test('[WK13] a host blocked on one node is blocked on the others at once', async () => {
    const world = makeWorld(() => answered(429, { 'retry-after': '60' }))
    const fixed: RouteDocument = {
      ...ROUTE,
      do: { ...ROUTE.do, url: 'https://vendor.example/x' } as RouteDocument['do'],
    }
    const { node } = makeCluster(world)
    const one = await node('one', { documents: [SOURCE, fixed] })
    const two = await node('two', { documents: [SOURCE, fixed] })
    await world.pass(1_000)
    // The second refusal in a row closes it.
    await accept(world, one, pay('o1'))
    await accept(world, one, pay('o2'))
    await world.pass(100)
    const before = world.calls.length
    await accept(world, two, pay('o3'))
    await world.pass(2_000)
    expect(world.calls.slice(0, before).map((call) => call.node)).toContain('one')
    expect(world.calls).toHaveLength(before)
  })

  test('[WK13] handling a signal sends none: two nodes do not wake each other endlessly', async () => {
    const world = makeWorld(() => CREATED)
    const { node, told } = makeCluster(world)
    const one = await node('one')
    await node('two')
    await node('three')
    await world.pass(1_000)
    told.length = 0
    const applying = one.engine.apply(DEFAULT_TENANT, [SOURCE, paused])
    await world.pass(30_000)
    await applying
    expect(told).toEqual([{ node: 'one', wake: { wake: 'definitions', tenant: DEFAULT_TENANT } }])
  })

  test('[WK13] for a bucket that one node closed, the others read only that record', async () => {
    const world = makeWorld(() => answered(429, { 'retry-after': '60' }))
    const { node, told } = makeCluster(world)
    const one = await node('one')
    await world.pass(1_000)
    told.length = 0
    await accept(world, one, pay('o1'))
    await accept(world, one, pay('o2'))
    await world.pass(50)
    const heard = told.map(({ wake }) => wake).filter(({ wake }) => wake === 'definitions')
    expect(heard).toEqual([{ wake: 'definitions', tenant: DEFAULT_TENANT, kinds: ['bucket'] }])
  })

  test('[WK13] signals of several kinds are read together, and one without a kind means all', async () => {
    const world = makeWorld()
    const hub = makeLocalHub({ clock: world.clock, fate: () => ({}) })
    const learnt: (readonly Followed[] | null)[] = []
    const make = (name: string) =>
      makeNodeWakes({
        clock: world.clock,
        random: { unit: () => 0, bytes: (count) => new Uint8Array(count) },
        log: makeMemoryLog(),
        wakes: hub.connect(name).wakes,
        takes: () => true,
        wake: () => {},
        learn: async (_tenant, kinds) => void learnt.push(kinds === null ? null : [...kinds].sort()),
      })
    const [teller, hearer] = [make('one'), make('two')]
    hearer.start()
    const tell = async (...kinds: readonly (Followed | null)[]) => {
      learnt.length = 0
      for (const kind of kinds) teller.changed(DEFAULT_TENANT, kind)
      await world.pass(1_000)
      return [...learnt]
    }
    expect(await tell('circuit')).toEqual([['circuit']])
    expect(await tell('circuit', 'rate', 'bucket')).toEqual([['circuit'], ['bucket', 'rate']])
    expect(await tell('circuit', 'rate', null)).toEqual([['circuit'], null])
    hearer.stop()
  })

  test('[WK14] signals of a newer version are ignored', async () => {
    const world = makeWorld(() => CREATED)
    const { node, hub } = makeCluster(world)
    const one = await node('one')
    hub.connect('newer').wakes.send({ wake: 'tides' } as unknown as Wake)
    await world.pass(1_000)
    await accept(world, one, pay('o1'))
    await world.pass(100)
    expect(world.calls).toHaveLength(1)
  })
})

describe('the change feed across nodes', () => {
  function makeWatcher() {
    const seen: { readonly tenant: TenantId; readonly change: Change }[] = []
    const gaps: (TenantId | undefined)[] = []
    const watcher: Watcher = {
      changed: (tenant, change) => void seen.push({ tenant, change }),
      lost: (tenant) => void gaps.push(tenant),
    }
    return { seen, gaps, watcher }
  }

  test('[FD14] a watcher on one node sees the changes of the others once', async () => {
    const world = makeWorld(() => CREATED)
    const { node } = makeCluster(world)
    const one = await node('one')
    const two = await node('two')
    const three = await node('three')
    const { seen, watcher } = makeWatcher()
    const other = makeWatcher()
    const unwatch = one.engine.watch(watcher)
    three.engine.watch(other.watcher)
    await world.pass(50)
    const eventId = await accept(world, two, pay('o1'))
    await world.pass(500)
    const ofEvent = seen.filter(({ change }) => change.type === 'event' && change.id === eventId)
    expect(ofEvent).toHaveLength(1)
    expect(other.seen.filter(({ change }) => change.type === 'event')).toHaveLength(1)
    expect(seen.filter(({ change }) => change.type === 'work' && change.state === 'done')).toHaveLength(1)
    unwatch()
    const before = seen.length
    await accept(world, two, pay('o2'))
    await world.pass(500)
    expect(seen).toHaveLength(before)
  })

  test('[FD16] without watchers nothing is sent, and a watcher that leaves is forgotten', async () => {
    const world = makeWorld(() => CREATED)
    const { node, told } = makeCluster(world)
    const one = await node('one')
    const two = await node('two')
    await world.pass(1_000)
    told.length = 0
    await accept(world, two, pay('o1'))
    await world.pass(1_000)
    expect(told).toEqual([])
    const unwatch = one.engine.watch(makeWatcher().watcher)
    // It is announced again in time, for as long as there is a watcher.
    await world.pass(60_000)
    await accept(world, two, pay('o2'))
    await world.pass(500)
    expect(kinds(told)).toContain('changes')
    unwatch()
    await world.pass(16_000)
    told.length = 0
    await accept(world, two, pay('o3'))
    await world.pass(1_000)
    expect(told).toEqual([])
  })

  test('[FD15] a burst is collected into a few messages of bounded size, or reported as a gap', async () => {
    const world = makeWorld(() => CREATED)
    const { node, told } = makeCluster(world)
    const one = await node('one')
    const two = await node('two')
    const { gaps, watcher } = makeWatcher()
    one.engine.watch(watcher)
    await world.pass(50)
    for (let index = 0; index < 30; index += 1) await accept(world, two, pay(`o${index}`))
    await world.pass(200)
    const bodies = told.flatMap(({ wake }) => (wake.wake === 'changes' ? [wake.body] : []))
    expect(bodies.length).toBeGreaterThan(1)
    expect(bodies.length).toBeLessThanOrEqual(5)
    for (const body of bodies) expect(new TextEncoder().encode(body ?? '').length).toBeLessThanOrEqual(7_000)
    expect(gaps).toEqual([])
    for (let index = 100; index < 500; index += 1) await accept(world, two, pay(`o${index}`))
    await world.pass(200)
    expect(gaps).toEqual([DEFAULT_TENANT])
  })

  test('[FD17] after the signals were down, watchers get a gap once the other nodes know of them', async () => {
    const world = makeWorld(() => CREATED)
    const { node, hub } = makeCluster(world)
    const one = await node('one')
    const two = await node('two')
    const { seen, gaps, watcher } = makeWatcher()
    one.engine.watch(watcher)
    await world.pass(50)
    hub.setReachable(false)
    // Longer than another node assumes that a watcher is there.
    await world.pass(20_000)
    await accept(world, two, pay('o1'))
    await world.pass(100)
    expect([seen, gaps]).toEqual([[], []])
    hub.setReachable(true)
    await world.pass(400)
    // What node two did meanwhile: it learned at once that there is a watcher.
    expect(gaps).toEqual([DEFAULT_TENANT])
    await world.pass(200)
    expect(gaps).toEqual([DEFAULT_TENANT, undefined])
    const eventId = await accept(world, two, pay('o2'))
    await world.pass(500)
    expect(seen.filter(({ change }) => change.type === 'event' && change.id === eventId)).toHaveLength(1)
    expect(gaps).toHaveLength(2)
  })

  test('[FD17] a tenant without definitions gets its gap like any other', async () => {
    const world = makeWorld(() => CREATED)
    const { node, hub } = makeCluster(world)
    const tenant = 'acme' as TenantId
    const made: Write = { w: 'record.put', kind: 'tenant', key: tenant, version: 1, body: '{}' }
    const making = world.store.commit({ tenant: DEFAULT_TENANT, guards: [], writes: [made] })
    await world.pass()
    await making
    const one = await node('one')
    const two = await node('two')
    const { gaps, watcher } = makeWatcher()
    one.engine.watch(watcher)
    await world.pass(50)
    hub.setReachable(false)
    await world.pass(20_000)
    await accept(world, two, pay('o1'))
    hub.setReachable(true)
    await world.pass(400)
    expect([...gaps].sort()).toEqual([tenant, DEFAULT_TENANT])
  })

  test('[FD17] a store that fails to list its tenants is asked again, so that no gap is lost', async () => {
    const world = makeWorld()
    const { wakes, hear, told } = makeWire()
    let isAway = true
    const feed = makeNodesFeed({
      clock: world.clock,
      wakes,
      log: makeMemoryLog(),
      feed: { watch: () => () => {} },
      async tenants() {
        if (isAway) throw new Error('away')
        return [DEFAULT_TENANT]
      },
    })
    feed.start()
    hear({ wake: 'missed' })
    hear({ wake: 'watching', forMs: 15_000 })
    await world.pass(500)
    expect(told).toEqual([])
    isAway = false
    await world.pass(2_000)
    expect(told).toEqual([{ wake: 'changes', tenant: DEFAULT_TENANT, body: null }])
    feed.stop()
  })

  test('[FD17] a short outage is a gap too', async () => {
    const world = makeWorld(() => CREATED)
    const { node, hub } = makeCluster(world)
    const one = await node('one')
    await node('two')
    const { gaps, watcher } = makeWatcher()
    const unwatch = one.engine.watch(watcher)
    await world.pass(50)
    hub.setReachable(false)
    hub.setReachable(true)
    await world.pass(1_000)
    expect(gaps).toContain(undefined)
    unwatch()
    const before = gaps.length
    hub.setReachable(false)
    hub.setReachable(true)
    await world.pass(1_000)
    expect(gaps).toHaveLength(before)
  })

  test('[FD14] [WK14] an unreadable message is a gap, an unknown one is ignored, and another tenant sees nothing', async () => {
    const world = makeWorld(() => CREATED)
    const { node, hub } = makeCluster(world)
    const one = await node('one')
    const { seen, gaps, watcher } = makeWatcher()
    one.engine.watch(watcher)
    const { wakes } = hub.connect('other')
    const tenant = 'acme' as TenantId
    wakes.send({ wake: 'changes', tenant, body: '{"type":"event"' })
    await world.pass(100)
    expect(gaps).toEqual([tenant])
    wakes.send({ wake: 'changes', tenant, body: '[{"type":"tide"},null,{"type":"replay","id":"r"}]' })
    await world.pass(100)
    expect(seen).toEqual([{ tenant, change: { type: 'replay', id: 'r' } }])
  })
})

test('[WK13] a subscription that one node pauses is paused on the others at once', async () => {
  const world = endpointWorld()
  const { node } = makeCluster(world)
  const one = await node('one', { documents: [SOURCE, HOOK] })
  const two = await node('two', { documents: [SOURCE, HOOK] })
  await world.pass(1_000)
  await world.got(one.engine.subscriptions.pause(DEFAULT_TENANT, 'crm', { reason: 'calm' }))
  await world.pass(100)
  await accept(world, two, pay('o1'))
  await world.pass(1_000)
  expect(world.calls).toEqual([])
})

test('[WK14] a record kind unknown to this version may stand for any change', () => {
  const wake = { wake: 'definitions', tenant: DEFAULT_TENANT }
  for (const kinds of [undefined, [], 'circuit', ['circuit', 'tide'], [1], null])
    expect(readWake({ ...wake, kinds })).toEqual(wake)
  expect(readWake({ ...wake, kinds: ['rate'] })).toEqual({ ...wake, kinds: ['rate'] })
})
