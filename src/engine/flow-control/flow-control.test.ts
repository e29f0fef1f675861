// Flow control in the engine: one memory store, nodes that share it, manual time.

import { describe, expect, test } from 'vitest'
import type { RouteDocument } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import type { HttpRequest } from '../../ports/http-client.ts'
import { type Commit, StoreError } from '../../ports/store.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  makeWorld,
  type Node,
  ROUTE,
  SOURCE,
  type World,
  workOf,
} from '../engine.fixture.ts'

const FIXED = { ...HTTP, idempotent: true, url: 'https://vendor.example/orders' }
const route = (over: Partial<RouteDocument> = {}): RouteDocument => ({
  ...ROUTE,
  retry: { profile: null, attempts: 50, delaysMs: Array.from({ length: 49 }, () => 1_000) },
  do: FIXED,
  ...over,
})

let sent = 0
async function flood(world: World, node: Node, count: number, kind = 'paid') {
  for (let index = 0; index < count; index += 1) {
    sent += 1
    await accept(world, node, { kind, id: `d${sent}`, order: `o${sent}` })
  }
}

const records = async (world: World, kind: 'circuit' | 'bucket' | 'drain') =>
  (await world.reads.records({ kind, cursor: null, limit: 10 })).items

describe('circuits', () => {
  test('[PA4] a route that fails too often pauses, holds its jobs, announces that once, probes and goes on', async () => {
    let isDown = true
    const world = makeWorld(() => (isDown ? answered(503) : CREATED))
    const node = await world.node({ documents: [SOURCE, route()] })
    await flood(world, node, 20)
    const calls = world.calls.length
    expect(calls).toBe(5)
    expect(await records(world, 'circuit')).toMatchObject([{ key: 'route:book', version: 1 }])
    const raised = (await world.reads.escalations({ cursor: null, limit: 10 })).items
    expect(raised).toMatchObject([{ consumer: 'route:book', reason: 'circuit_open', workId: null, count: 1 }])
    // Two failed probes: nothing else is called, and waiting writes nothing.
    await world.pass(70_000)
    expect(world.calls.length).toBe(calls + 2)
    expect((await world.reads.escalations({ cursor: null, limit: 10 })).items).toHaveLength(1)
    isDown = false
    await world.pass(40_000)
    expect(world.calls.length).toBeGreaterThanOrEqual(calls + 22)
    expect(await records(world, 'circuit')).toEqual([])
    const told = (await world.reads.events({ source: 'millrace', cursor: null, limit: 200 })).items
    const subjects = told.map(({ subject }) => subject)
    expect(subjects.filter((subject) => subject === 'integration.route.paused')).toHaveLength(1)
    expect(subjects.filter((subject) => subject === 'integration.route.resumed')).toHaveLength(1)
    const left = await world.reads.workList({ state: 'ready', cursor: null, limit: 10 })
    expect(left.items).toEqual([])
  })

  test('[PA4] a route that only refuses payloads, or says `off`, never pauses', async () => {
    const refusing = makeWorld(() => answered(422))
    await flood(refusing, await refusing.node({ documents: [SOURCE, route()] }), 10)
    expect(refusing.calls).toHaveLength(10)
    const off = makeWorld(() => answered(503))
    await flood(off, await off.node({ documents: [SOURCE, route({ circuit: 'off' })] }), 10)
    expect(off.calls.length).toBeGreaterThanOrEqual(10)
    expect(await records(off, 'circuit')).toEqual([])
  })

  test('[PA5] a restart knows that it is open, and one of two nodes probes', async () => {
    const world = makeWorld(() => answered(503))
    const node = await world.node({ documents: [SOURCE, route()] })
    await flood(world, node, 6)
    node.crash()
    const calls = world.calls.length
    const documents = [SOURCE, route()]
    await world.node({ name: 'two', documents })
    await world.node({ name: 'three', documents })
    await world.pass(20_000)
    expect(world.calls.length).toBe(calls)
    await world.pass(15_000)
    expect(world.calls.length).toBe(calls + 1)
    await world.pass(30_000)
    expect(world.calls.length).toBe(calls + 2)
  })

  test('[PA5] [PA10] a record written by a clock that was ahead stops no route forever', async () => {
    const world = makeWorld(() => CREATED)
    const documents = [SOURCE, route()]
    const before = await world.node({ documents })
    const aYearOn = world.now() + 365 * DAY
    const circuit = {
      state: 'open',
      since: aYearOn,
      tryAt: aYearOn,
      opened: 1,
      class: 'transient',
      isQuiet: false,
    }
    const put = (kind: 'circuit' | 'bucket', key: string, body: object) =>
      ({ w: 'record.put', kind, key, version: 1, body: JSON.stringify(body) }) as const
    const written = world.store.commit({
      tenant: DEFAULT_TENANT,
      guards: [],
      writes: [put('circuit', 'route:book', circuit), put('bucket', 'vendor.example', { until: aYearOn })],
    })
    await world.pass()
    await written
    before.crash()
    const node = await world.node({ documents })
    await flood(world, node, 2)
    await world.pass(10_000)
    expect(world.calls).toHaveLength(2)
  })

  test('[PA6] an operator closes it', async () => {
    let isDown = true
    const world = makeWorld(() => (isDown ? answered(503) : CREATED))
    const node = await world.node({ documents: [SOURCE, route()] })
    await flood(world, node, 8)
    isDown = false
    const closing = node.engine.flowControl.closeCircuit('default' as TenantId, 'book', {
      by: 'anna',
      reason: 'mended',
    })
    await world.pass()
    expect(await closing).toMatchObject({ route: 'book', circuit: { state: 'closed' } })
    await world.pass(3_000)
    expect(world.calls.length).toBe(5 + 8)
  })
})

describe('rates', () => {
  test('[PA7] calls respect the rate, waiting writes nothing, and a token without a call is returned', async () => {
    let isWriting: (commit: Commit) => void = () => {}
    const world = makeWorld(() => CREATED)
    const documents = [
      SOURCE,
      route({ rateLimit: { profile: null, perMinute: 60, burst: 3 }, key: "'K:' + payload.key" }),
    ]
    const node = await world.node({
      documents,
      faults: {
        commit(commit, pass) {
          isWriting(commit)
          return pass()
        },
      },
    })
    await world.pass(10_000)
    for (let index = 0; index < 10; index += 1) {
      await accept(world, node, { kind: 'paid', id: `r${index}`, order: 'o', key: index })
    }
    expect(world.calls).toHaveLength(3)
    let commits = 0
    isWriting = () => {
      commits += 1
    }
    await world.pass(7_000)
    expect(world.calls).toHaveLength(10)
    // A reserve and an end each.
    expect(commits).toBe(14)
    // Ledger hits cost no token: the three available by now are still available to others.
    await world.pass(10_000)
    for (let index = 0; index < 20; index += 1) {
      await accept(world, node, { kind: 'paid', id: `s${index}`, order: 'o', key: 1 })
    }
    await world.pass(0)
    for (let index = 0; index < 3; index += 1) {
      await accept(world, node, { kind: 'paid', id: `t${index}`, order: 'o', key: `t${index}` })
    }
    expect(world.calls).toHaveLength(13)
  })

  test('[PA8] [PA9] a storm of 429s costs one call per opening, over all routes to the host', async () => {
    let isLimited = true
    const world = makeWorld(() => (isLimited ? answered(429, { 'retry-after': '10' }) : CREATED))
    const documents = [SOURCE, route(), route({ name: 'ship', key: "'SHIP:' + payload.order" })]
    const node = await world.node({ documents })
    await flood(world, node, 10)
    // One call of each route that was in flight, and the probe.
    expect(world.calls.length).toBeLessThanOrEqual(3)
    const first = world.calls.length
    await world.pass(35_000)
    expect(world.calls.length).toBeLessThanOrEqual(first + 3)
    expect(world.calls.length).toBeGreaterThan(first + 1)
    isLimited = false
    await world.pass(30_000)
    expect(world.calls.filter(({ request }) => request.url === FIXED.url).length).toBeGreaterThanOrEqual(20)
    expect(await records(world, 'bucket')).toEqual([])
  })

  test('[PA8] an occasional 429 delays its own job only', async () => {
    let count = 0
    const world = makeWorld(() => {
      count += 1
      return count % 20 === 0 ? answered(429, { 'retry-after': '30' }) : CREATED
    })
    const node = await world.node({ documents: [SOURCE, route()] })
    await flood(world, node, 200)
    await world.pass(5_000)
    const done = await world.reads.workList({ state: 'done', cursor: null, limit: 300 })
    expect(done.items.length).toBeGreaterThanOrEqual(185)
    expect(node.log.messages.filter(({ name }) => name === 'bucket.closed')).toEqual([])
    await world.pass(40_000)
    const all = await world.reads.workList({ state: 'done', cursor: null, limit: 300 })
    expect(all.items).toHaveLength(200)
  })

  test('[PA10] a restart does not call a closed host, and other tenants and hosts are unaffected', async () => {
    const world = makeWorld((request: HttpRequest) =>
      request.url.includes('vendor') ? answered(429, { 'retry-after': '60' }) : CREATED,
    )
    const other = route({
      name: 'other',
      on: ['shop.events.other'],
      do: { ...FIXED, url: 'https://other.example/x/{{ payload.order }}' },
    })
    const documents = [SOURCE, route(), other]
    const node = await world.node({ documents })
    await flood(world, node, 3)
    node.crash()
    expect(await records(world, 'bucket')).toMatchObject([{ key: 'vendor.example' }])
    const calls = world.calls.length
    const second = await world.node({ documents })
    await flood(world, second, 3)
    await world.pass(20_000)
    expect(world.calls.length).toBe(calls)
    await flood(world, second, 2, 'other')
    expect(world.calls.length).toBe(calls + 2)
  })

  test('[PA8] if the URL depends on the event, the call waits before its reserve', async () => {
    const world = makeWorld((request) =>
      request.url.includes('slow.') ? answered(429, { 'retry-after': '60' }) : CREATED,
    )
    const documents = [SOURCE, route({ do: { ...FIXED, url: 'https://{{ payload.to }}.example/x' } })]
    const node = await world.node({ documents })
    await accept(world, node, { kind: 'paid', id: '0', order: '0', to: 'slow' })
    await accept(world, node, { kind: 'paid', id: '1', order: '1', to: 'slow' })
    const waits = await accept(world, node, { kind: 'paid', id: '2', order: '2', to: 'slow' })
    await accept(world, node, { kind: 'paid', id: '3', order: '3', to: 'quick' })
    expect(world.calls.map(({ request }) => new URL(request.url).host)).toEqual([
      'slow.example',
      'slow.example',
      'quick.example',
    ])
    const work = await workOf(world, waits)
    expect(work).toMatchObject({ state: 'ready', attempts: 0 })
    expect(await world.reads.ledger('BOOK:2')).toBeNull()
  })
})

describe('drains', () => {
  const drain = { profile: null, everyMs: 60_000, events: 3, cycles: 2 }

  test('[PA11] [PA12] [PA13] two nodes together take events × cycles per slot, cycle by cycle', async () => {
    const world = makeWorld()
    const documents = [SOURCE, route({ drain })]
    const one = await world.node({ documents })
    await world.node({ name: 'two', documents })
    await world.pass(61_000 - (world.now() % 60_000))
    await flood(world, one, 20)
    // This slot is over: nothing was due when it started.
    const before = world.calls.length
    expect(before).toBeLessThanOrEqual(6)
    for (const call of world.calls) call.answer(CREATED)
    await world.pass(60_000 - (world.now() % 60_000))
    await world.pass(1_000)
    const inSlot = () => world.calls.length - before
    expect(inSlot()).toBe(3)
    await world.pass(10_000)
    expect(inSlot()).toBe(3)
    for (const call of world.calls) call.answer(CREATED)
    await world.pass(1_000)
    expect(inSlot()).toBe(6)
    for (const call of world.calls) call.answer(CREATED)
    await world.pass(30_000)
    expect(inSlot()).toBe(6)
  })

  test('[PA11] [PA13] jobs of one lane run one after another within a slot, up to its size', async () => {
    const world = makeWorld(() => CREATED)
    const lane = { order: { by: 'payload.kind' }, key: "'BOOK:' + payload.id" }
    const node = await world.node({ documents: [SOURCE, route({ drain, ...lane })] })
    await world.pass(61_000 - (world.now() % 60_000))
    await flood(world, node, 15)
    const before = world.calls.length
    for (const calls of [6, 12]) {
      await world.pass(60_000 - (world.now() % 60_000))
      await world.pass(30_000)
      expect(world.calls.length - before).toBe(calls)
    }
  })

  test('[PA12] a node whose claim got no response takes nothing more in that slot', async () => {
    const world = makeWorld(() => CREATED)
    let isBegun = false
    let applyLost: (() => Promise<unknown>) | null = null
    const node = await world.node({
      documents: [SOURCE, route({ drain: { ...drain, cycles: 1 } })],
      faults: {
        commit(commit, pass) {
          if (commit.writes.some((write) => write.w === 'record.put' && write.kind === 'drain'))
            isBegun = true
          return pass()
        },
        async claim(pass) {
          if (!isBegun || applyLost !== null) return pass()
          applyLost = pass
          throw new StoreError('unavailable', 'the answer is lost', { applied: 'indeterminate' })
        },
      },
    })
    await world.pass(61_000 - (world.now() % 60_000))
    await flood(world, node, 9)
    await world.pass(60_000 - (world.now() % 60_000))
    await world.pass(5_000)
    // The server applies it at last, and the node finds what it holds.
    const before = world.calls.length
    await applyLost!()
    await world.pass(40_000)
    expect(before).toBe(0)
    expect(world.calls.length).toBe(3)
    await world.pass(30_000)
    expect(world.calls.length).toBe(6)
  })

  test('[PA13] a slot without jobs writes nothing', async () => {
    let commits = 0
    const world = makeWorld(() => CREATED)
    const node = await world.node({
      documents: [SOURCE, route({ drain })],
      faults: {
        commit(_commit, pass) {
          commits += 1
          return pass()
        },
      },
    })
    const started = commits
    await world.pass(600_000)
    expect(commits).toBe(started)
    await flood(world, node, 1)
    await world.pass(120_000)
    expect(world.calls).toHaveLength(1)
  })
})

describe('limits and shares', () => {
  test('[PA14] no more jobs than the limit are leased at once over two nodes, and free capacity is used at once', async () => {
    const world = makeWorld()
    const documents = [SOURCE, route({ concurrency: { limit: 2 } })]
    const one = await world.node({ documents })
    await world.node({ name: 'two', documents })
    await flood(world, one, 6)
    await world.pass(5_000)
    expect(world.calls).toHaveLength(2)
    world.calls[0]?.answer(CREATED)
    await world.pass(world.calls[0]?.node === 'one' ? 0 : 1_000)
    await world.pass(1_000)
    expect(world.calls).toHaveLength(3)
  })

  const sendTo = async (world: World, node: Node, tenant: string, id: string) => {
    const accepted = node.engine.accept({
      tenant,
      source: 'shop',
      headers: { 'content-type': 'application/json' },
      body: new TextEncoder().encode(JSON.stringify({ kind: 'paid', id, order: id })),
    })
    await world.pass()
    await accepted
  }

  test('[PA15] [PA17] a flood of one tenant leaves room for another, on insert and at claims', async () => {
    const world = makeWorld()
    const documents = [SOURCE, route({ circuit: 'off' })]
    const node = await world.node({ documents, config: { concurrency: 8 } })
    const applied = node.engine.apply('acme' as TenantId, documents)
    await world.pass()
    await applied
    await flood(world, node, 30)
    await world.pass(2_000)
    expect(world.calls).toHaveLength(7)
    await sendTo(world, node, 'acme', 'a1')
    expect(world.calls).toHaveLength(8)
    for (let index = 2; index < 12; index += 1) await sendTo(world, node, 'acme', `a${index}`)
    for (const call of world.calls) call.answer(CREATED)
    await world.pass(0)
    const running = world.calls.slice(8)
    expect(running.length).toBeGreaterThanOrEqual(7)
    const acme = running.filter(({ request }) => request.body?.includes('"a') === true)
    expect(acme.length).toBeGreaterThanOrEqual(3)
    expect(acme.length).toBeLessThanOrEqual(4)
  })

  test('[PA15] a single tenant has all slots', async () => {
    const world = makeWorld()
    const node = await world.node({ documents: [SOURCE, route()], config: { concurrency: 8 } })
    await flood(world, node, 30)
    expect(world.calls).toHaveLength(8)
  })

  test('[PA16] with both queued, high is called first, and low is not starved', async () => {
    const world = makeWorld()
    const documents = [
      SOURCE,
      route({
        name: 'low',
        priority: 'low',
        key: "'L:' + payload.order",
        do: { ...FIXED, url: 'https://v.example/low' },
      }),
      route({
        name: 'high',
        priority: 'high',
        key: "'H:' + payload.order",
        do: { ...FIXED, url: 'https://v.example/high' },
      }),
    ]
    const node = await world.node({ documents, config: { concurrency: 2 } })
    await flood(world, node, 40)
    let answeredCalls = 0
    for (let round = 0; round < 20; round += 1) {
      for (const call of world.calls.slice(answeredCalls)) call.answer(CREATED)
      answeredCalls = world.calls.length
      await world.pass(10)
    }
    const count = (name: string) => world.calls.filter(({ request }) => request.url.endsWith(name)).length
    expect(count('high')).toBeGreaterThan(1.5 * count('low'))
    expect(count('low')).toBeGreaterThan(3)
  })
})
