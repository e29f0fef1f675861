import { describe, expect, test } from 'vitest'
import type { SourceDocument } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { parseJson } from '../../core/foundation/json/index.ts'
import { HOUR, MINUTE } from '../../core/foundation/time/index.ts'
import { StoreError } from '../../ports/store.ts'
import {
  CREATED,
  HTTP,
  makeDeferred,
  makeWorld,
  type NodeOptions,
  ROUTE,
  type World,
} from '../engine.fixture.ts'

const EVERY_MINUTE: SourceDocument = {
  kind: 'Source',
  name: 'tick',
  description: null,
  verify: { scheme: 'closed' },
  subject: 'schedule.tick',
  event: { id: null, objectType: null, objectId: null, occurredAt: null },
  dedup: { by: null, windowMs: 7 * 24 * HOUR },
  limits: { bodyBytes: 1_024, depth: 8 },
  status: 'active',
  schedule: { cron: '* * * * *', zone: 'UTC', missed: 'once', data: null },
}
const WANTING = {
  ...ROUTE,
  on: ['schedule.>'],
  key: "'TICK:' + payload.slot",
  do: { ...HTTP, url: 'https://vendor.example/ticks', body: null },
}
const scheduled = (more: Partial<NonNullable<SourceDocument['schedule']>>): SourceDocument => ({
  ...EVERY_MINUTE,
  schedule: { ...EVERY_MINUTE.schedule!, ...more },
})

async function firedIn(world: World) {
  const { items } = await world.reads.events({ cursor: null, limit: 500 })
  const events = await Promise.all(items.map(({ id }) => world.reads.event(id)))
  return events.reverse().map((event) => JSON.parse(event!.data))
}

const firstSlot = (world: World) => Math.ceil(world.now() / MINUTE) * MINUTE
const iso = (at: number) => new Date(at).toISOString()

async function startWorld(options: NodeOptions = {}) {
  const world = makeWorld(() => CREATED)
  const node = await world.node({ documents: [EVERY_MINUTE, WANTING], ...options })
  await world.pass()
  return { world, node, first: firstSlot(world) }
}

describe('schedules', () => {
  test('[SC6] [SC7] every slot after it was first seen becomes one event that routes can match', async () => {
    const { world, first } = await startWorld()
    await world.pass(first - world.now() - 1)
    expect(await firedIn(world)).toEqual([])
    await world.pass(1)
    expect(await firedIn(world)).toEqual([{ name: 'tick', slot: iso(first), zone: 'UTC' }])
    await world.pass(2 * MINUTE)
    expect((await firedIn(world)).map(({ slot }) => slot)).toEqual([
      iso(first),
      iso(first + MINUTE),
      iso(first + 2 * MINUTE),
    ])
    expect(world.calls).toHaveLength(3)
    const { items } = await world.reads.events({ cursor: null, limit: 1 })
    expect(items[0]).toMatchObject({
      source: 'tick',
      subject: 'schedule.tick',
      dedupKey: iso(first + 2 * MINUTE),
      occurredAt: first + 2 * MINUTE,
    })
  })

  test('[SC7] several nodes fire a slot once, without counting duplicates', async () => {
    const { world, first } = await startWorld()
    for (const name of ['two', 'three']) await world.node({ name, documents: [EVERY_MINUTE, WANTING] })
    await world.pass(first - world.now() + 2 * MINUTE + 5_000)
    expect(await firedIn(world)).toHaveLength(3)
    const { items } = await world.reads.events({ cursor: null, limit: 9 })
    expect(items.map(({ duplicates }) => duplicates)).toEqual([0, 0, 0])
  })

  test('[SC14] a node that missed a change costs no slot', async () => {
    const world = makeWorld(() => CREATED)
    // It polls for changes every five seconds, and not exactly at a slot.
    await world.pass(2_500)
    await world.node({ documents: [EVERY_MINUTE, WANTING] })
    const first = firstSlot(world)
    const held = makeDeferred<void>()
    let isSlow = false
    const slow: NodeOptions['faults'] = {
      commit: (_commit, pass) => (isSlow ? held.promise.then(pass) : pass()),
    }
    const two = await world.node({ name: 'two', documents: [EVERY_MINUTE, WANTING], faults: slow })
    await world.pass(first - world.now() - 1_000)
    const changed = two.engine.apply(DEFAULT_TENANT, [scheduled({ cron: '0-59 * * * *' }), WANTING])
    await world.pass(999)
    await changed
    // The other node is the first to see the slot.
    isSlow = true
    await world.pass(100)
    isSlow = false
    held.give()
    await world.pass(MINUTE)
    expect((await firedIn(world)).map(({ slot }) => slot)).toEqual([iso(first), iso(first + MINUTE)])
  })

  test('[SC14] a node that missed a pause does not fire', async () => {
    const { world, node, first } = await startWorld()
    await world.node({ name: 'two', documents: [EVERY_MINUTE, WANTING] })
    await world.pass(first - world.now() - 1_000)
    const said = { by: 'mona', reason: null }
    const paused = node.engine.definitions.control(DEFAULT_TENANT, 'Source', 'tick', 'pause', said)
    await world.pass(2 * MINUTE)
    await paused
    expect(await firedIn(world)).toEqual([])
  })

  test('[SC7] a lost response fires nothing twice', async () => {
    let isLost = true
    const { world, first } = await startWorld({
      faults: {
        async commit(commit, pass) {
          const isSlot = commit.writes.some(({ w }) => w === 'event.append')
          const result = await pass()
          if (!isSlot || !isLost) return result
          isLost = false
          throw new StoreError('unavailable', 'simulated', { applied: 'indeterminate' })
        },
      },
    })
    await world.pass(first - world.now() + MINUTE + 30_000)
    expect((await firedIn(world)).map(({ slot }) => slot)).toEqual([iso(first), iso(first + MINUTE)])
    expect(world.calls).toHaveLength(2)
  })

  test('[SC7] a failing store only delays', async () => {
    let isBroken = true
    const { world, first } = await startWorld({
      documents: [scheduled({ missed: 'all' }), WANTING],
      faults: {
        commit: (commit, pass) =>
          isBroken && commit.writes.some(({ w }) => w === 'event.append')
            ? Promise.reject(new StoreError('unavailable', 'simulated'))
            : pass(),
      },
    })
    await world.pass(first - world.now() + 90_000)
    expect(await firedIn(world)).toEqual([])
    isBroken = false
    await world.pass(2_000)
    expect((await firedIn(world)).map(({ slot }) => slot)).toEqual([iso(first), iso(first + MINUTE)])
  })

  test.each([
    ['[SC8]', 'once', (first: number) => [{ slot: iso(first + 10 * MINUTE), missed: 9 }]],
    ['[SC9]', 'skip', (first: number) => [{ slot: iso(first + 10 * MINUTE) }]],
    [
      '[SC10]',
      'all',
      (first: number) => Array.from({ length: 10 }, (_, n) => ({ slot: iso(first + (n + 1) * MINUTE) })),
    ],
  ] as const)('%s after a crash, %s', async (_rule, missed, wanted) => {
    const documents = [scheduled({ missed }), WANTING]
    const { world, node, first } = await startWorld({ documents })
    await world.pass(first - world.now())
    node.crash()
    await world.pass(10 * MINUTE + 5_000)
    const before = await firedIn(world)
    await world.node({ documents })
    await world.pass(10)
    const fired = (await firedIn(world)).slice(before.length)
    expect(fired).toEqual(wanted(first).map((one) => ({ name: 'tick', zone: 'UTC', ...one })))
  })

  test('[SC11] while paused it does not fire, and then treats the slots as missed', async () => {
    const { world, node, first } = await startWorld()
    const { definitions } = node.engine
    const say = async (verb: 'pause' | 'resume' | 'disable') => {
      const said = definitions.control(DEFAULT_TENANT, 'Source', 'tick', verb, { by: 'me', reason: null })
      await world.pass()
      await said
    }
    await world.pass(first - world.now())
    await say('pause')
    await world.pass(5 * MINUTE)
    expect(await firedIn(world)).toHaveLength(1)
    await say('resume')
    await world.pass()
    expect((await firedIn(world)).slice(1)).toEqual([
      { name: 'tick', slot: iso(first + 5 * MINUTE), zone: 'UTC', missed: 4 },
    ])
    await say('disable')
    await world.pass(3 * MINUTE)
    await say('resume')
    await world.pass(MINUTE - 1)
    expect(await firedIn(world)).toHaveLength(2)
    await world.pass(1)
    expect((await firedIn(world)).slice(2)).toEqual([
      { name: 'tick', slot: iso(first + 9 * MINUTE), zone: 'UTC' },
    ])
  })

  test('[SC6] removed and defined again, it starts over', async () => {
    const { world, node, first } = await startWorld({ documents: [scheduled({ missed: 'all' }), WANTING] })
    await world.pass(first - world.now())
    const apply = async (documents: Parameters<typeof node.engine.apply>[1]) => {
      const applied = node.engine.apply(DEFAULT_TENANT, documents)
      await world.pass()
      await applied
      await world.pass()
    }
    await apply([WANTING])
    expect(await world.reads.record('schedule', 'tick')).toBe(null)
    await world.pass(10 * MINUTE)
    await apply([scheduled({ missed: 'all' }), WANTING])
    await world.pass(MINUTE)
    expect((await firedIn(world)).map(({ slot }) => slot)).toEqual([iso(first), iso(first + 11 * MINUTE)])
  })

  test("the document's payload is added to the time", async () => {
    const { world, first } = await startWorld({
      documents: [scheduled({ data: { report: 'daily', slot: 'mine' }, zone: 'Europe/Berlin' }), WANTING],
    })
    await world.pass(first - world.now())
    expect(await firedIn(world)).toEqual([
      { report: 'daily', name: 'tick', slot: iso(first), zone: 'Europe/Berlin' },
    ])
  })

  test("a number in the document's payload keeps its exact digits", async () => {
    const { world, first } = await startWorld({
      documents: [scheduled({ data: parseJson('1.000000000000000001') }), WANTING],
    })
    await world.pass(first - world.now())
    const { items } = await world.reads.events({ cursor: null, limit: 1 })
    expect((await world.reads.event(items[0]!.id))?.data).toContain('"data":1.000000000000000001')
  })

  test('it accepts no requests', async () => {
    const { node } = await startWorld()
    const sent = node.engine.accept({
      tenant: 'default',
      source: 'tick',
      headers: { 'content-type': 'application/json' },
      body: new TextEncoder().encode('{}'),
    })
    await expect(sent).rejects.toMatchObject({ code: 'unknown_source' })
  })

  test('reports its next and last slot', async () => {
    const { world, node, first } = await startWorld()
    expect(await node.engine.schedules.state(DEFAULT_TENANT, 'tick')).toEqual({
      nextFireAt: first,
      lastFiredAt: null,
    })
    await world.pass(first - world.now())
    expect(await node.engine.schedules.state(DEFAULT_TENANT, 'tick')).toEqual({
      nextFireAt: first + MINUTE,
      lastFiredAt: first,
    })
    expect(await node.engine.schedules.state(DEFAULT_TENANT, 'other')).toBe(null)
  })
})
