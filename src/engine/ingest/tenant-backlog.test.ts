// A tenant that reached its limit of open jobs: its new events are refused, and accepted ones continue.

import { describe, expect, test } from 'vitest'
import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import type { PublishDraft } from '../../core/events/cloudevent/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { MINUTE } from '../../core/foundation/time/index.ts'
import type { Store } from '../../ports/store.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  makeWorld,
  PAID,
  ROUTE,
  SOURCE,
  type World,
} from '../engine.fixture.ts'
import { makeTenantBacklog } from './tenant-backlog.ts'

const pay = (order: string) => ({ ...PAID, id: `d-${order}`, order })

async function refusalOf(world: World, promise: Promise<unknown>): Promise<unknown> {
  const settled = promise.then(
    () => null,
    (error: unknown) => error,
  )
  await world.pass()
  return settled
}

const draft: PublishDraft = {
  ...{ source: 'publish:shop', subject: 'order.paid', objectId: null, occurredAt: null },
  ...{ correlationId: null, traceId: null, dedupKey: 'e1', headers: {}, raw: null },
  ...{ payload: {}, data: '{}' },
}

describe('[TL5] a tenant that has too many open jobs', () => {
  test('is refused until some have ended; all accepted jobs are done', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({
      documents: [SOURCE, { ...ROUTE, status: 'paused' }],
      config: { openJobsMax: 3 },
    })
    const accepted: string[] = []
    for (const order of ['o1', 'o2', 'o3']) accepted.push(await accept(world, node, pay(order)))
    await world.pass(5_000)
    const refused = await refusalOf(world, node.send(pay('o4')))
    expect(refused).toMatchObject({
      code: 'backlog_full',
      status: 429,
      details: { limit: 3, setting: 'MILLRACE_TENANT_OPEN_JOBS', retryAfterSeconds: 10 },
    })
    const published = await refusalOf(world, node.engine.publish(DEFAULT_TENANT, [draft]))
    expect(published).toMatchObject({ code: 'backlog_full' })
    const lines = () => node.log.messages.filter(({ name }) => name.startsWith('tenant.backlog'))
    expect(lines()).toMatchObject([{ name: 'tenant.backlog-full', fields: { limit: 3 } }])
    const applied = node.engine.apply(DEFAULT_TENANT, [SOURCE, ROUTE])
    await world.pass(10_000)
    await applied
    for (const eventId of accepted) {
      const [work] = await world.reads.workOfEvent(eventId as never)
      expect(work).toMatchObject({ state: 'done' })
    }
    expect(lines()).toHaveLength(2)
    await accept(world, node, pay('o4'))
    await world.pass(1_000)
    expect(world.calls).toHaveLength(4)
  })
})

test('[TL5] schedules and replays are counted and never refused', async () => {
  let isFixed = false
  const world = makeWorld(() => (isFixed ? CREATED : answered(422)))
  const tick = {
    ...SOURCE,
    name: 'tick',
    verify: { scheme: 'closed' },
    subject: 'schedule.tick',
    event: { id: null, objectType: null, objectId: null, occurredAt: null },
    schedule: { cron: '* * * * *', zone: 'UTC', missed: 'once', data: null },
  } as const
  const onTick = {
    ...ROUTE,
    name: 'on_tick',
    on: ['schedule.>'],
    key: "'TICK:' + payload.slot",
    do: { ...HTTP, url: 'https://vendor.example/ticks', body: null },
    status: 'paused',
  } as const
  const node = await world.node({ documents: [SOURCE, ROUTE, tick, onTick], config: { openJobsMax: 2 } })
  for (const order of ['o1', 'o2']) await accept(world, node, pay(order))
  await world.pass(5_000)
  const isFull = async () => (await refusalOf(world, node.send(pay('o9')))) !== null
  expect(await isFull()).toBe(true)

  const slots = async () =>
    (await world.reads.workList({ cursor: null, limit: 50, consumer: 'route:on_tick' })).items
  await world.pass(3 * MINUTE)
  expect((await slots()).map(({ state }) => state)).toEqual(['ready', 'ready', 'ready'])

  isFixed = true
  const letters = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
  expect(letters).toHaveLength(2)
  const [one, other] = letters
  const replayed = node.engine.replay(DEFAULT_TENANT, one!.id, { force: false })
  await world.pass(1_000)
  await replayed
  const bulk = node.engine.replays.begin(
    DEFAULT_TENANT,
    { ids: [other!.id] },
    { force: false, actor: 'anna' },
  )
  await world.pass(5_000)
  await bulk
  const after = (await world.reads.deadLetters({ cursor: null, limit: 9 })).items
  expect(after.map(({ state }) => state)).toEqual(['resolved', 'resolved'])

  // Only jobs of the schedule are open now, and they count.
  expect(await isFull()).toBe(true)
  const applied = node.engine.apply(DEFAULT_TENANT, [SOURCE, ROUTE, tick, { ...onTick, status: 'active' }])
  await world.pass(10_000)
  await applied
  expect(await isFull()).toBe(false)
})

describe('[TL6] counting', () => {
  function makeStage(max: number) {
    const world = makeWorld()
    const open: Record<string, number> = {}
    const asked: string[] = []
    let isBroken = false
    const store = {
      forTenant: (tenant: TenantId) => ({
        async openTotal(cap: number) {
          if (isBroken) throw new Error('away')
          asked.push(tenant)
          return Math.min(cap, open[tenant] ?? 0)
        },
      }),
    } as unknown as Store
    const log = makeMemoryLog()
    const backlog = makeTenantBacklog({ store, clock: world.clock, log }, max)
    return { world, open, asked, log, backlog, setBroken: (value: boolean) => (isBroken = value) }
  }
  const A = 'a' as TenantId
  const B = 'b' as TenantId

  test('covers tenants that sent something, or are full, every two seconds at most', async () => {
    const { world, open, asked, backlog } = makeStage(10)
    open.a = 50
    for (let event = 0; event < 1_000; event += 1) expect(backlog.hasRoom(A)).toBe(true)
    await world.pass(2_000)
    expect(asked).toEqual(['a'])
    expect(backlog.hasRoom(A)).toBe(false)
    expect(backlog.hasRoom(B)).toBe(true)
    expect(() => backlog.check(A)).toThrow(AppError)
    await world.pass(2_000)
    expect(asked.slice(1).sort()).toEqual(['a', 'b'])
    open.a = 9
    // It sends nothing, and is still counted.
    await world.pass(2_000)
    expect(backlog.hasRoom(A)).toBe(true)
    const before = asked.length
    await world.pass(60_000)
    // Once more for the request above; an idle tenant costs nothing.
    expect(asked.length).toBe(before + 1)
    backlog.stop()
  })

  test('that fails changes nothing, and is tried again', async () => {
    const { world, open, backlog, log, setBroken } = makeStage(10)
    open.a = 10
    backlog.hasRoom(A)
    await world.pass(2_000)
    setBroken(true)
    await world.pass(10_000)
    expect(backlog.hasRoom(A)).toBe(false)
    expect(log.messages.some(({ name }) => name === 'tenant.backlog-not-counted')).toBe(true)
    setBroken(false)
    open.a = 0
    await world.pass(4_000)
    expect(backlog.hasRoom(A)).toBe(true)
    backlog.stop()
  })

  test('without a limit there is none', async () => {
    const { world, open, asked, backlog } = makeStage(0)
    open.a = 1_000_000
    expect(backlog.hasRoom(A)).toBe(true)
    backlog.check(A)
    await world.pass(60_000)
    expect(asked).toEqual([])
  })
})
