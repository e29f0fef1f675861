// The interleavings of reserve, send, settle and evidence. The test answers every call and advances the time.
import { describe, expect, test } from 'vitest'
import type { HttpActionDocument, RetryCause, RouteDocument } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type EventId } from '../../core/foundation/ids/index.ts'
import { type CommitResult, StoreError } from '../../ports/store.ts'
import {
  accept,
  answered,
  CREATED,
  HTTP,
  LOST,
  makeDeferred,
  makeWorld,
  type Node,
  PAID,
  ROUTE,
  SOURCE,
  type World,
  workOf,
} from '../engine.fixture.ts'

const LEASE_MS = 30_000
const unavailable = () => Promise.reject(new StoreError('unavailable', 'gone'))
const withHttp = (known: Partial<HttpActionDocument>, route: Partial<RouteDocument> = {}) => [
  SOURCE,
  { ...ROUTE, ...route, do: { ...HTTP, ...known } },
]

/** The node goes on, but its heartbeats do not arrive: the others consider it dead. */
function cutOff(node: Node): void {
  node.faults.renew = unavailable
}

/** A job runs on `first`, which is then fenced; `second` takes the job over. */
async function takeOver(
  world: World,
  documents = [SOURCE, ROUTE],
): Promise<{ first: Node; second: Node; eventId: EventId }> {
  const first = await world.node({ name: 'first', documents })
  const eventId = await accept(world, first)
  expect(world.calls).toHaveLength(1)
  cutOff(first)
  const second = await world.node({ name: 'second', documents })
  await world.pass(LEASE_MS + 21_000)
  return { first, second, eventId }
}

describe('a stale owner', () => {
  test('[R4] whose late success settles the unknown outcome of a job that was parked meanwhile', async () => {
    const world = makeWorld()
    const { first, eventId } = await takeOver(world)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', class: 'unknown', attempts: 1 })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'unknown', proof: 'crash' })
    world.calls[0]!.answer(CREATED)
    await world.pass()
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({
      state: 'done',
      proof: 'acknowledged',
      effectRef: 'v1',
      evidence: [expect.stringContaining('acknowledged')],
    })
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', effectRef: 'v1' })
    expect(world.calls).toHaveLength(1)
    expect(first.log.controls.map(({ action }) => action)).toContain('STALE')
  })

  test('[R4] whose success arrives before the new owner checks: the new owner uses it', async () => {
    const world = makeWorld()
    const first = await world.node({ name: 'first' })
    const eventId = await accept(world, first)
    cutOff(first)
    await world.pass(LEASE_MS)
    await world.store.reclaim(10)
    world.calls[0]!.answer(CREATED)
    await world.pass()
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({
      state: 'reserved',
      evidence: [expect.any(String)],
    })
    await world.node({ name: 'second' })
    await world.pass()
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'done', proof: 'acknowledged' })
    expect(world.calls).toHaveLength(1)
  })

  test('[R4] whose success arrives between the new owner’s check and its parking', async () => {
    const world = makeWorld()
    const first = await world.node({ name: 'first' })
    const eventId = await accept(world, first)
    cutOff(first)
    const second = await world.node({ name: 'second' })
    const gate = makeDeferred<void>()
    second.faults.commit = async (commit, pass) => {
      if (commit.writes.some((write) => write.w === 'work.settle' && write.to === 'parked'))
        await gate.promise
      return pass()
    }
    await world.pass(LEASE_MS + 21_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'leased' })
    world.calls[0]!.answer(CREATED)
    await world.pass()
    gate.give()
    await world.pass()
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    expect(world.calls).toHaveLength(1)
  })

  test.each([answered(503), answered(422), LOST])(
    '[R5] whose failure %j changes nothing',
    async (outcome) => {
      const world = makeWorld()
      const { eventId } = await takeOver(world)
      const before = [await workOf(world, eventId), await world.reads.ledger('BOOK:o1')]
      world.calls[0]!.answer(outcome)
      await world.pass(1_000)
      expect([await workOf(world, eventId), await world.reads.ledger('BOOK:o1')]).toEqual(before)
    },
  )

  test('[R5] does not reserve for the job that it lost', async () => {
    const world = makeWorld()
    const first = await world.node({ name: 'first' })
    const gate = makeDeferred<void>()
    first.faults.commit = async (commit, pass) => {
      if (commit.writes.some((write) => write.w === 'ledger.reserve')) await gate.promise
      return pass()
    }
    const eventId = await accept(world, first)
    cutOff(first)
    const second = await world.node({ name: 'second' })
    await world.pass(LEASE_MS + 21_000)
    expect(world.calls.map(({ node }) => node)).toEqual(['second'])
    gate.give()
    await world.pass()
    expect(world.calls).toHaveLength(1)
    world.calls[0]!.answer(CREATED)
    await world.pass()
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
    expect(second.log.controls.map(({ action }) => action)).toEqual(['DONE'])
  })
})

describe('a reserve', () => {
  test('[R1] is stored before the call is made, for this job and epoch', async () => {
    const world = makeWorld()
    const node = await world.node()
    const gate = makeDeferred<void>()
    node.faults.commit = async (commit, pass) => {
      const result = await pass()
      if (commit.writes.some((write) => write.w === 'ledger.reserve')) await gate.promise
      return result
    }
    const eventId = await accept(world, node)
    const work = await workOf(world, eventId)
    expect(world.calls).toEqual([])
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({
      state: 'reserved',
      work: work.id,
      epoch: work.epoch,
    })
    gate.give()
    await world.pass()
    expect(world.calls).toHaveLength(1)
  })

  test('[R2] that took longer than a send may is released, and nothing is sent', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ config: { sendWithinMs: 2_000 } })
    const gate = makeDeferred<void>()
    node.faults.commit = async (commit, pass) => {
      const result = await pass()
      if (commit.writes.some((write) => write.w === 'ledger.reserve')) await gate.promise
      return result
    }
    const eventId = await accept(world, node)
    await world.pass(2_001)
    gate.give()
    await world.pass()
    expect(world.calls).toEqual([])
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'released', proof: 'never-sent' })
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', attempts: 0, waits: 1 })
    await world.pass(1_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
    expect(world.calls).toHaveLength(1)
  })

  test('[R2] of exactly that long is still used', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node({ config: { sendWithinMs: 2_000 } })
    const gate = makeDeferred<void>()
    node.faults.commit = async (commit, pass) => {
      const result = await pass()
      if (commit.writes.some((write) => write.w === 'ledger.reserve')) await gate.promise
      return result
    }
    const eventId = await accept(world, node)
    await world.pass(2_000)
    gate.give()
    await world.pass()
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', waits: 0 })
  })

  test('[R15] whose response was lost is recognised, and used once', async () => {
    const world = makeWorld(() => CREATED)
    const node = await world.node()
    let lost = 0
    node.faults.commit = async (commit, pass) => {
      const result = await pass()
      if (commit.writes.some((write) => write.w === 'ledger.reserve') && lost++ === 0) {
        throw new StoreError('unavailable', 'the connection broke', { applied: 'indeterminate' })
      }
      return result
    }
    const eventId = await accept(world, node)
    await world.pass(1_000)
    expect(lost).toBe(2)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
    expect(world.calls).toHaveLength(1)
  })
})

describe('a lease', () => {
  test('[R3] that would end before the call is extended first', async () => {
    const world = makeWorld()
    const documents = withHttp({ timeoutMs: 120_000 })
    const node = await world.node({ name: 'first', documents })
    const eventId = await accept(world, node)
    expect(world.calls).toHaveLength(1)
    cutOff(node)
    const other = await world.node({ name: 'second', documents })
    // Its ordinary lease would have ended long ago; the extended one has not.
    await world.pass(120_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'leased', epoch: 1 })
    world.calls[0]!.answer(CREATED)
    await world.pass()
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    expect(other.log.messages.map(({ name }) => name)).not.toContain('work.reclaimed')
  })

  test('[R3] that cannot be extended enough: nothing is reserved or sent, and the job is put back', async () => {
    const world = makeWorld(() => CREATED)
    const documents = withHttp({ timeoutMs: 120_000 })
    const node = await world.node({ documents })
    const { renew } = node.faults
    node.faults.renew = unavailable
    const eventId = await accept(world, node)
    expect(world.calls).toEqual([])
    expect(await world.reads.ledger('BOOK:o1')).toBeNull()
    expect(await workOf(world, eventId)).toMatchObject({ state: 'ready', attempts: 0, waits: 1 })
    node.faults.renew = renew
    await world.pass(1_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
  })
})

describe('one key', () => {
  test('[R6] a second job waits while the first runs, and is skipped when that is done', async () => {
    const world = makeWorld()
    const node = await world.node()
    const first = await accept(world, node)
    const second = await accept(world, node, { ...PAID, id: 'd2' })
    expect(await workOf(world, second)).toMatchObject({ state: 'ready', attempts: 0, waits: 1 })
    await world.pass(1_500)
    expect(await workOf(world, second)).toMatchObject({ state: 'ready', attempts: 0, waits: 2 })
    world.calls[0]!.answer(CREATED)
    await world.pass(5_000)
    expect(await workOf(world, first)).toMatchObject({ state: 'done' })
    expect(await workOf(world, second)).toMatchObject({ state: 'skipped', effectRef: 'v1', attempts: 0 })
    expect(world.calls).toHaveLength(1)
    expect(node.log.controls.map(({ point, action }) => `${point} ${action}`)).toContain('dedupe DEDUPE_HIT')
  })

  test('[R6] a second job takes over when the first had no effect and is dead', async () => {
    const world = makeWorld((request) => (request.body?.includes('d1') ? answered(422) : CREATED))
    const node = await world.node()
    const first = await accept(world, node)
    const second = await accept(world, node, { ...PAID, id: 'd2' })
    await world.pass(2_000)
    expect(await workOf(world, first)).toMatchObject({ state: 'dead' })
    expect(await workOf(world, second)).toMatchObject({ state: 'done', effectRef: 'v1' })
  })

  test('[R6] a second job behind a parked one waits until its time limit', async () => {
    const world = makeWorld(() => LOST)
    const node = await world.node({ documents: withHttp({}, { maxWaitMs: 20_000 }) })
    const first = await accept(world, node)
    const second = await accept(world, node, { ...PAID, id: 'd2' })
    await world.pass(60_000)
    expect(await workOf(world, first)).toMatchObject({ state: 'parked' })
    expect(await workOf(world, second)).toMatchObject({ state: 'dead', attempts: 0 })
    const { items } = await world.reads.deadLetters({ cursor: null, limit: 10 })
    expect(items).toMatchObject([{ eventId: second, reason: 'expired' }])
    expect(world.calls).toHaveLength(1)
  })

  test('[K4] [R6] a replay uses the key of the first run', async () => {
    let healthy = false
    const world = makeWorld(() => (healthy ? CREATED : answered(422)))
    const node = await world.node()
    await accept(world, node)
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 1 })).items
    healthy = true
    const replayed = node.engine.replay(DEFAULT_TENANT, letter!.id, { force: false })
    await world.pass(1_000)
    expect(await world.reads.work((await replayed).workId)).toMatchObject({ state: 'done', key: 'BOOK:o1' })
    expect(world.calls.map(({ request }) => request.headers['idempotency-key'])).toEqual([
      'BOOK:o1',
      'BOOK:o1',
    ])
  })
})

describe('a repeated call', () => {
  test('[R7] that had no effect proves nothing about the one before: the outcome stays unknown', async () => {
    const outcomes = [LOST, answered(503), answered(503)]
    const world = makeWorld((_request, call) => outcomes[call - 1] ?? CREATED)
    const node = await world.node({ documents: withHttp({ keyTtlMs: 600_000 }) })
    const eventId = await accept(world, node)
    await world.pass(1_000)
    expect(world.calls).toHaveLength(2)
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'unknown' })
    await world.pass(5_000)
    expect(world.calls).toHaveLength(3)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked' })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'unknown' })
  })

  test('[R7] that was refused parks the job instead of dead-lettering it', async () => {
    const outcomes = [LOST, answered(422)]
    const world = makeWorld((_request, call) => outcomes[call - 1] ?? CREATED)
    const node = await world.node({ documents: withHttp({ keyTtlMs: 600_000 }) })
    const eventId = await accept(world, node)
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked' })
    expect((await world.reads.deadLetters({ cursor: null, limit: 1 })).items).toEqual([])
  })

  test('[R7] whose reserve came too late leaves the outcome unknown as well', async () => {
    const world = makeWorld((_request, call) => (call === 1 ? LOST : CREATED))
    const node = await world.node({ documents: withHttp({ keyTtlMs: 30_000 }) })
    const eventId = await accept(world, node)
    const gate = makeDeferred<void>()
    node.faults.commit = async (commit, pass) => {
      const result: CommitResult = await pass()
      if (commit.writes.some((write) => write.w === 'ledger.reserve')) await gate.promise
      return result
    }
    await world.pass(25_000)
    gate.give()
    await world.pass(10_000)
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'unknown' })
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked' })
    expect(world.calls).toHaveLength(1)
  })

  test('[R7] with a vendor that remembers the key succeeds', async () => {
    const world = makeWorld((_request, call) => (call === 1 ? LOST : CREATED))
    const node = await world.node({ documents: withHttp({ keyTtlMs: 600_000 }) })
    const eventId = await accept(world, node)
    await world.pass(2_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 2 })
  })
})

describe('a probe', () => {
  const probe = {
    method: 'GET',
    url: 'https://vendor.example/orders?ref={{ key }}',
    headers: {},
    found: 'result.body.found',
    afterMs: 5_000,
  }
  const page = (body: string) => ({ ...CREATED, status: 200, body })

  test.each([
    ['an answer that is neither', page('<html>')],
    ['a broken page', answered(500)],
    ['no answer', LOST],
  ])('[R8] with %s allows no call; a clear result does', async (_name, unclear) => {
    let clear = false
    const world = makeWorld((request, call) => {
      if (request.method === 'GET') return clear ? page('{"found":false}') : unclear
      return call === 1 ? LOST : CREATED
    })
    const node = await world.node({ documents: withHttp({ probe }) })
    const eventId = await accept(world, node)
    await world.pass(60_000)
    expect(world.calls.filter(({ request }) => request.method === 'POST')).toHaveLength(1)
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'unknown' })
    clear = true
    await world.pass(60_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 2 })
    expect(world.calls.filter(({ request }) => request.method === 'POST')).toHaveLength(2)
  })

  test('[R8] is not sent before the call can have ended, and finds the effect', async () => {
    const world = makeWorld((request) => (request.method === 'GET' ? page('{"found":true,"id":"v7"}') : LOST))
    const node = await world.node({ documents: withHttp({ probe }) })
    const eventId = await accept(world, node)
    await world.pass(19_000)
    expect(world.calls).toHaveLength(1)
    await world.pass(5_000)
    expect(world.calls).toHaveLength(2)
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({
      state: 'done',
      proof: 'probe',
      effectRef: 'v7',
    })
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done', attempts: 1 })
  })
})

test('[R9] an operator’s decision settles a parked job, either way', async () => {
  for (const as of ['done', 'released'] as const) {
    const world = makeWorld((_request, call) => (call === 1 ? LOST : CREATED))
    const node = await world.node()
    const eventId = await accept(world, node)
    const { id } = await workOf(world, eventId)
    const resolved = node.engine.resolve(DEFAULT_TENANT, id, { as, reason: 'looked' })
    await world.pass(1_000)
    await resolved
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({
      state: 'done',
      proof: as === 'done' ? 'person' : 'acknowledged',
    })
    expect(world.calls).toHaveLength(as === 'done' ? 1 : 2)
  }
})

test('[C8] a refusal is stored in the vendor’s words, but not logged', async () => {
  const refusal = { ...answered(422), body: '{"message":"mona@example.com is no customer"}' }
  const world = makeWorld(() => refusal)
  const node = await world.node()
  const eventId = await accept(world, node)
  await world.pass()
  const told = 'answered 422, saying: mona@example.com is no customer'
  expect(await workOf(world, eventId)).toMatchObject({ state: 'dead', lastError: told })
  const { items } = await world.reads.deadLetters({ cursor: null, limit: 5 })
  expect(items).toMatchObject([{ lastError: told }])
  const messages = node.log.controls.map(({ message }) => message)
  expect(messages).toContain('answered 422')
  expect(messages.join()).not.toContain('mona')
})

describe('only listed failures are retried', () => {
  const withRetryOn = (...retryOn: readonly RetryCause[]) =>
    withHttp({ idempotent: true }, { retry: { ...ROUTE.retry, retryOn } })

  test('[T10] others are dead letters at once', async () => {
    const world = makeWorld(() => answered(503))
    const node = await world.node({ documents: withRetryOn('timeout') })
    const eventId = await accept(world, node)
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'dead', class: 'transient', attempts: 1 })
    const [letter] = (await world.reads.deadLetters({ cursor: null, limit: 1 })).items
    expect(letter).toMatchObject({ reason: 'rejected', class: 'transient' })
    expect(world.calls).toHaveLength(1)
  })

  test.each([LOST, answered(408), answered(504)])('[T10] %j counts as a timeout', async (outcome) => {
    const world = makeWorld((_request, call) => (call === 1 ? outcome : CREATED))
    const node = await world.node({ documents: withRetryOn('timeout') })
    const eventId = await accept(world, node)
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'done' })
    expect(world.calls).toHaveLength(2)
  })

  test('[T11] an unknown outcome that is not listed waits for an operator, although the vendor remembers the key', async () => {
    const world = makeWorld(() => LOST)
    const documents = withHttp({ keyTtlMs: 600_000 }, { retry: { ...ROUTE.retry, retryOn: ['transient'] } })
    const node = await world.node({ documents })
    const eventId = await accept(world, node)
    await world.pass(5_000)
    expect(await workOf(world, eventId)).toMatchObject({ state: 'parked', class: 'unknown', attempts: 1 })
    expect(await world.reads.ledger('BOOK:o1')).toMatchObject({ state: 'unknown' })
    expect(world.calls).toHaveLength(1)
  })
})
