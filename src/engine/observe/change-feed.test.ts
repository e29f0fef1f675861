import { expect, test } from 'vitest'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { StoreError, type Write } from '../../ports/store.ts'
import { accept, answered, CREATED, makeWorld, PAID, ROUTE, SOURCE } from '../engine.fixture.ts'
import type { Change } from '../index.ts'
import { makeFeed } from './change-feed.ts'

function makeTail() {
  const changes: (Change & { readonly tenant: TenantId })[] = []
  let lost = 0
  return {
    changes,
    lost: () => lost,
    watcher: {
      changed: (tenant: TenantId, change: Change) => void changes.push({ ...change, tenant }),
      lost: () => {
        lost += 1
      },
    },
  }
}

test('[FD1] an event, its job, its retry and its end are reported in the order of their commits', async () => {
  const world = makeWorld()
  const node = await world.node()
  const tail = makeTail()
  node.engine.watch(tail.watcher)
  const eventId = await accept(world, node, PAID)
  expect(tail.changes).toMatchObject([
    {
      tenant: 'default',
      type: 'event',
      id: eventId,
      subject: 'shop.events.paid',
      source: 'shop',
      matched: 1,
      objectId: 'o1',
    },
    {
      tenant: 'default',
      type: 'work',
      eventId,
      consumer: 'route:book',
      state: 'leased',
      attempts: 0,
      class: null,
    },
  ])
  world.calls[0]?.answer(CREATED)
  await world.pass()
  expect(tail.changes.slice(2)).toMatchObject([
    { type: 'work', eventId, consumer: 'route:book', state: 'done', attempts: 1, class: null },
  ])
})

test('[FD2] a subscription is reported with its status, and when it is removed', () => {
  const feed = makeFeed()
  const tail = makeTail()
  feed.watch(tail.watcher)
  const record = (status: string | null, declared: string | null): Write => ({
    w: 'record.put',
    kind: 'subscription',
    key: 'crm',
    version: 1,
    body: JSON.stringify({ document: declared === null ? null : { status: declared }, state: { status } }),
  })
  const writes: readonly Write[] = [
    record(null, 'active'),
    record('failing', 'active'),
    record(null, null),
    { w: 'record.delete', kind: 'subscription', key: 'crm' },
  ]
  const tenant = 'default' as TenantId
  feed.applied({ tenant, guards: [], writes }, { ok: true, at: 1, leased: [] } as never, null)
  expect(tail.changes.map((change) => ('status' in change ? change.status : change.type))).toEqual([
    'active',
    'failing',
    null,
    null,
  ])
})

test('[FD1] a commit that was not applied is not reported', async () => {
  const world = makeWorld()
  const node = await world.node({
    faults: {
      commit: (commit, pass) =>
        commit.writes.some(({ w }) => w === 'event.append')
          ? Promise.reject(new StoreError('unavailable', 'the disk is full'))
          : pass(),
    },
  })
  const tail = makeTail()
  node.engine.watch(tail.watcher)
  await expect(node.send(PAID)).rejects.toMatchObject({ code: 'store_unavailable' })
  expect(tail.changes).toEqual([])
  expect(tail.lost()).toBe(0)
})

test('[FD2] a duplicate changes nothing, and a stopped watcher gets nothing', async () => {
  const world = makeWorld()
  const node = await world.node()
  const [tail, gone] = [makeTail(), makeTail()]
  node.engine.watch(tail.watcher)
  const stop = node.engine.watch(gone.watcher)
  await accept(world, node, PAID)
  const told = tail.changes.length
  expect(gone.changes.length).toBe(told)
  stop()
  await accept(world, node, PAID)
  expect(tail.changes.length).toBe(told)
  await accept(world, node, { ...PAID, id: 'd2' })
  expect(tail.changes.length).toBeGreaterThan(told)
  expect(gone.changes.length).toBe(told)
})

test('[FD2] a commit whose response is lost is reported as a gap', async () => {
  const world = makeWorld()
  let failures = 1
  const node = await world.node({
    faults: {
      async commit(commit, pass) {
        const result = await pass()
        if (failures > 0 && commit.writes.some(({ w }) => w === 'event.append')) {
          failures -= 1
          throw new StoreError('unavailable', 'the connection broke', { applied: 'indeterminate' })
        }
        return result
      },
    },
  })
  const tail = makeTail()
  node.engine.watch(tail.watcher)
  const sent = node.send(PAID)
  await world.pass(10_000)
  expect((await sent).duplicate).toBe(false)
  expect(tail.lost()).toBeGreaterThan(0)
})

test('[FD2] definitions and dead letters are reported too', async () => {
  const world = makeWorld()
  const node = await world.node({ documents: [] })
  const tail = makeTail()
  node.engine.watch(tail.watcher)
  const applied = node.engine.apply('default' as TenantId, [SOURCE, ROUTE])
  await world.pass()
  await applied
  expect(tail.changes).toMatchObject([{ type: 'definitions', version: expect.any(Number) }])
  const eventId = await accept(world, node, PAID)
  world.calls[0]?.answer(answered(422))
  await world.pass(0)
  expect(tail.changes.slice(-5)).toMatchObject([
    { type: 'work', eventId, state: 'dead', class: 'validation' },
    { type: 'deadLetter', state: 'open' },
    { type: 'failure', state: 'escalated' },
    { type: 'escalation', cause: expect.stringMatching(/^sha256:/) },
    { type: 'event', subject: 'integration.failed', source: 'millrace' },
  ])
  expect(node.engine.meter.rates('default' as TenantId)).toEqual({
    acceptedPerMinute: 1,
    donePerMinute: 0,
    failedPerMinute: 1,
  })
})

test('[FD4] what a node does is counted: accepted, done, by consumer and by source', async () => {
  const world = makeWorld()
  const node = await world.node()
  await accept(world, node, PAID)
  await world.pass(500)
  world.calls[0]?.answer(CREATED)
  await world.pass(0)
  const stats = node.engine.meter.stats('default' as TenantId, 15)
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  expect([sum(stats.accepted), sum(stats.done), sum(stats.retried), sum(stats.dead)]).toEqual([1, 1, 0, 0])
  expect(stats.consumers).toMatchObject([{ consumer: 'route:book', done: 1, retried: 0, dead: 0 }])
  expect(stats.sources).toMatchObject([{ source: 'shop', accepted: 1 }])
  const shown = stats.latencyP50Ms.filter((value) => value !== null)
  expect(shown).toHaveLength(1)
  expect(shown[0]).toBeGreaterThan(400)
  expect(shown[0]).toBeLessThan(625)
})

test('[FD2] a bulk replay is reported at each step, its marker is not', () => {
  const feed = makeFeed()
  const tail = makeTail()
  feed.watch(tail.watcher)
  const put = (key: string): Write => ({ w: 'record.put', kind: 'replay', key, version: 1, body: '{}' })
  const writes: readonly Write[] = [
    put('rpl_0123456789abcdef01234567'),
    put('running/rpl_0123456789abcdef01234567'),
    { w: 'record.put', kind: 'setting', key: 's', version: 1, body: '{}' },
  ]
  feed.applied({ tenant: 'default' as TenantId, guards: [], writes }, { ok: true, at: 0, leased: [] }, null)
  expect(tail.changes).toEqual([{ tenant: 'default', type: 'replay', id: 'rpl_0123456789abcdef01234567' }])
})
