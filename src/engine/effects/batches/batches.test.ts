// Batches through the engine: collected, frozen before the call, each member ended separately, split, parked, and
// recovered after crashes.
import { describe, expect, test } from 'vitest'
import type { HttpActionDocument, RouteDocument } from '../../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'
import type { HttpOutcome, HttpRequest } from '../../../ports/http-client.ts'
import { StoreError } from '../../../ports/store.ts'
import {
  accept,
  answered,
  HTTP,
  LOST,
  makeWorld,
  type Node,
  ROUTE,
  SOURCE,
  type World,
  workOf,
} from '../../engine.fixture.ts'

const BODY = { items: "{{ batch.map(b, {'ref': b.key, 'order': b.payload.order}) }}" }
const WHOLE = { size: 3, maxWaitMs: 5_000 }
const PARTIAL = {
  ...WHOLE,
  results: 'result.body.items',
  item: { key: 'item.ref', ok: "item.status == 'OK'" },
}
const withBatch = (
  batch: RouteDocument['batch'] = WHOLE,
  http: Partial<HttpActionDocument> = {},
  route: Partial<RouteDocument> = {},
) =>
  [
    SOURCE,
    { ...ROUTE, batch, ...route, do: { ...HTTP, url: 'https://vendor.example/many', body: BODY, ...http } },
  ] as const

const order = (name: string) => ({ kind: 'paid', id: `d-${name}`, order: name })
const refsOf = ({ body }: HttpRequest): string[] =>
  (JSON.parse(body ?? '{}') as { items: { ref: string }[] }).items.map(({ ref }) => ref)
const said = (items: readonly object[]): HttpOutcome => ({
  kind: 'response',
  status: 200,
  headers: {},
  body: JSON.stringify({ items }),
  durationMs: 2,
})
const OK: HttpOutcome = { kind: 'response', status: 200, headers: {}, body: '{}', durationMs: 2 }

async function send(world: World, node: Node, names: readonly string[]) {
  const ids = []
  for (const name of names) ids.push(await accept(world, node, order(name)))
  return ids
}

async function statesOf(world: World, ids: Awaited<ReturnType<typeof send>>): Promise<string[]> {
  const rows = await Promise.all(ids.map((id) => itemOf(world, id)))
  return rows.map(({ state }) => state)
}

async function itemOf(world: World, id: Awaited<ReturnType<typeof send>>[number]): Promise<WorkRow> {
  const row = (await world.reads.workOfEvent(id)).find(({ kind }) => kind === 'route')
  if (row === undefined) throw new Error('the event has no item')
  return row
}

async function batchesOf(world: World): Promise<readonly WorkRow[]> {
  const { items } = await world.reads.workList({ cursor: null, limit: 100 })
  return items.filter(({ kind }) => kind === 'batch')
}

/** An operator action; it needs the store, which advances only with the world. */
async function act<Value>(world: World, acted: Promise<Value>): Promise<Value> {
  await world.pass()
  return acted
}

const ANN = { actor: 'ann', reason: 'looked' }

const ledger = (world: World, name: string) => world.reads.ledger(`BOOK:${name}`)

describe('collecting', () => {
  test('[BA8] large events fill a batch before it has its size', async () => {
    const world = makeWorld(() => OK)
    const source = { ...SOURCE, limits: { bodyBytes: 4_194_304, depth: 16 } }
    const documents = [source, withBatch({ size: 50, maxWaitMs: 60_000 })[1]]
    const node = await world.node({ documents })
    for (const name of ['a', 'b', 'c'])
      await accept(world, node, { ...order(name), large: 'x'.repeat(1_500_000) })
    expect(world.calls.map(({ request }) => refsOf(request))).toEqual([['BOOK:a', 'BOOK:b', 'BOOK:c']])
  })

  test('[BA8] a full batch shares one call, under the hash of the members’ keys', async () => {
    const world = makeWorld(() => OK)
    const node = await world.node({ documents: withBatch() })
    const ids = await send(world, node, ['a', 'b', 'c'])
    await world.pass()
    expect(world.calls).toHaveLength(1)
    expect(refsOf(world.calls[0]!.request).sort()).toEqual(['BOOK:a', 'BOOK:b', 'BOOK:c'])
    expect(world.calls[0]!.request.headers['idempotency-key']).toMatch(/^batch:/)
    expect(await statesOf(world, ids)).toEqual(['done', 'done', 'done'])
    for (const name of ['a', 'b', 'c']) {
      expect(await ledger(world, name)).toMatchObject({ state: 'done', proof: 'acknowledged' })
    }
    expect(await batchesOf(world)).toMatchObject([{ state: 'done', attempts: 1 }])
  })

  test('[BA8] a smaller batch goes when the oldest member has waited long enough, and a single job goes alone', async () => {
    const world = makeWorld(() => OK)
    const node = await world.node({ documents: withBatch() })
    const ids = await send(world, node, ['a', 'b'])
    await world.pass(4_900)
    expect(world.calls).toHaveLength(0)
    await world.pass(200)
    expect(world.calls).toHaveLength(1)
    expect(await statesOf(world, ids)).toEqual(['done', 'done'])
    const [alone] = await send(world, node, ['c'])
    await world.pass(5_100)
    expect(refsOf(world.calls[1]!.request)).toEqual(['BOOK:c'])
    expect(await itemOf(world, alone!)).toMatchObject({ state: 'done' })
  })

  test('[BA4] of two jobs with the same key one is in the batch, and the other points to it', async () => {
    const world = makeWorld(() => OK)
    const node = await world.node({ documents: withBatch() })
    const first = await accept(world, node, order('a'))
    const second = await accept(world, node, { ...order('a'), id: 'again' })
    await world.pass(5_100)
    expect(refsOf(world.calls[0]!.request)).toEqual(['BOOK:a'])
    await world.pass(10_000)
    expect(world.calls).toHaveLength(1)
    expect(await itemOf(world, first)).toMatchObject({ state: 'done' })
    expect(await itemOf(world, second)).toMatchObject({
      state: 'skipped',
      effectRef: (await itemOf(world, first)).id,
    })
  })

  test('[BA9] a member whose key the ledger has is settled alone, and the others go without it', async () => {
    const world = makeWorld(() => OK)
    const node = await world.node({ documents: withBatch() })
    await send(world, node, ['a'])
    await world.pass(5_100)
    const again = await accept(world, node, { ...order('a'), id: 'again' })
    const ids = await send(world, node, ['b', 'c'])
    await world.pass(5_100)
    expect(refsOf(world.calls[1]!.request).sort()).toEqual(['BOOK:b', 'BOOK:c'])
    expect(await itemOf(world, again)).toMatchObject({ state: 'skipped' })
    expect(await statesOf(world, ids)).toEqual(['done', 'done'])
  })

  test('[BA10] an invalid payload is dead-lettered alone, before it fails the call of the others', async () => {
    const world = makeWorld(() => OK)
    const url = 'https://vendor.example/many?first={{ batch[0].payload.order }}'
    const node = await world.node({
      documents: withBatch(WHOLE, { url }, { key: 'payload.id' }),
    })
    const bad = await accept(world, node, { kind: 'paid', id: 'bad' })
    const ids = await send(world, node, ['a', 'b'])
    await world.pass(5_100)
    expect(await itemOf(world, bad)).toMatchObject({ state: 'dead', class: 'validation' })
    expect(await statesOf(world, ids)).toEqual(['done', 'done'])
  })

  test('[BA8] a function gets the batch, and its result covers each member', async () => {
    const seen: unknown[] = []
    const world = makeWorld()
    const node = await world.node({
      documents: [
        SOURCE,
        {
          ...ROUTE,
          batch: { ...WHOLE, results: 'result', item: { key: 'item.ref', ok: 'item.ok' } },
          do: { type: 'function', name: 'book', codeHash: '', with: null, timeoutMs: 1_000 },
        },
      ],
      functions: {
        book: (input) => {
          seen.push(input)
          return (input as { key: string }[]).map(({ key }) => ({ ref: key, ok: key !== 'BOOK:b' }))
        },
      },
    })
    const ids = await send(world, node, ['a', 'b', 'c'])
    await world.pass()
    expect(seen).toHaveLength(1)
    expect(await statesOf(world, ids)).toEqual(['done', 'dead', 'done'])
    expect(await ledger(world, 'b')).toMatchObject({ state: 'released' })
  })
})

describe('the freeze', () => {
  test('[BA5] is durable before the call is made', async () => {
    const world = makeWorld()
    const node = await world.node({ documents: withBatch() })
    const ids = await send(world, node, ['a', 'b', 'c'])
    await world.pass()
    expect(world.calls).toHaveLength(1)
    const [batch] = await batchesOf(world)
    for (const id of ids) expect(await itemOf(world, id)).toMatchObject({ state: 'merged', into: batch?.id })
    expect(await ledger(world, 'a')).toMatchObject({ state: 'reserved' })
    world.calls[0]!.answer(OK)
    await world.pass()
    expect(await statesOf(world, ids)).toEqual(['done', 'done', 'done'])
  })

  test('[BA5] whose response is lost is recognised, and used once', async () => {
    const world = makeWorld(() => OK)
    const node = await world.node({ documents: withBatch() })
    let lost = 0
    node.faults.commit = async (commit, pass) => {
      const result = await pass()
      if (
        lost === 0 &&
        commit.writes.some((write) => write.w === 'work.add' && write.work.kind === 'batch')
      ) {
        lost += 1
        throw new StoreError('unavailable', 'gone', { applied: 'indeterminate' })
      }
      return result
    }
    const ids = await send(world, node, ['a', 'b', 'c'])
    await world.pass(60_000)
    expect(lost).toBe(1)
    expect(world.calls).toHaveLength(1)
    expect(await statesOf(world, ids)).toEqual(['done', 'done', 'done'])
  })

  test('[BA5] a node that stops in the middle leaves the jobs unchanged', async () => {
    const world = makeWorld(() => OK)
    const first = await world.node({ name: 'one', documents: withBatch() })
    const ids = await send(world, first, ['a', 'b'])
    first.crash()
    await world.node({ name: 'one', documents: withBatch() })
    await world.pass(60_000)
    expect(await statesOf(world, ids)).toEqual(['done', 'done'])
    const refs = world.calls.flatMap(({ request }) => refsOf(request))
    expect(refs.sort()).toEqual(['BOOK:a', 'BOOK:b'])
  })
})

describe('partial results', () => {
  test('[BA3] each member gets its own outcome from the response', async () => {
    const world = makeWorld(() =>
      said([
        { ref: 'BOOK:a', status: 'OK', id: 7 },
        { ref: 'BOOK:b', status: 'NO', message: 'closed' },
        { ref: 'BOOK:c', status: 'OK' },
      ]),
    )
    const node = await world.node({ documents: withBatch(PARTIAL) })
    const ids = await send(world, node, ['a', 'b', 'c'])
    await world.pass()
    expect(await statesOf(world, ids)).toEqual(['done', 'dead', 'done'])
    expect(await itemOf(world, ids[1]!)).toMatchObject({
      class: 'validation',
      lastError: 'refused within its batch, saying: closed',
      attempts: 1,
    })
    expect(await ledger(world, 'a')).toMatchObject({
      state: 'done',
      result: '{"ref":"BOOK:a","status":"OK","id":7}',
    })
    expect(await ledger(world, 'b')).toMatchObject({ state: 'released', proof: 'not-applied' })
    const { items } = await world.reads.deadLetters({ cursor: null, limit: 10 })
    expect(items).toMatchObject([{ key: 'BOOK:b', eventId: ids[1], reason: 'rejected' }])
    expect(node.log.controls.map(({ message }) => message).join()).not.toContain('closed')
  })

  test('[BA3] a member missing from the response has an unknown outcome: parked if the vendor cannot be probed', async () => {
    const world = makeWorld(() => said([{ ref: 'BOOK:a', status: 'OK' }]))
    const node = await world.node({ documents: withBatch(PARTIAL) })
    const ids = await send(world, node, ['a', 'b'])
    await world.pass(5_100)
    expect(await statesOf(world, ids)).toEqual(['done', 'parked'])
    expect(await ledger(world, 'b')).toMatchObject({ state: 'unknown' })
    const { id } = await itemOf(world, ids[1]!)
    await act(world, node.engine.resolve(DEFAULT_TENANT, id, { ...ANN, as: 'done' }))
    await world.pass()
    expect(await itemOf(world, ids[1]!)).toMatchObject({ state: 'done' })
  })

  test('[BA11] the members of a batch without any effect may form a batch again', async () => {
    let refuses = true
    const world = makeWorld((request) =>
      said(refsOf(request).map((ref) => ({ ref, status: refuses ? 'NO' : 'OK' }))),
    )
    const node = await world.node({ documents: withBatch(PARTIAL) })
    const ids = await send(world, node, ['a', 'b', 'c'])
    await world.pass()
    expect(await statesOf(world, ids)).toEqual(['dead', 'dead', 'dead'])
    refuses = false
    const { items } = await world.reads.deadLetters({ cursor: null, limit: 10 })
    for (const { id } of items)
      await act(world, node.engine.replay(DEFAULT_TENANT, id, { ...ANN, force: false }))
    await world.pass(5_100)
    expect(world.calls).toHaveLength(2)
    for (const name of ['a', 'b', 'c']) expect(await ledger(world, name)).toMatchObject({ state: 'done' })
  })
})

describe('a batch without a known effect', () => {
  test('[BA11] is called again if that is safe: its own key does not prove that a member was accepted', async () => {
    let isSilent = true
    const world = makeWorld((request) =>
      said(isSilent ? [] : refsOf(request).map((ref) => ({ ref, status: 'OK' }))),
    )
    const node = await world.node({ documents: withBatch(PARTIAL, { idempotent: true }) })
    const [id] = await send(world, node, ['a'])
    await world.pass(5_100)
    isSilent = false
    await world.pass(600_000)
    expect(world.calls).toHaveLength(2)
    expect(await itemOf(world, id!)).toMatchObject({ state: 'done' })
  })

  test('[BA11] is called again when an operator says that its members were not accepted', async () => {
    let isSilent = true
    const world = makeWorld((request) =>
      said(isSilent ? [] : refsOf(request).map((ref) => ({ ref, status: 'OK' }))),
    )
    const node = await world.node({ documents: withBatch(PARTIAL) })
    const [id] = await send(world, node, ['a'])
    await world.pass(5_100)
    const parked = await itemOf(world, id!)
    expect(parked).toMatchObject({ state: 'parked' })
    isSilent = false
    await act(world, node.engine.resolve(DEFAULT_TENANT, parked.id, { ...ANN, as: 'released' }))
    await world.pass(60_000)
    expect(world.calls).toHaveLength(2)
    expect(await itemOf(world, id!)).toMatchObject({ state: 'done' })
  })
})

describe('a batch that is refused as a whole', () => {
  test('[BA6] is split until the member at fault is alone, and the others are done', async () => {
    const world = makeWorld((request) => (refsOf(request).includes('BOOK:c') ? answered(422) : OK))
    const node = await world.node({ documents: withBatch({ ...WHOLE, size: 5 }) })
    const ids = await send(world, node, ['a', 'b', 'c', 'd', 'e'])
    await world.pass(10_000)
    expect(await statesOf(world, ids)).toEqual(['done', 'done', 'dead', 'done', 'done'])
    const { items } = await world.reads.deadLetters({ cursor: null, limit: 10 })
    expect(items).toMatchObject([{ key: 'BOOK:c', class: 'validation' }])
    const done = world.calls.filter(({ request }) => !refsOf(request).includes('BOOK:c'))
    expect(done.flatMap(({ request }) => refsOf(request)).sort()).toEqual([
      'BOOK:a',
      'BOOK:b',
      'BOOK:d',
      'BOOK:e',
    ])
    expect(node.log.controls.map(({ action }) => action)).toContain('SPLIT')
    for (const batch of await batchesOf(world)) expect(['done', 'skipped']).toContain(batch.state)
  })

  test('[BA7] [BA12] for a reason no member caused is dead for all, each with its own dead letter', async () => {
    const world = makeWorld(() => answered(401))
    const node = await world.node({ documents: withBatch() })
    const ids = await send(world, node, ['a', 'b', 'c'])
    await world.pass(10_000)
    expect(world.calls).toHaveLength(1)
    expect(await statesOf(world, ids)).toEqual(['dead', 'dead', 'dead'])
    const { items } = await world.reads.deadLetters({ cursor: null, limit: 10 })
    expect(items.map(({ key }) => key).sort()).toEqual(['BOOK:a', 'BOOK:b', 'BOOK:c'])
  })

  test('[BA12] whose time ran out with an unknown outcome leaves its members’ outcomes unknown', async () => {
    const world = makeWorld(() => LOST)
    const documents = withBatch(WHOLE, { idempotent: true })
    const first = await world.node({ name: 'one', documents })
    const ids = await send(world, first, ['a', 'b', 'c'])
    expect(await batchesOf(world)).toMatchObject([{ state: 'ready', attempts: 1 }])
    first.crash()
    await world.pass(24 * 3_600_000)
    await world.node({ name: 'one', documents })
    await world.pass(60_000)
    expect(await statesOf(world, ids)).toEqual(['dead', 'dead', 'dead'])
    expect(await ledger(world, 'a')).toMatchObject({ state: 'unknown' })
  })

  test('[BA13] temporarily is repeated as a whole, under the same key', async () => {
    const world = makeWorld((_request, call) => (call === 1 ? answered(503) : OK))
    const node = await world.node({ documents: withBatch() })
    const ids = await send(world, node, ['a', 'b', 'c'])
    await world.pass()
    expect(await statesOf(world, ids)).toEqual(['merged', 'merged', 'merged'])
    await world.pass(5_000)
    const keys = world.calls.map(({ request }) => request.headers['idempotency-key'])
    expect(new Set(keys).size).toBe(1)
    expect(keys).toHaveLength(2)
    expect(await statesOf(world, ids)).toEqual(['done', 'done', 'done'])
  })
})

describe('a crash during a batch', () => {
  test('[BA18] jobs that were collected when a node crashed are collected again, in one call', async () => {
    const world = makeWorld(() => OK)
    const documents = withBatch({ size: 10, maxWaitMs: 60_000 })
    const first = await world.node({ documents })
    const ids = await send(world, first, ['a', 'b', 'c'])
    first.crash()
    // So late that no job has to wait for others any more.
    await world.pass(120_000)
    await world.node({ documents })
    await world.pass(10_000)
    expect(world.calls.map(({ request }) => refsOf(request).sort())).toEqual([['BOOK:a', 'BOOK:b', 'BOOK:c']])
    expect(await statesOf(world, ids)).toEqual(['done', 'done', 'done'])
  })

  test('[BA18] members that two crashes interrupted each form a batch of one', async () => {
    const world = makeWorld(() => OK)
    const documents = withBatch({ size: 10, maxWaitMs: 60_000 })
    let node = await world.node({ documents })
    const ids = await send(world, node, ['a', 'b', 'c'])
    node.crash()
    node = await world.node({ documents })
    await world.pass(1_000)
    // They are collected together with a job that no crash interrupted, and nothing was called.
    const [fresh] = await send(world, node, ['d'])
    expect(await statesOf(world, [...ids, fresh!])).toEqual(['leased', 'leased', 'leased', 'leased'])
    expect(world.calls).toHaveLength(0)
    node.crash()
    await world.node({ documents })
    await world.pass(60_000)
    const calls = world.calls.map(({ request }) => refsOf(request).join())
    expect(calls.sort()).toEqual(['BOOK:a', 'BOOK:b', 'BOOK:c', 'BOOK:d'])
    expect(await statesOf(world, [...ids, fresh!])).toEqual(['done', 'done', 'done', 'done'])
  })

  test('[BA18] an interrupted member with a ledger entry may have been sent: it forms a batch of one', async () => {
    const world = makeWorld((request, call) =>
      said(call === 1 ? [] : refsOf(request).map((ref) => ({ ref, status: 'OK' }))),
    )
    const documents = withBatch({ ...PARTIAL, size: 10, maxWaitMs: 60_000 }, { idempotent: true })
    const first = await world.node({ documents })
    const ids = await send(world, first, ['a', 'b'])
    await world.pass(60_000)
    // The response named neither of them: both outcomes are unknown, and wait to be repeated.
    expect(world.calls).toHaveLength(1)
    expect(await ledger(world, 'a')).toMatchObject({ state: 'unknown' })
    expect(await statesOf(world, ids)).toEqual(['ready', 'ready'])
    first.faults.ledger = () => new Promise<never>(() => {})
    await world.pass(60_000)
    expect(await statesOf(world, ids)).toEqual(['leased', 'leased'])
    first.crash()
    await world.node({ documents })
    await world.pass(60_000)
    const calls = world.calls.slice(1).map(({ request }) => refsOf(request).join())
    expect(calls.sort()).toEqual(['BOOK:a', 'BOOK:b'])
    expect(await statesOf(world, ids)).toEqual(['done', 'done'])
  })
  test('[BA14] no member is lost and none is duplicated: the batch is parked, and an operator resolves all', async () => {
    const world = makeWorld()
    const first = await world.node({ name: 'one', documents: withBatch() })
    const ids = await send(world, first, ['a', 'b', 'c'])
    await world.pass()
    expect(world.calls).toHaveLength(1)
    first.crash()
    const second = await world.node({ name: 'one', documents: withBatch() })
    await world.pass(60_000)
    expect(world.calls).toHaveLength(1)
    const [batch] = await batchesOf(world)
    expect(batch).toMatchObject({ state: 'parked', class: 'unknown' })
    expect(await statesOf(world, ids)).toEqual(['merged', 'merged', 'merged'])
    await act(world, second.engine.resolve(DEFAULT_TENANT, batch!.id, { ...ANN, as: 'done' }))
    await world.pass()
    expect(await statesOf(world, ids)).toEqual(['done', 'done', 'done'])
    expect(await ledger(world, 'b')).toMatchObject({ state: 'done', proof: 'person' })
  })

  test('[BA14] resolved as never sent, it is sent again with all its members', async () => {
    const world = makeWorld((_request, call) => (call === 1 ? null : OK))
    const first = await world.node({ name: 'one', documents: withBatch() })
    const ids = await send(world, first, ['a', 'b', 'c'])
    await world.pass()
    first.crash()
    const second = await world.node({ name: 'one', documents: withBatch() })
    await world.pass(60_000)
    const [batch] = await batchesOf(world)
    await act(world, second.engine.resolve(DEFAULT_TENANT, batch!.id, { ...ANN, as: 'released' }))
    await world.pass(5_000)
    expect(world.calls).toHaveLength(2)
    expect(refsOf(world.calls[1]!.request).sort()).toEqual(['BOOK:a', 'BOOK:b', 'BOOK:c'])
    expect(await statesOf(world, ids)).toEqual(['done', 'done', 'done'])
  })

  test('[BA14] a vendor that accepts the batch and drops the response is probed, and has it once', async () => {
    const probe = {
      method: 'GET',
      url: 'https://vendor.example/find?ref={{ key }}',
      headers: {},
      found: 'result.body.there',
      afterMs: 1_000,
    }
    const world = makeWorld((request) =>
      request.method === 'GET' ? { ...OK, body: '{"there":true}' } : LOST,
    )
    const node = await world.node({ documents: withBatch(WHOLE, { probe }) })
    const ids = await send(world, node, ['a', 'b', 'c'])
    await world.pass(60_000)
    expect(world.calls.filter(({ request }) => request.method === 'POST')).toHaveLength(1)
    expect(await statesOf(world, ids)).toEqual(['done', 'done', 'done'])
    expect(await ledger(world, 'a')).toMatchObject({ state: 'done', proof: 'probe' })
  })

  test('[BA14] with `results`, finding the batch proves nothing about a refused member', async () => {
    const probe = {
      method: 'GET',
      url: 'https://vendor.example/find?ref={{ key }}',
      headers: {},
      found: 'result.body.there',
      afterMs: 1_000,
    }
    let posts = 0
    const world = makeWorld((request) => {
      if (request.method === 'GET') return { ...OK, body: `{"there":${!request.url.endsWith('b')}}` }
      posts += 1
      // The vendor accepts all but one, and drops the response.
      return posts === 1 ? LOST : said(refsOf(request).map((ref) => ({ ref, status: 'OK' })))
    })
    const node = await world.node({ documents: withBatch(PARTIAL, { probe }) })
    const ids = await send(world, node, ['a', 'b', 'c'])
    await world.pass(120_000)
    const calls = world.calls.filter(({ request }) => request.method === 'POST')
    expect(calls.map(({ request }) => refsOf(request))).toEqual([['BOOK:a', 'BOOK:b', 'BOOK:c'], ['BOOK:b']])
    expect(await statesOf(world, ids)).toEqual(['done', 'done', 'done'])
  })

  test('[BA14] and without a probe the batch waits for an operator, with all its members', async () => {
    const world = makeWorld(() => LOST)
    const node = await world.node({ documents: withBatch() })
    const ids = await send(world, node, ['a', 'b', 'c'])
    await world.pass(60_000)
    expect(world.calls).toHaveLength(1)
    expect(await batchesOf(world)).toMatchObject([{ state: 'parked' }])
    expect(await statesOf(world, ids)).toEqual(['merged', 'merged', 'merged'])
  })

  test('[BA15] cancelled by an operator, its members are cancelled, each with its unknown outcome', async () => {
    const world = makeWorld(() => LOST)
    const node = await world.node({ documents: withBatch() })
    const ids = await send(world, node, ['a', 'b', 'c'])
    await world.pass(60_000)
    const [batch] = await batchesOf(world)
    await act(world, node.engine.cancel(DEFAULT_TENANT, batch!.id, ANN))
    await world.pass()
    expect(await statesOf(world, ids)).toEqual(['cancelled', 'cancelled', 'cancelled'])
    expect(await ledger(world, 'a')).toMatchObject({ state: 'unknown' })
  })

  test('[BA16] a late success settles the batch that was parked meanwhile, and its members by the response', async () => {
    const world = makeWorld()
    const first = await world.node({ name: 'first', documents: withBatch(PARTIAL) })
    const ids = await send(world, first, ['a', 'b', 'c'])
    await world.pass()
    first.faults.renew = () => Promise.reject(new StoreError('unavailable', 'gone'))
    await world.node({ name: 'second', documents: withBatch(PARTIAL) })
    await world.pass(60_000)
    expect(await batchesOf(world)).toMatchObject([{ state: 'parked' }])
    world.calls[0]!.answer(
      said([
        { ref: 'BOOK:a', status: 'OK' },
        { ref: 'BOOK:b', status: 'NO' },
        { ref: 'BOOK:c', status: 'OK' },
      ]),
    )
    await world.pass(1_000)
    expect(await statesOf(world, ids)).toEqual(['done', 'dead', 'done'])
    expect(world.calls).toHaveLength(1)
  })
})

test('[BA11] [BA16] a late response that is too long to store decides nothing for the members; an operator’s decision does', async () => {
  const world = makeWorld((request, call) =>
    call === 1 ? null : said(refsOf(request).map((ref) => ({ ref, status: 'OK' }))),
  )
  const documents = withBatch(PARTIAL, { headers: { 'x-call': '{{ key }}' } })
  const first = await world.node({ name: 'first', documents })
  const ids = await send(world, first, ['a'])
  await world.pass(5_100)
  first.faults.renew = () => Promise.reject(new StoreError('unavailable', 'gone'))
  const second = await world.node({ name: 'second', documents })
  await world.pass(60_000)
  world.calls[0]!.answer(said([{ ref: 'BOOK:a', status: 'NO', why: 'x'.repeat(20_000) }]))
  await world.pass(1_000)
  expect(await statesOf(world, ids)).toEqual(['parked'])
  for (const id of ids) {
    const { id: work } = await itemOf(world, id)
    await act(world, second.engine.resolve(DEFAULT_TENANT, work, { ...ANN, as: 'released' }))
  }
  await world.pass(10_000)
  expect(await statesOf(world, ids)).toEqual(['done'])
  expect(world.calls).toHaveLength(2)
  const [one, other] = world.calls.map(({ request }) => request.headers['idempotency-key'])
  expect(other).toBe(`${one}#2`)
  expect(world.calls.map(({ request }) => request.headers['x-call'])).toEqual([one, other])
})

test('[BA8] a draining node freezes what it has collected, and finishes it', async () => {
  const world = makeWorld(() => OK)
  const node = await world.node({ documents: withBatch() })
  const ids = await send(world, node, ['a', 'b'])
  const drained = node.engine.drain(10_000)
  await world.pass()
  expect(await drained).toEqual({ left: 0 })
  expect(await statesOf(world, ids)).toEqual(['done', 'done'])
  expect(await workOf(world, ids[0]!)).toMatchObject({ processedAt: world.now() })
})
