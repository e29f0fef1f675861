// The list of all runs, with a memory store: stored and derived ones.
import { describe, expect, test } from 'vitest'
import { DEFAULT_TENANT, type WorkId } from '../../core/foundation/ids/index.ts'
import { compileRoute } from '../../core/routing/index.ts'
import { accept, answered, CREATED, type Node, PAID, ROUTE } from '../engine.fixture.ts'
import { documents, makeManualCredentials, makeShop } from './connections.fixture.ts'
import { makeRunList } from './run-list.ts'

const T = DEFAULT_TENANT
const START = { cursor: null, limit: 50 }
/** The same events as the route on the connection. */
const PLAIN = { ...ROUTE, name: 'plain', key: "'PLAIN:' + payload.id" }

async function start(answer: Parameters<typeof makeShop>[0]) {
  const world = makeShop(answer)
  const node = await world.node({
    documents: [...documents(), PLAIN],
    credentials: makeManualCredentials(),
  })
  await world.pass()
  const integrations = node.engine.integrations
  const settled = async <Value>(promise: Promise<Value>) => {
    await world.pass()
    return promise
  }
  return {
    world,
    node,
    runs: (query: object = {}) => settled(integrations.runs(T, { ...START, ...query })),
    integrations,
  }
}

const send = (world: Parameters<typeof accept>[0], node: Node, order: string) =>
  accept(world, node, { ...PAID, id: `d-${order}`, order })

describe('the list of runs', () => {
  test('[RN6] [RN7] has plain calls beside those on a connection, linked to event, job and trace', async () => {
    const { world, node, runs, integrations } = await start((_request, call) =>
      call <= 2 ? answered(503) : CREATED,
    )
    const eventId = await send(world, node, 'o1')
    await world.pass(5_000)
    const { items } = await runs({ purpose: 'work' })
    expect(items.map(({ via, state, attemptCount }) => [via, state, attemptCount]).sort()).toEqual([
      ['connection', 'completed', 2],
      ['http', 'completed', 2],
    ])
    const plain = items.find(({ via }) => via === 'http')
    const event = await world.reads.event(eventId)
    const [job] = (await world.reads.workOfEvent(eventId)).filter(
      ({ consumer }) => consumer === 'route:plain',
    )
    expect(plain).toMatchObject({
      id: `run_${job?.id.slice(4)}`,
      connection: null,
      provider: null,
      operation: 'POST https://vendor.example/orders/{{ payload.order }}',
      workId: job?.id,
      eventId,
      traceId: event?.traceId,
      correlationId: event?.correlationId,
      key: 'PLAIN:d-o1',
      externalRef: 'v1',
      class: null,
      httpStatus: 201,
      attempts: [
        { number: 1, class: 'transient', httpStatus: 503 },
        { number: 2, class: null, httpStatus: 201 },
      ],
    })
    expect(await integrations.run(T, plain?.id ?? '')).toEqual(plain)
    expect((await runs({ workId: job?.id })).items).toEqual([plain])
    expect((await runs({ via: 'http' })).items).toEqual([plain])
    expect((await runs({ via: 'delivery' })).items).toEqual([])
    expect((await runs({ via: 'connection', purpose: 'work' })).items).toHaveLength(1)
    await expect(integrations.run(T, 'run_none')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('[RN7] says while its job waits or is dead that it failed, and a replay names the run that it repeats', async () => {
    let status = 503
    const { world, node, runs } = await start(() => (status === 201 ? CREATED : answered(status)))
    await send(world, node, 'o1')
    expect((await runs({ via: 'http' })).items).toMatchObject([{ state: 'failed', class: 'transient' }])
    expect((await runs({ via: 'http', state: 'completed' })).items).toEqual([])
    status = 422
    await world.pass(5_000)
    const [dead] = (await runs({ via: 'http', state: 'dead-lettered' })).items
    expect(dead).toMatchObject({ class: 'validation', attemptCount: 2 })
    status = 201
    const letters = (await world.reads.deadLetters({ cursor: null, limit: 9, consumer: 'route:plain' })).items
    const replayed = node.engine.replay(T, letters[0]!.id, { force: false })
    await world.pass(1_000)
    await replayed
    expect((await runs({ via: 'http', state: 'completed' })).items).toMatchObject([{ replayOf: dead?.id }])
  })

  test('[RN6] has each run once, newest first, however its pages are cut, also while others are added', async () => {
    const { world, node, runs, integrations } = await start(() => CREATED)
    for (let count = 0; count < 7; count += 1) await send(world, node, `o${count}`)
    const all = (await runs()).items.map(({ id }) => id)
    expect(all.length).toBeGreaterThanOrEqual(14)
    expect(all).toEqual([...all].sort().reverse())
    expect(new Set(all).size).toBe(all.length)
    for (const limit of [1, 2, 3, 5, 50]) {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const page: Awaited<ReturnType<typeof runs>> = await runs({ limit, cursor })
        seen.push(...page.items.map(({ id }) => id))
        cursor = page.nextCursor
      } while (cursor !== null)
      expect(seen).toEqual(all)
    }
    const first = await runs({ limit: 4 })
    await send(world, node, 'late')
    const rest = await runs({ limit: 50, cursor: first.nextCursor })
    expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(all)
    await expect(integrations.runs(T, { ...START, cursor: 'x' })).rejects.toMatchObject({
      code: 'invalid_cursor',
    })
  })

  test('[RN6] a page that finds too few continues where it stopped', async () => {
    const { world, node } = await start(() => CREATED)
    await send(world, node, 'o1')
    const [plain] = (await world.reads.workList({ cursor: null, limit: 9 })).items.filter(
      ({ consumer }) => consumer === 'route:plain',
    )
    const idAt = (at: number) => `wrk_0197c3f0-6c00-7000-8000-${String(at).padStart(12, '0')}` as WorkId
    // More jobs without a run than one page looks at, and one with a run behind them.
    const count = 2_300
    const jobs = Array.from({ length: count }, (_, at) => ({
      ...plain!,
      id: idAt(count - at),
      kind: at === count - 1 ? plain!.kind : ('trigger' as const),
    }))
    const reads = {
      ...world.reads,
      workList: async ({ cursor, limit }: { cursor: string | null; limit: number }) => {
        const from = Number(cursor ?? 0)
        const next = from + limit
        return { items: jobs.slice(from, next), nextCursor: next < count ? String(next) : null }
      },
      attempts: async () => [],
    }
    const route = compileRoute(PLAIN)
    const list = makeRunList({
      store: { ...world.store, forTenant: () => reads },
      registry: { routeOf: async () => route },
    })
    const first = await list.list(T, { ...START, via: 'http' })
    expect(first.items).toEqual([])
    const second = await list.list(T, { ...START, via: 'http', cursor: first.nextCursor })
    expect(second).toMatchObject({ items: [{ workId: idAt(1) }], nextCursor: null })
  })
})
