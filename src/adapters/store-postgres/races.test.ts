// Several nodes on one database at once, and what they share: positions in a lane, a consumer's limit, an escalation,
// an instance and its keys.

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type PostgresServer, startPostgres, type TestDatabase } from '../../../test/support/postgres.ts'
import type { NewEvent } from '../../core/events/event/index.ts'
import type { NewEscalation } from '../../core/failures/escalation/index.ts'
import type {
  EventId,
  Incarnation,
  InstanceId,
  NodeId,
  TenantId,
  WorkId,
} from '../../core/foundation/ids/index.ts'
import { makeIds } from '../../core/foundation/ids/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import { EMPTY_NOTE, type Lane, type WorkRow } from '../../core/queue/work/index.ts'
import type { NewInstance } from '../../core/workflows/instance/index.ts'
import type { Guard, Store, Write } from '../../ports/store.ts'
import { openPostgresStore } from './index.ts'

const TENANT = 'acme' as TenantId
const ROUTE = 'route:crm'
const COUNTERS = { attempts: 1, waits: 0, losses: 0 }

interface Node {
  readonly store: Store
  readonly owner: Incarnation
}

let server: PostgresServer
let database: TestDatabase
let nodes: readonly Node[] = []
beforeAll(async () => {
  server = await startPostgres()
  database = await server.makeDatabase()
})
afterAll(() => server?.close())

/** The server detects nodes that wait for each other in a circle, and counts the deadlocks. */
const countDeadlocks = () =>
  server.query(
    database.url,
    'SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = current_database()',
  )

async function openNodes(count: number): Promise<readonly [Node, Node, ...Node[]]> {
  const opened = await Promise.all(
    Array.from({ length: count }, async (_, index): Promise<Node> => {
      const store = await openPostgresStore({ connection: database.url })
      return { store, owner: (await store.join(`node-${index}` as NodeId, 600_000)).owner }
    }),
  )
  nodes = opened
  return opened as [Node, Node, ...Node[]]
}

afterEach(async () => {
  for (const { store } of nodes) await store[Symbol.asyncDispose]()
  expect(await countDeadlocks()).toEqual([{ n: 0 }])
  await database.giveBack()
})

let drawn = 20_260_114
function random(below: number): number {
  drawn = (Math.imul(drawn, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((drawn / 2 ** 32) * below)
}
const ids = makeIds({
  now: () => 1_750_000_000_000,
  bytes: (length) => Uint8Array.from({ length }, () => random(256)),
})

function makeEvent(): NewEvent {
  const id = ids.event()
  return {
    ...{ id, tenant: TENANT, source: 'shop', subject: 'order.created', objectType: null, objectId: null },
    ...{ occurredAt: null, correlationId: id, causationId: null, traceId: id, dedupKey: id },
    ...{ payloadHash: 'a', headers: '{}', data: '{}', raw: null, sensitive: [], matched: 1 },
  }
}

/** An event with one job, in a lane if one is given. */
async function add({ store }: Node, lane?: Lane): Promise<WorkId> {
  const event = makeEvent()
  const work = {
    ...{ id: ids.work(), kind: 'route' as const, consumer: ROUTE, definition: 'd', codeHash: null },
    ...{ eventId: event.id, expiresInMs: DAY, replayOf: null, ...(lane && { lane }) },
  }
  await commit(store, [
    { w: 'event.append', event, dedupForMs: 0 },
    { w: 'work.add', work, lease: null, delayMs: 0 },
  ])
  return work.id
}

async function commit(store: Store, writes: readonly Write[], guards: readonly Guard[] = []) {
  const { ok } = await store.commit({ tenant: TENANT, guards, writes })
  if (guards.length === 0) expect(ok).toBe(true)
  return ok
}

const claim = ({ store, owner }: Node, max: number, limit?: number) =>
  store.claim({
    owner,
    slots: [{ tenant: TENANT, consumer: ROUTE, max, ...(limit !== undefined && { limit }) }],
    ...{ max, maxIsolated: max, codeHashes: [] },
  })

const settle = (work: WorkId, to: 'done' | 'cancelled' = 'done'): Write => ({
  ...{ w: 'work.settle', work, to, counters: COUNTERS, note: EMPTY_NOTE },
})

const finish = ({ store, owner }: Node, { id, epoch }: WorkRow) =>
  commit(store, [settle(id)], [{ g: 'lease', work: id, owner, epoch }])

const dump = ({ store }: Node) => store.system('verification').dump()

/** Every lane row agrees with its jobs, and no job waits for a free position. */
async function checkLanes(node: Node) {
  const { work, lanes } = await dump(node)
  for (const lane of lanes) {
    const own = work.filter((row) => row.lane === lane.key)
    const places = own.filter((row) => row.hasPlace).length
    const waiting = own.filter((row) => row.state === 'waiting').length
    expect({ ...lane, places, waiting }).toEqual(lane)
    expect(places).toBeLessThanOrEqual(lane.width)
    if (waiting > 0) expect(places).toBe(lane.width)
  }
  return { work, lanes }
}

const LANES: readonly Lane[] = [
  { key: 'one', width: 1 },
  { key: 'two', width: 2 },
  { key: 'three', width: 3 },
]
const times = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index))

test('[ST102] nodes that enter new lanes at once: as many positions as the lane is wide, and the rest waits', async () => {
  const three = await openNodes(3)
  const added = await Promise.all(
    three.flatMap((node) => times(30, (index) => add(node, LANES[index % 3] as Lane))),
  )
  const { work, lanes } = await checkLanes(three[0])
  expect(new Set(work.map(({ id }) => id))).toEqual(new Set(added))
  expect(lanes.map(({ key, places, waiting }) => [key, places, waiting])).toEqual([
    ['one', 1, 29],
    ['three', 3, 27],
    ['two', 2, 28],
  ])
})

test('[ST103] [ST106] lanes that several nodes fill, drain and cancel in: one after another, none twice, none forgotten', async () => {
  const three = await openNodes(3)
  const ended = new Set<WorkId>()
  const order = new Map<string, WorkId[]>()
  const inHand = new Map<string, number>()
  const end = (id: WorkId) => {
    expect(ended.has(id)).toBe(false)
    ended.add(id)
  }
  const take = async (node: Node) => {
    const { items } = await claim(node, 3)
    for (const { work } of items) {
      const key = work.lane as string
      const held = (inHand.get(key) ?? 0) + 1
      inHand.set(key, held)
      expect(held).toBeLessThanOrEqual(LANES.find((lane) => lane.key === key)?.width ?? 0)
      order.set(key, [...(order.get(key) ?? []), work.id])
    }
    return items.map(({ work }) => work)
  }
  const workOff = async (node: Node, row: WorkRow) => {
    // Counted down before the store releases it: so the count never exceeds the leased jobs.
    inHand.set(row.lane as string, (inHand.get(row.lane as string) ?? 0) - 1)
    expect(await finish(node, row)).toBe(true)
    end(row.id)
  }
  const giveUp = async ({ store }: Node) => {
    const [, one] = await store.forTenant(TENANT).laneWaiting(ROUTE, 'three', 2)
    if (one === undefined) return
    const guard: Guard = { g: 'work', work: one.id, state: 'waiting', epoch: one.epoch }
    if (await commit(store, [settle(one.id, 'cancelled')], [guard])) end(one.id)
  }
  const added: WorkId[] = []
  const run = async (node: Node, turns: number) => {
    for (let turn = 0; turn < turns; turn += 1) {
      const news = () => times(2, async () => void added.push(await add(node, LANES[random(3)] as Lane)))
      const rows = await take(node)
      await Promise.all(news())
      await Promise.all([...news(), giveUp(node), ...rows.map((row) => workOff(node, row))])
    }
  }
  await Promise.all(three.map((node) => run(node, 10)))
  await checkLanes(three[0])
  for (let isMore = true; isMore; ) {
    const taken = await Promise.all(three.map(async (node) => ({ node, rows: await take(node) })))
    isMore = taken.some(({ rows }) => rows.length > 0)
    await Promise.all(taken.flatMap(({ node, rows }) => rows.map((row) => workOff(node, row))))
  }
  const { work, lanes } = await checkLanes(three[0])
  expect(added).toHaveLength(120)
  expect(ended).toEqual(new Set(added))
  expect(work.filter(({ state }) => state === 'cancelled').length).toBeGreaterThan(0)
  expect(lanes.map(({ places, waiting }) => places + waiting)).toEqual([0, 0, 0])
  const births = new Map(work.map(({ id, createdAt }) => [id, createdAt]))
  const one = (order.get('one') ?? []).map((id) => births.get(id) ?? 0)
  expect(one).toEqual(one.toSorted((a, b) => a - b))
})

test('[ST103] [ST106] two that leave at once let two in, and one that is cancelled meanwhile is not one of them', async () => {
  const [first, second] = await openNodes(2)
  for (let round = 0; round < 10; round += 1) {
    const lane = { key: `lane-${round}`, width: 2 }
    for (let count = 0; count < 5; count += 1) await add(first, lane)
    const [mine] = (await claim(first, 1)).items
    const [theirs] = (await claim(second, 1)).items
    const [next] = await first.store.forTenant(TENANT).laneWaiting(ROUTE, lane.key, 1)
    if (!mine || !theirs || !next) throw new Error('two have a place and three wait')
    const guard: Guard = { g: 'work', work: next.id, state: 'waiting', epoch: next.epoch }
    const [, , isGivenUp] = await Promise.all([
      finish(first, mine.work),
      finish(second, theirs.work),
      commit(random(2) === 0 ? first.store : second.store, [settle(next.id, 'cancelled')], [guard]),
    ])
    const { work } = await checkLanes(first)
    const own = work.filter((row) => row.lane === lane.key)
    expect(own.filter(({ state }) => state === 'ready')).toHaveLength(2)
    expect(own.find(({ id }) => id === next.id)?.state).toBe(isGivenUp ? 'cancelled' : 'ready')
    const { items } = await claim(second, 5)
    for (const { work: row } of items) await finish(second, row)
    for (const { work: row } of (await claim(second, 5)).items) await finish(second, row)
  }
})

test('[ST116] a limit holds over all nodes that claim at once', async () => {
  const four = await openNodes(4)
  await Promise.all(times(50, () => add(four[0])))
  for (let round = 0; round < 10; round += 1) {
    const claimed = await Promise.all(four.map(async (node) => ({ node, ...(await claim(node, 3, 5)) })))
    expect(claimed.flatMap(({ items }) => items)).toHaveLength(5)
    await Promise.all(claimed.flatMap(({ node, items }) => items.map(({ work }) => finish(node, work))))
  }
  expect((await dump(four[0])).work.every(({ state }) => state === 'done')).toBe(true)
})

test('[ST123] [ST125] an escalation that nodes raise and acknowledge at once: every occurrence is counted, and at most one is raised', async () => {
  const three = await openNodes(3)
  const rowOf = (): NewEscalation => ({
    ...{ id: ids.escalation(), cause: 'vendor is down', consumer: ROUTE, class: 'transient' },
    ...{ reason: 'cap_reached', severity: 'high', runbook: null, lastError: 'answered 503', workId: null },
  })
  await Promise.all(
    three.map(async (node) => {
      for (let round = 0; round < 8; round += 1) {
        const raises = times(5, () => commit(node.store, [{ w: 'escalation.raise', row: rowOf() }]))
        const [raised] = (
          await node.store.forTenant(TENANT).escalations({ cursor: null, limit: 5, state: 'raised' })
        ).items
        const acknowledged = raised && {
          guard: { g: 'version', of: 'escalation', key: raised.id, version: raised.version } as const,
          write: { w: 'escalation.change', id: raised.id, acknowledged: { by: 'anna', note: null } } as const,
        }
        if (acknowledged) await commit(node.store, [acknowledged.write], [acknowledged.guard])
        await Promise.all(raises)
      }
    }),
  )
  const { escalations } = await dump(three[0])
  expect(escalations.reduce((sum, { count }) => sum + count, 0)).toBe(120)
  expect(escalations.length).toBeGreaterThan(1)
  expect(escalations.filter(({ state }) => state === 'raised').length).toBeLessThanOrEqual(1)
})

test('[ST100] [ST131] lanes that retention removes while jobs enter and leave them', async () => {
  const [first, second, third] = await openNodes(3)
  const request = { tenant: TENANT, keepMs: {}, otherwiseMs: 0, after: null, scanMax: 100 }
  const lane = (index: number) => ({ key: `lane-${index % 4}`, width: 1 })
  const workOff = async (node: Node) => {
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(times(4, (index) => add(node, lane(index))))
      for (const { work } of (await claim(node, 10)).items) expect(await finish(node, work)).toBe(true)
    }
  }
  let gone = 0
  let isOver = false
  const prune = async () => {
    while (!isOver) gone += (await third!.store.prune(request)).lanes
  }
  const pruning = prune()
  await Promise.all([workOff(first), workOff(second)])
  for (let isMore = true; isMore; ) {
    const { items, nextDueAt } = await claim(first, 10)
    for (const { work } of items) expect(await finish(first, work)).toBe(true)
    // A job that retention is reading right now is skipped.
    isMore = items.length > 0 || nextDueAt !== null
    await checkLanes(second)
  }
  isOver = true
  await pruning
  gone += (await third!.store.prune(request)).lanes
  expect(gone).toBeGreaterThanOrEqual(4)
  const { work, lanes } = await dump(first)
  expect([work.filter(({ state }) => state !== 'done'), lanes]).toEqual([[], []])
})

const instanceOf = (id: InstanceId, revision: number, eventId: EventId): NewInstance => ({
  ...{ id, workflow: 'order', definition: 'd', version: '1', state: 'active', attention: null, revision },
  ...{ marking: { open: 1 }, eventId, correlationId: 'c', parent: null, body: '{}' },
})

const changeTo = (row: NewInstance): readonly Write[] => [
  { w: 'instance.put', row },
  {
    w: 'history.append',
    rows: [{ instance: row.id, sequence: row.revision, type: 'updated', body: '{}' }],
  },
]

test('[ST135] [ST140] nodes that create and change the instance of one key at once: one is created, and no change is lost', async () => {
  const three = await openNodes(3)
  const keys = times(4, (index) => `order/number/${index}`)
  let refused = 0
  /** Looks up the key's instance, then creates or changes it, until no other node was faster. */
  const bring = async ({ store }: Node, key: string): Promise<void> => {
    const reads = store.forTenant(TENANT)
    for (;;) {
      const row = await reads.correlation(key)
      const found = row === null ? null : await reads.instance(row.body as InstanceId)
      const id = found?.id ?? ids.instance()
      const revision = (found?.revision ?? 0) + 1
      const event = makeEvent()
      const guards: Guard[] = [
        { g: 'version', of: 'correlation', key, version: row?.version ?? 0 },
        { g: 'version', of: 'instance', key: id, version: revision - 1 },
      ]
      const isDone = await commit(
        store,
        [
          { w: 'event.append', event, dedupForMs: 0 },
          ...changeTo(instanceOf(id, revision, found?.eventId ?? event.id)),
          ...(found === null ? [{ w: 'correlation.put', key, version: 1, body: id } as const] : []),
        ],
        guards,
      )
      if (isDone) return
      refused += 1
    }
  }
  await Promise.all(
    three.map(async (node) => {
      for (let round = 0; round < 5; round += 1) await Promise.all(keys.map((key) => bring(node, key)))
    }),
  )
  const { instances, history, correlations, events } = await dump(three[0])
  expect(refused).toBeGreaterThan(0)
  expect(correlations.map(({ key }) => key)).toEqual(keys)
  expect(new Set(correlations.map(({ body }) => body))).toEqual(new Set(instances.map(({ id }) => id)))
  expect(instances.map(({ revision }) => revision)).toEqual([15, 15, 15, 15])
  expect(history).toHaveLength(60)
  expect(events).toHaveLength(60)
})

test('[ST140] keys that nodes put and free alternately, several in one commit: no instance has half of them', async () => {
  const three = await openNodes(3)
  const keys = times(3, (index) => `order/part/${index}`)
  const turn = async ({ store }: Node, order: readonly string[], body: string) => {
    const guards = order.map((key) => ({ g: 'version', of: 'correlation', key, version: 0 }) as const)
    const puts = order.map((key) => ({ w: 'correlation.put', key, version: 1, body }) as const)
    if (!(await commit(store, puts, guards))) return false
    const held = await Promise.all(keys.map((key) => store.forTenant(TENANT).correlation(key)))
    expect(held.map((row) => row?.body)).toEqual([body, body, body])
    return commit(
      store,
      keys.map((key) => ({ w: 'correlation.delete', key })),
    )
  }
  let had = 0
  await Promise.all(
    three.map(async (node, index) => {
      for (let round = 0; round < 20; round += 1) {
        const order = index === 1 ? keys.toReversed() : keys
        if (await turn(node, order, `${index} ${round}`)) had += 1
      }
    }),
  )
  expect(had).toBeGreaterThan(0)
  expect((await dump(three[0])).correlations).toEqual([])
})

test('[ST146] an event whose job creates an instance while retention walks stays until the instance has ended', async () => {
  const [first, second, third] = await openNodes(3)
  const request = { tenant: TENANT, keepMs: {}, otherwiseMs: 0, after: null, scanMax: 100 }
  let isOver = false
  const prune = async () => {
    while (!isOver) await third!.store.prune(request)
  }
  const begin = async (node: Node) => {
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(times(4, () => add(node)))
      for (const { work, event } of (await claim(node, 10)).items) {
        const guard: Guard = { g: 'lease', work: work.id, owner: node.owner, epoch: work.epoch }
        const row = instanceOf(ids.instance(), 1, event.id)
        expect(await commit(node.store, [settle(work.id), ...changeTo(row)], [guard])).toBe(true)
      }
    }
  }
  const pruning = prune()
  await Promise.all([begin(first), begin(second)])
  isOver = true
  await pruning
  const { instances, events } = await dump(first)
  const there = new Set(events.map(({ id }) => id))
  expect(instances.length).toBeGreaterThan(0)
  expect(instances.filter(({ eventId }) => !there.has(eventId))).toEqual([])
  for (const { tenant: _, createdAt, updatedAt, endedAt, ...row } of instances) {
    await commit(first.store, [{ w: 'instance.put', row: { ...row, state: 'completed' } }])
  }
  const done = new Set(instances.map(({ eventId }) => eventId))
  await third!.store.prune({ ...request, scanMax: 1_000 })
  const left = await dump(first)
  expect(left.events.filter(({ id }) => done.has(id))).toEqual([])
  expect([left.instances, left.history]).toEqual([[], []])
})
