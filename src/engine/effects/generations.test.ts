// Deliberate repetitions: a new generation of a key, which leaves the earlier ones in place.
import { describe, expect, test } from 'vitest'
import type { RouteDocument } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type WorkId } from '../../core/foundation/ids/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  LOST,
  makeWorld,
  type Node,
  ROUTE,
  SOURCE,
  type World,
  workOf,
} from '../engine.fixture.ts'

const KEY = 'BOOK:o1'

/** A repetition as a replay creates it: a job of the same event under the next generation. */
async function repeat(
  world: World,
  node: Node,
  eventId: Awaited<ReturnType<typeof accept>>,
  generation: number,
) {
  const work = await workOf(world, eventId)
  const id = `wrk_again-${generation}` as WorkId
  const added = world.store.commit({
    tenant: DEFAULT_TENANT,
    guards: [],
    writes: [
      {
        w: 'work.add',
        work: {
          id,
          kind: 'route',
          consumer: work.consumer,
          definition: work.definition,
          codeHash: work.codeHash,
          eventId,
          expiresInMs: 600_000,
          replayOf: null,
          generation,
        },
        lease: null,
        delayMs: 0,
      },
    ],
  })
  await world.pass(2_000)
  await added
  expect(node.engine.health().alive).toBe(true)
  return id
}

describe('a forced repetition', () => {
  test('[GE1] repeats the effect under its own row, and the earlier one stays', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    const eventId = await accept(world, node)
    const id = await repeat(world, node, eventId, 2)
    expect(await world.reads.work(id)).toMatchObject({ state: 'done' })
    expect(world.calls).toHaveLength(2)
    expect(await world.reads.ledgerHistory(KEY)).toMatchObject([
      { generation: 1, state: 'done' },
      { generation: 2, state: 'done', work: id },
    ])
  })

  test('[GE2] is another effect to the vendor: its key carries the generation', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({
      documents: [SOURCE, { ...ROUTE, do: { ...HTTP, body: { ref: '{{ key }}' } } }],
    })
    const eventId = await accept(world, node)
    await repeat(world, node, eventId, 2)
    expect(world.calls.map(({ request }) => request.headers['idempotency-key'])).toEqual([KEY, `${KEY}#2`])
    expect(world.calls[1]!.request.body).toBe(`{"ref":"${KEY}#2"}`)
  })

  test('[GE3] waits while the outcome of the previous one is open', async () => {
    const world = makeWorld()
    const node = await world.node()
    const eventId = await accept(world, node)
    const id = await repeat(world, node, eventId, 2)
    expect(world.calls).toHaveLength(1)
    expect(await world.reads.work(id)).toMatchObject({
      state: 'ready',
      lastError: 'another item holds the key',
    })
    world.calls[0]!.answer(CREATED)
    await world.pass(5_000)
    expect(world.calls).toHaveLength(2)
  })

  test('[GE2] [DL9] is what an operator’s probe asks for, and not the previous one', async () => {
    let answer: HttpOutcome = answered(500)
    const world = makeWorld((request, call) =>
      request.method === 'GET' ? answer : call === 1 ? CREATED : LOST,
    )
    const probe = {
      method: 'GET',
      url: 'https://vendor.example/orders?ref={{ key }}',
      headers: {},
      found: 'result.body.found == true',
      afterMs: 5_000,
    } as const
    const route = { ...ROUTE, maxWaitMs: 60_000, do: { ...HTTP, probe } }
    const node = await world.node({ documents: [SOURCE, route] })
    const eventId = await accept(world, node)
    const id = await repeat(world, node, eventId, 2)
    await world.pass(800_000)
    expect(await world.reads.work(id)).toMatchObject({ state: 'parked' })
    answer = { kind: 'response', status: 200, headers: {}, body: '{"found":false}', durationMs: 1 }
    const asked = node.engine.probe(DEFAULT_TENANT, id, {})
    await world.pass(1_000)
    await asked
    const urls = world.calls.flatMap(({ request }) => (request.method === 'GET' ? [request.url] : []))
    expect(new Set(urls)).toEqual(
      new Set([`https://vendor.example/orders?ref=${encodeURIComponent(`${KEY}#2`)}`]),
    )
  })

  test('[GE4] a second job of one generation is a duplicate of that one, and points to it', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    const eventId = await accept(world, node)
    await repeat(world, node, eventId, 2)
    const again = await accept(world, node, { kind: 'paid', id: 'other', order: 'o1' })
    expect(world.calls).toHaveLength(2)
    expect(await workOf(world, again)).toMatchObject({ state: 'skipped', effectRef: 'v1' })
  })

  test.each([
    ['a function', { type: 'function', name: 'count', codeHash: '', with: null, timeoutMs: 1_000 }],
    ['an emitted event', { type: 'emit', subject: 'shop.events.booked', data: null }],
  ] as const)('[GE1] %s is repeated too', async (_name, action) => {
    let runs = 0
    const world = makeWorld()
    const route: RouteDocument = { ...ROUTE, do: action }
    const node = await world.node({
      documents: [SOURCE, route],
      functions: {
        count: () => {
          runs += 1
          return null
        },
      },
    })
    const eventId = await accept(world, node)
    await repeat(world, node, eventId, 2)
    expect(await world.reads.ledgerHistory(KEY)).toMatchObject([{ generation: 1 }, { generation: 2 }])
    const caused = await world.reads.causedBy(eventId, 10)
    expect(action.type === 'emit' ? caused.length : runs).toBe(2)
  })
})

describe('a dedupe hit', () => {
  test('[GE5] is skipped and logged, points to the first effect, and reserves nothing', async () => {
    const world = makeWorld(() => ({ ...CREATED, body: '{}' }))
    const node = await world.node()
    const first = await accept(world, node)
    const commits: string[][] = []
    node.faults.commit = async (commit, pass) => {
      const result = await pass()
      if (result.ok) commits.push(commit.writes.map(({ w }) => w))
      return result
    }
    const second = await accept(world, node, { kind: 'paid', id: 'd2', order: 'o1' })
    expect(await workOf(world, second)).toMatchObject({
      state: 'skipped',
      effectRef: (await workOf(world, first)).id,
    })
    expect(node.log.controls.filter(({ action }) => action === 'DEDUPE_HIT')).toMatchObject([
      { point: 'dedupe', idempotencyKey: KEY },
    ])
    // Its acceptance and its end: no reserve was written.
    expect(commits).toEqual([['event.append', 'work.add'], ['work.settle']])
    expect(await world.reads.ledger(KEY)).toMatchObject({ state: 'done', result: expect.any(String) })
  })

  test('[GE5] one that the node has seen before needs no reserve', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    await accept(world, node)
    await accept(world, node, { kind: 'paid', id: 'd2', order: 'o1' })
    const asked: string[][] = []
    node.faults.commit = (commit, pass) => {
      asked.push(commit.writes.map(({ w }) => w))
      return pass()
    }
    const third = await accept(world, node, { kind: 'paid', id: 'd3', order: 'o1' })
    expect(await workOf(world, third)).toMatchObject({ state: 'skipped', effectRef: 'v1' })
    expect(asked).toEqual([['event.append', 'work.add'], ['work.settle']])
  })

  test('[GE5] a cached effect counts only while the ledger agrees', async () => {
    let calls = 0
    const world = makeWorld(() => {
      calls += 1
      return { ...CREATED, body: `{"id":"v${calls}"}` }
    })
    const node = await world.node()
    const eventId = await accept(world, node)
    await accept(world, node, { kind: 'paid', id: 'd2', order: 'o1' })
    await repeat(world, node, eventId, 2)
    const third = await accept(world, node, { kind: 'paid', id: 'd3', order: 'o1' })
    expect(await workOf(world, third)).toMatchObject({ state: 'skipped', effectRef: 'v2' })
    expect(calls).toBe(2)
  })
})

test('[GE6] a vendor that drops the response has one effect after a probe', async () => {
  const probe = {
    method: 'GET',
    url: 'https://vendor.example/find?ref={{ key }}',
    headers: {},
    found: 'result.status == 200',
    afterMs: 1_000,
  }
  const world = makeWorld((request) =>
    request.method === 'GET'
      ? { ...CREATED, status: 200 }
      : { kind: 'failed', sent: 'maybe', code: 'reset', message: 'gone', durationMs: 1 },
  )
  const node = await world.node({ documents: [SOURCE, { ...ROUTE, do: { ...HTTP, probe } }] })
  const eventId = await accept(world, node)
  await world.pass(60_000)
  expect(world.calls.filter(({ request }) => request.method === 'POST')).toHaveLength(1)
  expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
  expect(await world.reads.ledger(KEY)).toMatchObject({ state: 'done', proof: 'probe' })
})

test('[GE6] and is parked, with one call, if there is no probe', async () => {
  const world = makeWorld(() => ({
    kind: 'failed',
    sent: 'maybe',
    code: 'reset',
    message: 'gone',
    durationMs: 1,
  }))
  const node = await world.node()
  const eventId = await accept(world, node)
  await world.pass(600_000)
  expect(world.calls).toHaveLength(1)
  expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', class: 'unknown' })
  expect(await world.reads.ledger(KEY)).toMatchObject({ state: 'unknown' })
})
