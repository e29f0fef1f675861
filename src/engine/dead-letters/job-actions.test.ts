// Operator actions on jobs that are not leased.

import { describe, expect, test } from 'vitest'
import type { HttpActionDocument, RouteDocument } from '../../core/definitions/documents/index.ts'
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

const T = DEFAULT_TENANT
const conflict = { code: 'conflict' }

async function heard<Value>(world: World, answer: Promise<Value>): Promise<Value> {
  const settled = answer.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  await world.pass(100)
  const result = await settled
  if ('error' in result) throw result.error
  return result.value
}

const withHttp = (how: Partial<HttpActionDocument>): [typeof SOURCE, RouteDocument] => [
  SOURCE,
  { ...ROUTE, do: { ...HTTP, ...how } },
]

const probe = {
  method: 'GET',
  url: 'https://vendor.example/orders?ref={{ key }}',
  headers: {},
  found: 'result.body.found == true',
  afterMs: 5_000,
} as const

const page = (body: string): HttpOutcome => ({
  kind: 'response',
  status: 200,
  headers: {},
  body,
  durationMs: 1,
})

describe('a ready job', () => {
  /** The first call fails, so that the job waits for its next attempt. */
  const waiting = async () => {
    const world = makeWorld((_request, call) => (call === 1 ? answered(503) : CREATED))
    const node = await world.node({
      documents: [SOURCE, { ...ROUTE, retry: { profile: null, attempts: 3, delaysMs: [60_000, 60_000] } }],
    })
    const eventId = await accept(world, node)
    return { world, node, eventId, work: await workOf(world, eventId) }
  }

  test('[DL7] is due at once, and keeps its counters', async () => {
    const { world, node, eventId, work } = await waiting()
    expect(work).toMatchObject({ state: 'ready', attempts: 1 })
    await heard(world, node.engine.retry(T, work.id, { actor: 'anna' }))
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 2 })
    expect(node.log.controls.map(({ action }) => action)).toContain('RETRIED')
  })

  test('[DL8] is cancelled with a reason, and never runs again', async () => {
    const { world, node, eventId, work } = await waiting()
    await heard(world, node.engine.cancel(T, work.id, { actor: 'anna', reason: 'sent by hand' }))
    await world.pass(200_000)
    expect(await workOf(world, eventId)).toMatchObject({
      state: 'cancelled',
      attempts: 1,
      lastError: 'by anna: sent by hand',
    })
    expect(world.calls).toHaveLength(1)
    await expect(heard(world, node.engine.cancel(T, work.id, { reason: 'x' }))).rejects.toMatchObject(
      conflict,
    )
    await expect(heard(world, node.engine.retry(T, work.id, {}))).rejects.toMatchObject(conflict)
  })

  test('[DL6] that was claimed meanwhile is not cancelled', async () => {
    const world = makeWorld()
    const node = await world.node()
    const eventId = await accept(world, node)
    const work = await workOf(world, eventId)
    expect(work.state).toBe('leased')
    await expect(heard(world, node.engine.cancel(T, work.id, { reason: 'x' }))).rejects.toMatchObject(
      conflict,
    )
    await expect(heard(world, node.engine.retry(T, work.id, {}))).rejects.toMatchObject(conflict)
    await expect(heard(world, node.engine.probe(T, work.id, {}))).rejects.toMatchObject(conflict)
    world.calls[0]?.answer(CREATED)
    await world.pass()
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
  })

  test('[DL10] that a crash interrupted is checked before it may be cancelled', async () => {
    const world = makeWorld()
    const first = await world.node()
    const eventId = await accept(world, first)
    first.crash()
    const documents = [SOURCE, { ...ROUTE, status: 'paused' as const }]
    const second = await world.node({ name: 'two', documents })
    await world.pass(60_000)
    const work = await workOf(world, eventId)
    expect(work).toMatchObject({ state: 'ready', alone: true })
    await expect(heard(world, second.engine.cancel(T, work.id, { reason: 'x' }))).rejects.toMatchObject(
      conflict,
    )
    await heard(world, second.engine.retry(T, work.id, {}))
    expect(await workOf(world, eventId)).toEqual(work)
  })
})

describe('a parked job', () => {
  const parked = async (how: Partial<HttpActionDocument>, answer: (call: number) => HttpOutcome) => {
    const world = makeWorld((_request, call) => answer(call))
    const node = await world.node({ documents: withHttp(how) })
    const eventId = await accept(world, node)
    return { world, node, eventId }
  }

  test('[DL7] is checked again: nothing is known, and nothing is sent', async () => {
    const { world, node, eventId } = await parked({}, () => LOST)
    const work = await workOf(world, eventId)
    expect(work.state).toBe('parked')
    await heard(world, node.engine.retry(T, work.id, {}))
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', attempts: 1 })
    expect(world.calls).toHaveLength(1)
  })

  test('[DL8] cancelled with an unknown outcome, its effect stays unknown until an operator resolves it', async () => {
    const { world, node, eventId } = await parked({}, (call) => (call === 1 ? LOST : CREATED))
    const { id } = await workOf(world, eventId)
    await heard(world, node.engine.cancel(T, id, { reason: 'nobody knows' }))
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'unknown', work: id })
    const second = await accept(world, node, { kind: 'paid', id: 'd2', order: 'o1' })
    await world.pass(10_000)
    expect(await workOf(world, second)).toMatchObject({ state: 'ready' })
    await heard(world, node.engine.resolve(T, id, { as: 'released', reason: 'looked' }))
    await world.pass(300_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'cancelled' })
    expect(await workOf(world, second)).toMatchObject({ state: 'done' })
    expect(world.calls).toHaveLength(2)
    await expect(heard(world, node.engine.resolve(T, id, { as: 'done', reason: 'x' }))).rejects.toMatchObject(
      conflict,
    )
  })

  test('[DL9] cannot be probed without a probe in its definition', async () => {
    const { world, node, eventId } = await parked({}, () => LOST)
    const { id } = await workOf(world, eventId)
    await expect(heard(world, node.engine.probe(T, id, {}))).rejects.toMatchObject(conflict)
    await expect(heard(world, node.engine.probe(T, 'wrk_0' as WorkId, {}))).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  /** Probes get no response until the job has expired and is parked. */
  const expired = async (last: HttpOutcome): Promise<{ world: World; node: Node; id: WorkId }> => {
    let answer: HttpOutcome = answered(500)
    const world = makeWorld((request) => (request.method === 'GET' ? answer : LOST))
    const [source, route] = withHttp({ probe })
    const node = await world.node({ documents: [source, { ...route, maxWaitMs: 60_000 }] })
    const eventId = await accept(world, node)
    await world.pass(400_000)
    const work = await workOf(world, eventId)
    expect(work.state).toBe('parked')
    expect(work.expiresAt).toBeLessThan(world.now())
    answer = last
    return { world, node, id: work.id }
  }

  test('[DL9] is probed at once, long after it expired, and done if the effect exists', async () => {
    const { world, node, id } = await expired(page('{"found":true,"id":"v7"}'))
    await heard(world, node.engine.probe(T, id, { actor: 'anna' }))
    expect(await world.reads.work(id)).toMatchObject({ state: 'done', effectRef: 'v7' })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({
      state: 'done',
      proof: 'probe',
      result: expect.stringContaining('"status":200'),
      effectRef: 'v7',
    })
    expect(world.calls.filter(({ request }) => request.method === 'POST')).toHaveLength(1)
  })

  test('[DL9] continues if the effect does not exist', async () => {
    const { world, node, id } = await expired(page('{"found":false}'))
    await heard(world, node.engine.probe(T, id, {}))
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'released', proof: 'probe' })
    // It may not be attempted any more; but nothing was done, so it can be replayed.
    expect(await world.reads.work(id)).toMatchObject({ state: 'dead' })
    expect((await world.reads.deadLetters({ cursor: null, limit: 9 })).items).toMatchObject([
      { reason: 'expired', state: 'open' },
    ])
  })

  test('[DL9] [IX10] is probed with the secrets of its action, and not at all without them', async () => {
    const TOKEN = 't0ken-of-books'
    // To a caller that it does not know the vendor says that nothing is there.
    const world = makeWorld(({ method, headers }) => {
      if (method !== 'GET') return LOST
      if (isOpen && headers.authorization === `Bearer ${TOKEN}`) return page(`{"found":true,"id":"${TOKEN}"}`)
      return isOpen ? answered(404) : answered(500)
    })
    let isOpen = false
    const [source, route] = withHttp({ probe, auth: { bearer: { ref: 'books' } } })
    const set = (value: string) => world.vault.set(T, 'books', value, { isPending: false, by: 'test' })
    await set(TOKEN)
    const node = await world.node({ documents: [source, { ...route, maxWaitMs: 60_000 }] })
    const eventId = await accept(world, node)
    await world.pass(400_000)
    const { id, state } = await workOf(world, eventId)
    expect(state).toBe('parked')
    isOpen = true
    const asked = world.calls.length
    await world.vault.remove(T, 'books', 'test')
    await expect(heard(world, node.engine.probe(T, id, {}))).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('has no value'),
    })
    expect(world.calls).toHaveLength(asked)
    await set(TOKEN)
    await heard(world, node.engine.probe(T, id, {}))
    expect(await world.reads.work(id)).toMatchObject({ state: 'done', effectRef: '[redacted]' })
    expect(JSON.stringify(await world.reads.ledger('BOOK:o1'))).not.toContain(TOKEN)
  })

  test('[DL9] stays parked without a clear response', async () => {
    const { world, node, id } = await expired(answered(500))
    const before = await world.reads.work(id)
    await expect(heard(world, node.engine.probe(T, id, {}))).rejects.toMatchObject(conflict)
    expect(await world.reads.work(id)).toEqual(before)
  })
})

test('[DL8] a replay that is cancelled reopens its dead letter', async () => {
  const world = makeWorld((_request, call) => answered(call === 1 ? 422 : 503))
  const node = await world.node()
  await accept(world, node)
  const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 1 })).items
  const { workId } = await heard(world, node.engine.replay(T, letter!.id, { force: false }))
  expect(await world.reads.work(workId)).toMatchObject({ state: 'ready', attempts: 1 })
  await heard(world, node.engine.cancel(T, workId, { reason: 'not now' }))
  expect(await world.reads.work(workId)).toMatchObject({ state: 'cancelled' })
  expect(await world.reads.deadLetter(letter!.id)).toMatchObject({
    state: 'open',
    replays: 1,
    lastError: letter!.lastError,
    attempts: letter!.attempts + 1,
  })
})

describe('[DL13] a job that died with an unknown outcome', () => {
  const died = async () => {
    const world = makeWorld((_request, call) => (call === 1 ? answered(500) : CREATED))
    const [source, route] = withHttp({ idempotent: true })
    const node = await world.node({
      documents: [source, { ...route, retry: { profile: null, attempts: 1, delaysMs: [] } }],
    })
    const eventId = await accept(world, node)
    const work = await workOf(world, eventId)
    const entry = await world.reads.ledger('BOOK:o1')
    expect([work.state, entry?.state]).toEqual(['dead', 'unknown'])
    expect(await node.engine.allowed(work, entry)).toEqual(['done', 'released'])
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 1 })).items
    return { world, node, id: work.id, letter: letter!.id }
  }

  test.each([
    ['done', 'skipped', 1],
    ['released', 'done', 2],
  ] as const)('is resolved as %s, and its replay respects that', async (as, state, calls) => {
    const { world, node, id, letter } = await died()
    await heard(world, node.engine.resolve(T, id, { as, reason: 'looked' }))
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: as, proof: 'person' })
    expect(await world.reads.work(id)).toMatchObject({ state: 'dead' })
    expect(await world.reads.deadLetter(letter)).toMatchObject({ state: 'open' })
    const { workId } = await heard(world, node.engine.replay(T, letter, { force: false }))
    await world.pass(1_000)
    expect(await world.reads.work(workId)).toMatchObject({ state })
    expect(await world.reads.deadLetter(letter)).toMatchObject({ state: 'resolved' })
    expect(world.calls).toHaveLength(calls)
    const again = node.engine.resolve(T, id, { as: 'done', reason: 'x' })
    await expect(heard(world, again)).rejects.toMatchObject(conflict)
  })
})
