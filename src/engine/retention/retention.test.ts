// Which events are deleted, and how the walk uses the store.

import { describe, expect, test } from 'vitest'
import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import type { PublishDraft } from '../../core/events/cloudevent/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import type { Pruned, PruneRequest } from '../../core/store/retention/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store, Write } from '../../ports/store.ts'
import { tenantsWithKnownTimes } from '../commit/tenants-in-store.ts'
import { accept, answered, CREATED, makeWorld, PAID, ROUTE, SOURCE, workOf } from '../engine.fixture.ts'
import { keepTimesOf, ledgerKeepTimesOf, makeRetention } from './retention.ts'

const SHORT = { ...SOURCE, dedup: { ...SOURCE.dedup, windowMs: 1_000 } }
const config = { retentionEveryMs: 5_000, retentionMs: 60_000 }

describe('events whose time is up', () => {
  test.each([
    ['[RT4] as its source says', { ...SHORT, retentionMs: 20_000 }, 20_000],
    ['[RT4] by default', SHORT, 60_000],
    ['[RT5] not while its dedup window is open', { ...SOURCE, retentionMs: 20_000 }, 60_000],
  ])('%s', async (_, source, keptMs) => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ documents: [source, ROUTE], config })
    const eventId = await accept(world, node)
    const { id } = await workOf(world, eventId)
    await world.pass(keptMs - 5_000)
    expect(await world.reads.event(eventId)).not.toBeNull()
    expect(node.log.messages.filter(({ name }) => name === 'retention.pruned')).toEqual([])
    await world.pass(10_000)
    expect(await world.reads.event(eventId)).toBeNull()
    expect(await world.reads.work(id)).toBeNull()
    // The ledger still knows the effect: the same key does nothing again.
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'done' })
    expect(node.log.messages.filter(({ name }) => name === 'retention.pruned')).toMatchObject([
      { fields: { tenant: 'default', events: 1, work: 1 } },
    ])
    const again = await accept(world, node)
    expect(again).not.toBe(eventId)
    expect(await workOf(world, again)).toMatchObject({ state: 'skipped' })
    expect(world.calls).toHaveLength(1)
  })

  test('[RT6] an event that waits for a user’s decision stays until it is decided', async () => {
    const world = makeWorld(() => answered(404))
    const node = await world.node({ documents: [SHORT, ROUTE], config })
    const eventId = await accept(world, node)
    await world.pass(120_000)
    expect(await world.reads.event(eventId)).not.toBeNull()
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
    const discarded = node.engine.discard(DEFAULT_TENANT, letter!.id, { reason: 'a test' })
    await world.pass(10_000)
    await discarded
    expect(await world.reads.event(eventId)).toBeNull()
    expect((await world.reads.deadLetters({ cursor: null, limit: 9 })).items).toEqual([])
  })

  test('[RT9] in a tenant without definitions by the default', async () => {
    const times = { retentionEveryMs: 5_000, retentionMs: 10 * DAY }
    const world = makeWorld(() => CREATED)
    const node = await world.node({ documents: [SHORT, ROUTE], config: times })
    const tenant = 'acme' as TenantId
    const made: Write = { w: 'record.put', kind: 'tenant', key: tenant, version: 1, body: '{}' }
    const making = world.store.commit({ tenant: DEFAULT_TENANT, guards: [], writes: [made] })
    await world.pass()
    await making
    const draft: PublishDraft = {
      ...{ source: 'publish:shop', subject: 'order.paid', objectId: null, occurredAt: null },
      ...{ correlationId: null, traceId: null, dedupKey: 'e1', headers: {}, raw: null },
      ...{ payload: {}, data: '{}' },
    }
    const publishing = node.engine.publish(tenant, [draft])
    await world.pass(100)
    const [stored] = await publishing
    if (stored?.ok !== true) throw new Error('the event was not stored')
    const event = () => world.store.forTenant(tenant).event(stored.eventId)
    // Nothing runs meanwhile: ten days of timers take long.
    node.crash()
    await world.pass(10 * DAY - 60_000)
    await world.node({ config: times })
    await world.pass(20_000)
    expect(await event()).not.toBeNull()
    await world.pass(60_000)
    expect(await event()).toBeNull()
  })

  test('[RT9] those of a tenant whose definitions this node has not loaded are left to nodes that have', async () => {
    const records = [{ key: 'made' }, { key: 'defined' }, { key: 'newer' }]
    const store = {
      system: () => ({ tenants: async () => ['defined', 'newer', 'here'] }),
      forTenant: () => ({ records: async () => ({ items: records, nextCursor: null }) }),
    } as unknown as Store
    const registry = {
      tenants: () => ['here', 'newer'] as TenantId[],
      hasUnusable: (tenant: TenantId) => tenant === 'newer',
    }
    const known = await tenantsWithKnownTimes(store, registry)
    expect([...known].sort()).toEqual(['default', 'here', 'made'])
  })

  test('[RT4] events without a source definition are stored as long as the default', () => {
    const times = keepTimesOf([{ name: 'shop', retentionMs: 1 }, { name: 'crm' }], 30)
    expect(times).toEqual({ keepMs: { shop: 1, 'source:shop': 1 }, otherwiseMs: 30 })
  })
})

describe('[RL16] effects of the ledger', () => {
  test('are stored as their route says or needs, and for removed routes as the setting says', () => {
    const events = keepTimesOf([{ name: 'shop', retentionMs: 200 * DAY }], 30 * DAY)
    const said = { ...ROUTE, name: 'said', ledgerKeepMs: 400 * DAY }
    const { keepMs, otherwiseMs } = ledgerKeepTimesOf([ROUTE, said], events, 365 * DAY)
    expect(keepMs['route:said']).toBe(400 * DAY)
    expect(keepMs['route:book']).toBeGreaterThan(200 * DAY)
    expect(otherwiseMs).toBe(365 * DAY)
    const short = ledgerKeepTimesOf([ROUTE], keepTimesOf([], DAY), 1)
    expect(short.keepMs['route:book']).toBe(90 * DAY)
  })

  test('are deleted when their event is deleted and their time is over', async () => {
    const world = makeWorld(() => CREATED)
    const route = { ...ROUTE, ledgerKeepMs: 120_000 }
    const node = await world.node({ documents: [SHORT, route], config })
    await accept(world, node)
    await world.pass(100_000)
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'done' })
    await world.pass(60_000)
    expect(await world.reads.ledger('BOOK:o1')).toBeNull()
  })
})

describe('the walk', () => {
  const NONE = {
    events: 0,
    work: 0,
    attempts: 0,
    deadLetters: 0,
    dedup: 0,
    failures: 0,
    ledger: 0,
    lanes: 0,
    escalations: 0,
    instances: 0,
    history: 0,
    orphans: 0,
    runs: 0,
    facts: 0,
  }

  function makeWalk(answers: (Partial<Pruned> | Error)[]) {
    const usable = ['a', 'b'] as TenantId[]
    const unusable = new Set<TenantId>()
    const keep: Record<string, number> = { a: 1, b: 2 }
    let monotonic = 0
    const asked: PruneRequest[] = []
    const delays: number[] = []
    const log = makeMemoryLog()
    let due: (() => void) | null = null
    const clock = {
      monotonic: () => monotonic,
      after(delayMs: number, callback: () => void) {
        delays.push(delayMs)
        due = callback
        return () => {
          due = null
        }
      },
    } as unknown as Clock
    const retention = makeRetention(
      {
        clock,
        log,
        store: {
          async prune(request) {
            asked.push(request)
            const answer = answers.shift() ?? {}
            if (answer instanceof Error) throw answer
            return { ...NONE, next: null, ...answer }
          },
        },
        factMs: 7 * DAY,
        tenants: async () => [...usable],
        hasUnusable: (tenant) => unusable.has(tenant),
        keepTimes: (tenant) => keepTimesOf([], keep[tenant] ?? 0),
        ledgerKeepTimes: (tenant) => ({ keepMs: {}, otherwiseMs: tenant === 'a' ? 3 : 4 }),
      },
      { retentionEveryMs: 1_000 },
    )
    return {
      retention,
      asked,
      delays,
      log,
      usable,
      unusable,
      keep,
      isWaiting: () => due !== null,
      async step(passedMs = 0) {
        monotonic += passedMs
        const now = due
        due = null
        now?.()
        for (let turn = 0; turn < 9; turn += 1) await Promise.resolve()
      },
    }
  }

  test('[RT7] a bounded step at a time, with a pause after each, tenant by tenant, each by its own times', async () => {
    const walk = makeWalk([{ events: 2, next: 'evt_1' }, { events: 1 }, {}])
    walk.retention.start()
    for (let step = 0; step < 4; step += 1) await walk.step()
    expect(walk.asked.map(({ tenant, after, otherwiseMs }) => [tenant, after, otherwiseMs])).toEqual([
      ['a', null, 1],
      ['a', 'evt_1', 1],
      ['b', null, 2],
    ])
    expect(new Set(walk.asked.map(({ scanMax }) => scanMax))).toEqual(new Set([200]))
    // Shared old data may be deleted together, so each walk says how long the others keep theirs.
    const byTenant = { a: { keepMs: {}, otherwiseMs: 1 }, b: { keepMs: {}, otherwiseMs: 2 } }
    for (const request of walk.asked) expect(request.byTenant).toEqual(byTenant)
    expect(walk.delays).toEqual([1_000, 0, 100, 100, 1_000])
    // A tenant that lost nothing is not logged.
    expect(walk.log.messages).toMatchObject([
      { name: 'retention.pruned', fields: { tenant: 'a', ...NONE, events: 3 } },
    ])
  })

  test('[RT7] times that change during a long walk are followed, and a tenant that became unusable here is left to others', async () => {
    const walk = makeWalk([{ next: 'evt_1' }, { next: 'evt_2' }])
    walk.retention.start()
    await walk.step()
    await walk.step()
    walk.keep.b = 400
    await walk.step(60_000)
    expect(walk.asked.map(({ byTenant }) => byTenant?.b?.otherwiseMs)).toEqual([2, 400])
    walk.usable.pop()
    for (let step = 0; step < 4; step += 1) await walk.step(60_000)
    expect(walk.asked.map(({ tenant }) => tenant)).toEqual(['a', 'a', 'a', 'a'])
    expect(walk.asked[2]?.byTenant).not.toHaveProperty('b')
  })

  test('[RT7] a tenant that becomes unusable between two steps is left to others at once', async () => {
    const walk = makeWalk([{ next: 'evt_1' }, { next: 'evt_2' }])
    walk.retention.start()
    await walk.step()
    await walk.step()
    walk.unusable.add('a' as TenantId)
    for (let step = 0; step < 2; step += 1) await walk.step()
    expect(walk.asked.map(({ tenant, after }) => [tenant, after])).toEqual([
      ['a', null],
      ['b', null],
    ])
    expect(walk.asked[1]?.byTenant).not.toHaveProperty('a')
  })

  test('[RT8] a store that fails is left alone for a while; then the next tenant follows', async () => {
    const walk = makeWalk([{ events: 2, next: 'evt_1' }, new Error('disk full'), {}, {}])
    walk.retention.start()
    for (let step = 0; step < 6; step += 1) await walk.step()
    expect(walk.asked.map(({ tenant, after }) => [tenant, after])).toEqual([
      ['a', null],
      ['a', 'evt_1'],
      ['b', null],
      ['a', null],
    ])
    expect(walk.delays).toEqual([1_000, 0, 100, 1_000, 1_000, 0, 100])
    expect(walk.log.messages).toMatchObject([
      { name: 'retention.failed', fields: { tenant: 'a' } },
      { name: 'retention.pruned', fields: { tenant: 'a', events: 2 } },
    ])
  })

  test('[RT7] it ends with the node', async () => {
    const walk = makeWalk([{ events: 1, next: 'evt_1' }])
    walk.retention.start()
    await walk.step()
    await walk.step()
    await walk.retention.stop()
    expect(walk.isWaiting()).toBe(false)
    expect(walk.log.messages).toMatchObject([{ name: 'retention.pruned', fields: { events: 1 } }])
    const never = makeWorld()
    const node = await never.node({ config: { retentionEveryMs: 0 } })
    expect(node.engine.health().open).toBe(true)
  })
})

test('[RT5] a duplicate within the window is recognized, however short the retention', async () => {
  const world = makeWorld(() => CREATED)
  const node = await world.node({ documents: [{ ...SOURCE, retentionMs: 1_000 }, ROUTE], config })
  const eventId = await accept(world, node)
  await world.pass(50_000)
  expect(await accept(world, node, PAID)).toBe(eventId)
})
