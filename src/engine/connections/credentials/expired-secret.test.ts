// Credentials in an engine: from a refused call over a rotation to the job that waited for it.

import { describe, expect, test } from 'vitest'
import type {
  ConnectionDocument,
  OperationDocument,
  ProviderDocument,
} from '../../../core/definitions/documents/index.ts'
import { CANONICAL_EVENTS, type CanonicalSubject } from '../../../core/events/canonical/index.ts'
import { DEFAULT_TENANT } from '../../../core/foundation/ids/index.ts'
import type { HttpOutcome, HttpRequest } from '../../../ports/http-client.ts'
import {
  accept,
  answered,
  CREATED,
  makeWorld,
  type Node,
  PAID,
  type World,
  workOf,
} from '../../engine.fixture.ts'
import { documents, OPERATION } from '../connections.fixture.ts'

const CREATE: OperationDocument = {
  ...OPERATION,
  name: 'createToken',
  path: '/tokens',
  body: { name: '{{ input.rotation }}' },
  input: null,
  result: null,
  ref: 'result.body.id',
}
const ROTATION = { create: 'createToken', secret: 'result.body.token', revoke: null }
const asked = { by: 'ada', reason: null }

/** Knows which tokens are valid. `admin` is valid only for creating others. */
function makeVendor() {
  const good = new Set(['token-1'])
  let made = 1
  return {
    good,
    made: () => made,
    answer(request: HttpRequest): HttpOutcome {
      const token = (request.headers.authorization ?? '').slice('Bearer '.length)
      if (request.url.endsWith('/tokens')) {
        made += 1
        good.add(`token-${made}`)
        const body = JSON.stringify({ id: made, token: `token-${made}` })
        return { kind: 'response', status: 201, headers: {}, body, durationMs: 2 }
      }
      if (!good.has(token)) return answered(401)
      return request.url.endsWith('/me') ? answered(200) : CREATED
    },
  }
}

async function start(
  known: {
    readonly provider?: Partial<ProviderDocument>
    readonly connection?: Partial<ConnectionDocument>
  } = {},
) {
  const vendor = makeVendor()
  const world = makeWorld((request) => vendor.answer(request))
  await world.vault.set(DEFAULT_TENANT, 'shop_key', 'token-1', { isPending: false, by: 'ada' })
  const operations = { book: OPERATION, createToken: CREATE }
  const all = documents({ connection: known.connection ?? {}, provider: { operations, ...known.provider } })
  const node = await world.node({ documents: all })
  await world.pass(1_000)
  return { vendor, world, node, all }
}

const orders = ({ calls }: World) =>
  calls.map(({ request }) => request).filter(({ url }) => url.endsWith('/orders'))
const tokenOf = ({ headers }: HttpRequest) => headers.authorization
const send = (world: World, node: Node, order: string) => accept(world, node, { ...PAID, id: order, order })

describe('an expired secret', () => {
  test('[CD18] is replaced at the vendor, and the refused job finishes, without using an attempt', async () => {
    const { vendor, world, node } = await start({ provider: { rotation: ROTATION } })
    await send(world, node, 'o1')
    expect(orders(world)).toHaveLength(1)
    vendor.good.delete('token-1')
    const refused = await send(world, node, 'o2')
    await world.pass(30_000)
    expect(await workOf(world, refused)).toMatchObject({ state: 'done', attempts: 1 })
    expect(orders(world).map(tokenOf)).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2'])
    expect(vendor.made()).toBe(2)
    const { events, work } = await world.store.system('verification').dump()
    const [story] = events.filter(({ id }) => id === refused)
    const told = events.filter(({ subject }) => subject.startsWith('integration.credential.'))
    expect(
      told.map(({ subject, correlationId }) => [subject, correlationId === story?.correlationId]),
    ).toEqual([
      ['integration.credential.rotating', true],
      ['integration.credential.rotated', true],
    ])
    for (const { subject, data } of told) {
      const { example } = CANONICAL_EVENTS[subject as CanonicalSubject]
      expect(Object.keys(JSON.parse(data)).sort(), subject).toEqual(Object.keys(example).sort())
    }
    expect(work.filter(({ kind }) => kind === 'rotation').map(({ state }) => state)).toEqual(['done'])
    expect(await node.engine.integrations.credential(DEFAULT_TENANT, 'shop_key')).toMatchObject({
      state: { status: 'active', current: { version: 2 } },
      connections: ['shop'],
    })
  })

  test('[CD18] that a user must provide holds the jobs back until it is there: nothing is claimed meanwhile', async () => {
    const { vendor, world, node } = await start()
    vendor.good.delete('token-1')
    const refused = await send(world, node, 'o1')
    await world.pass(10_000)
    const before = orders(world).length
    const later = await send(world, node, 'o2')
    await world.pass(60_000)
    expect(orders(world)).toHaveLength(before)
    expect(await workOf(world, later)).toMatchObject({ state: 'ready', attempts: 0 })
    const { items } = await world.reads.escalations({ cursor: null, limit: 10 })
    expect(items.map(({ lastError }) => lastError).join()).toContain(
      'millrace secrets set shop_key --pending',
    )
    vendor.good.add('token-9')
    await world.vault.set(DEFAULT_TENANT, 'shop_key', 'token-9', { isPending: true, by: 'ada' })
    const supplied = node.engine.integrations.supplied(DEFAULT_TENANT, 'shop_key', 'ada')
    await world.pass(10_000)
    await supplied
    for (const id of [refused, later]) expect(await workOf(world, id)).toMatchObject({ state: 'done' })
    expect(orders(world).slice(before).map(tokenOf)).toEqual(['Bearer token-9', 'Bearer token-9'])
  })

  test('[CD14] a node that stops during the rotation leaves it to the next', async () => {
    const { vendor, world, node, all } = await start({ provider: { rotation: ROTATION } })
    vendor.good.delete('token-1')
    let isDown = false
    node.faults.commit = async (commit, pass) => {
      const isReserve = commit.writes.some(
        (write) => write.w === 'ledger.settle' && write.key.startsWith('rotation:'),
      )
      const result = await pass()
      if (isReserve && !isDown) {
        isDown = true
        node.crash()
      }
      return result
    }
    const refused = await send(world, node, 'o1')
    await world.pass(5_000)
    expect(isDown).toBe(true)
    await world.node({ name: 'two', documents: all })
    await world.pass(120_000)
    expect(await workOf(world, refused)).toMatchObject({ state: 'done' })
    expect(vendor.made()).toBe(2)
  })
})

test('[CD1] a rotation that fails is a dead letter, whose replay resumes it', async () => {
  const { vendor, world, node } = await start()
  await world.vault.set(DEFAULT_TENANT, 'shop_key', 'token-9', { isPending: true, by: 'ada' })
  const rotating = node.engine.integrations.rotate(DEFAULT_TENANT, 'shop_key', 'request', asked)
  await world.pass(20_000)
  expect((await rotating).isNew).toBe(true)
  const { items } = await world.reads.deadLetters({ cursor: null, limit: 10 })
  expect(items).toMatchObject([{ consumer: 'credential:shop_key', reason: 'rotation_failed' }])
  await send(world, node, 'o1')
  expect(orders(world).map(tokenOf)).toEqual(['Bearer token-1'])
  vendor.good.add('token-8')
  await world.vault.set(DEFAULT_TENANT, 'shop_key', 'token-8', { isPending: true, by: 'ada' })
  const replaying = node.engine.replay(DEFAULT_TENANT, items[0]!.id, {
    force: false,
    by: 'ada',
    reason: 'mended',
  } as never)
  await world.pass(20_000)
  await replaying
  const view = node.engine.integrations.credential(DEFAULT_TENANT, 'shop_key')
  await world.pass(0)
  expect(await view).toMatchObject({ state: { status: 'active', rotation: null, lastFailure: null } })
  expect((await world.reads.deadLetter(items[0]!.id))?.state).toBe('resolved')
})

test('[HE5] a probe that is refused starts the rotation before any job fails', async () => {
  const { vendor, world } = await start({
    provider: { rotation: ROTATION },
    connection: { probe: { everyMs: 10_000, timeoutMs: 5_000 } },
  })
  vendor.good.delete('token-1')
  await world.pass(30_000)
  expect(vendor.made()).toBe(2)
  expect(orders(world)).toEqual([])
})
