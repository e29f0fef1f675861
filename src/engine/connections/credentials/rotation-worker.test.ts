import { describe, expect, test } from 'vitest'
import type { OperationDocument } from '../../../core/definitions/documents/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import { EMPTY_NOTE } from '../../../core/queue/work/index.ts'
import type { HttpOutcome, HttpRequest } from '../../../ports/http-client.ts'
import { makeDeferred } from '../../engine.fixture.ts'
import {
  answered,
  CONNECTION,
  CREDENTIAL,
  type KeepingNode,
  type KeepingWorld,
  makeKeepingWorld,
  PROVIDER,
  TENANT,
} from './credentials.fixture.ts'

const MAKES_KEYS = {
  ...PROVIDER,
  rotation: { create: 'createKey', secret: 'result.body.secret', revoke: 'deleteKey' },
}
const keyOf = ({ headers }: HttpRequest) => headers['x-key'] ?? ''
const asked = { by: 'ada', reason: 'a word' }
const set = { isPending: false, by: 'ada' }

/** Knows which keys are valid, and creates new ones. */
function makeVendor() {
  const good = new Set<string>(['key-1'])
  let made = 1
  return {
    good,
    made: () => made,
    script(request: HttpRequest) {
      if (!good.has(keyOf(request))) return answered(401)
      if (request.method === 'POST') {
        made += 1
        good.add(`key-${made}`)
        return answered(201, { id: `id-${made}`, secret: `key-${made}` })
      }
      if (request.method === 'DELETE') {
        good.delete(`key-${request.url.slice(-1)}`)
        return answered(204)
      }
      return answered(200, { me: true })
    },
  }
}

async function start(known: Partial<KeepingWorld> = {}) {
  const vendor = makeVendor()
  const world = makeKeepingWorld(vendor.script, known)
  await world.run(world.vault.set(TENANT, 'crm-key', 'key-1', set))
  const node = await world.node()
  return { vendor, world, node }
}

const call = async (world: KeepingWorld, node: KeepingNode): Promise<number | null> => {
  const { outcome } = await world.run(node.call())
  return outcome.kind === 'response' ? outcome.status : null
}
const refuse = (world: KeepingWorld, node: KeepingNode, version: number | null = 1, error = 'answered 401') =>
  world.run(node.keeping.credentials.refused(TENANT, 'crm', { version, correlationId: 'story-1', error }))
const rotate = (world: KeepingWorld, node: KeepingNode) =>
  world.run(node.keeping.operatorApi.rotate(TENANT, 'crm', 'request', asked))
const rotationWork = async (world: KeepingWorld) => {
  const { work } = await world.run(world.store.system('verification').dump())
  return work.filter(({ kind }) => kind === 'rotation')
}
const subjects = async (world: KeepingWorld) => {
  const { events } = await world.run(world.store.system('verification').dump())
  return events.map(({ subject }) => subject)
}

describe('a secret that exists only in memory', () => {
  test('[CD24] is held until the vault stores it, and created once', async () => {
    const { vendor, world, node } = await start({ provider: MAKES_KEYS })
    await rotate(world, node)
    const real = world.vault.set
    let isAway = true
    world.vault.set = async (...args) => {
      if (isAway) throw new AppError('vault_unavailable', 'it is away')
      return real(...args)
    }
    await world.pass(node, 30_000)
    expect(await world.state()).toMatchObject({ status: 'rotating' })
    isAway = false
    await world.pass(node, 30_000)
    expect(await world.state()).toMatchObject({ status: 'active', current: { version: 2, ref: 'id-2' } })
    expect(vendor.made()).toBe(2)
  })

  test('[CD24] is not created while the vault is down', async () => {
    const { vendor, world } = await start({ provider: MAKES_KEYS })
    world.vault.pending = async () => {
      throw new AppError('vault_unavailable', 'it is away')
    }
    const node = await world.node('two')
    await rotate(world, node)
    await world.pass(node, 1_000)
    expect(vendor.made()).toBe(1)
    expect((await rotationWork(world))[0]).toMatchObject({ class: 'transient', lastError: 'it is away' })
  })

  test('[CD13] [DR14] is not created if the authorization came too late for the reserve', async () => {
    const { vendor, world } = await start({ provider: MAKES_KEYS })
    const { current } = world.vault
    const go = makeDeferred<void>()
    const isReserved = () =>
      world.commits.some(({ writes }) => writes.some(({ w }) => w === 'ledger.reserve'))
    world.vault.current = async (...args) => {
      if (isReserved()) await go.promise
      return current(...args)
    }
    const node = await world.node('two')
    await rotate(world, node)
    await world.pass(node, 6_000)
    expect(isReserved()).toBe(true)
    go.give()
    await world.pass(node)
    expect(vendor.made()).toBe(1)
    const { ledger } = await world.run(world.store.system('verification').dump())
    expect(ledger).toMatchObject([{ state: 'released', proof: 'never-sent' }])
    await world.pass(node, 60_000)
    expect(vendor.made()).toBe(2)
  })

  test('[CD24] does not replace another value', async () => {
    const { vendor, world, node } = await start({ provider: MAKES_KEYS })
    await rotate(world, node)
    const { script } = world
    world.script = async (request) => {
      const answer = await script(request)
      if (request.method === 'POST')
        await world.vault.set(TENANT, 'crm-key', 'key-of-ada', { isPending: true, by: 'ada' })
      return answer
    }
    vendor.good.add('key-of-ada')
    await world.pass(node, 2_000)
    const current = await world.run(world.vault.current(TENANT, 'crm-key'))
    expect(current?.value).toBe('key-of-ada')
    expect((await world.state()).current).not.toHaveProperty('ref')
  })

  test('[CD25] keeps its name at the vendor, wherever the node stops', async () => {
    let seen = 0
    for (let stop = 1; stop < 9; stop += 1) {
      const { vendor, world, node } = await start({ provider: MAKES_KEYS })
      await rotate(world, node)
      node.stopAt(stop, true)
      await world.pass(node, 3_000)
      const pending = await world.run(world.vault.pending(TENANT, 'crm-key'))
      if (pending === null) continue
      seen += 1
      const { rotation } = await world.state()
      expect(rotation?.made).toEqual({ fingerprint: pending.fingerprint, ref: 'id-2' })
      expect(vendor.made()).toBe(2)
    }
    expect(seen).toBeGreaterThan(1)
  })

  test('[CD26] is not revoked at the vendor if it is in use again', async () => {
    const { vendor, world, node } = await start({ provider: MAKES_KEYS })
    for (let turn = 0; turn < 2; turn += 1) {
      await rotate(world, node)
      await world.pass(node, 2_000)
    }
    await world.run(world.vault.set(TENANT, 'crm-key', 'key-2', set))
    await world.pass(node, 70_000)
    expect(vendor.good.has('key-2')).toBe(true)
    expect((await rotationWork(world)).at(-1)).toMatchObject({ state: 'done' })
    expect(await call(world, node)).toBe(200)
  })

  test('[CD27] that was removed and set again is the one in use, whatever its version', async () => {
    const { vendor, world, node } = await start()
    for (const value of ['key-2', 'key-3']) await world.run(world.vault.set(TENANT, 'crm-key', value, set))
    await call(world, node)
    await world.pass(node, 1_000)
    expect((await world.state()).current?.version).toBe(3)
    await world.run(world.vault.remove(TENANT, 'crm-key', 'ada'))
    await world.run(world.vault.set(TENANT, 'crm-key', 'fresh', set))
    expect(vendor.good.has('fresh')).toBe(false)
    expect(await refuse(world, node, 1)).toMatchObject({ is: 'wait' })
    expect((await world.state()).current?.version).toBe(1)
  })

  test('[CD28] that was provided, and whose rotation was not started, is found', async () => {
    const { vendor, world, node } = await start()
    vendor.good.add('key-2')
    await world.run(world.vault.set(TENANT, 'crm-key', 'key-2', { isPending: true, by: 'ada' }))
    node.keeping.start()
    await world.pass(node, 70_000)
    expect((await world.state()).current?.version).toBe(2)
    const stopping = node.keeping.stop()
    await world.run(stopping)
  })

  test('[CD28] that a user provides after a month is verified all the same', async () => {
    const { vendor, world, node } = await start()
    vendor.good.add('key-2')
    await rotate(world, node)
    await world.pass(node, 1_000)
    expect((await world.state()).status).toBe('waiting')
    await world.run(Promise.resolve(), 31 * 24 * 3_600_000)
    const later = await world.node('later')
    await world.run(world.vault.set(TENANT, 'crm-key', 'key-2', { isPending: true, by: 'ada' }))
    await world.run(later.keeping.operatorApi.supplied(TENANT, 'crm-key', 'ada'))
    await world.pass(later, 2_000)
    expect(await world.state()).toMatchObject({ status: 'active', current: { version: 2 } })
  })
})

describe('a rotation', () => {
  test('[CD1] creates a secret at the vendor, verifies it, promotes it, and revokes the former one after the overlap', async () => {
    const { vendor, world, node } = await start({ provider: MAKES_KEYS })
    expect(await call(world, node)).toBe(200)
    const { isNew, rotationId } = await rotate(world, node)
    expect([isNew, rotationId]).toEqual([true, expect.stringMatching(/^wrk_/)])
    expect(await rotate(world, node)).toMatchObject({ isNew: false, rotationId })
    await world.pass(node, 1_000)
    expect(await world.state()).toMatchObject({
      status: 'active',
      current: { version: 2, state: 'active', ref: 'id-2' },
      rotation: null,
      lastRotatedAt: expect.any(Number),
    })
    expect(await call(world, node)).toBe(200)
    expect(keyOf(world.sent.at(-1) as HttpRequest)).toBe('key-2')
    expect(await subjects(world)).toEqual([
      'integration.credential.rotating',
      'integration.credential.rotated',
    ])
    // The one that a user set has no name at the vendor; the next one has.
    await rotate(world, node)
    await world.pass(node, 1_000)
    expect(vendor.good).toEqual(new Set(['key-1', 'key-2', 'key-3']))
    await world.pass(node, 61_000)
    expect(vendor.good).toEqual(new Set(['key-1', 'key-3']))
    expect((await rotationWork(world)).map(({ state }) => state)).toEqual(['done', 'done', 'done'])
    const runs = await world.run(world.store.forTenant(TENANT).runs({ cursor: null, limit: 10 }))
    expect(runs.items.map(({ purpose, state, connection }) => [purpose, state, connection])).toEqual([
      ['verification', 'completed', CONNECTION.name],
      ['verification', 'completed', CONNECTION.name],
    ])
  })

  test('[CD1] to a value that the account does not accept leaves the prior one, after three attempts', async () => {
    const { world, node } = await start()
    await call(world, node)
    await world.run(world.vault.set(TENANT, 'crm-key', 'wrong', { isPending: true, by: 'ada' }))
    await world.run(node.keeping.operatorApi.supplied(TENANT, 'crm-key', 'ada'))
    await world.pass(node, 10_000)
    expect(await world.state()).toMatchObject({
      status: 'active',
      current: { version: 1 },
      rotation: null,
      lastFailure: { version: 1, error: expect.stringContaining('401') },
    })
    expect(world.sent.filter((request) => keyOf(request) === 'wrong')).toHaveLength(3)
    expect(await call(world, node)).toBe(200)
    const [work] = await rotationWork(world)
    expect(work).toMatchObject({ state: 'dead', class: 'auth', attempts: 3 })
    const letters = await world.run(world.store.forTenant(TENANT).deadLetters({ cursor: null, limit: 5 }))
    expect(letters.items).toMatchObject([{ reason: 'rotation_failed', consumer: 'credential:crm' }])
    expect(await subjects(world)).toContain('integration.failed')
    const escalations = await world.run(world.store.forTenant(TENANT).escalations({ cursor: null, limit: 5 }))
    expect(escalations.items).toHaveLength(1)
    // The refused value is not mistaken for a new one.
    await world.run(node.keeping.operatorApi.supplied(TENANT, 'crm-key', 'ada'))
    expect((await world.state()).rotation).toBeNull()
  })

  test('[CD16] that cannot create one waits for a user, and continues when the value is there', async () => {
    const { vendor, world, node } = await start()
    await call(world, node)
    vendor.good.delete('key-1')
    expect(await refuse(world, node)).toMatchObject({ is: 'wait' })
    expect(node.keeping.credentials.gate(TENANT, 'crm')).toMatchObject({ is: 'closed' })
    await world.pass(node, 1_000)
    expect(await world.state()).toMatchObject({ status: 'waiting' })
    const [parked] = await rotationWork(world)
    expect(parked).toMatchObject({
      state: 'parked',
      lastError: expect.stringContaining('millrace secrets set crm-key --pending'),
    })
    const escalations = await world.run(world.store.forTenant(TENANT).escalations({ cursor: null, limit: 5 }))
    expect(escalations.items[0]?.lastError).toContain('millrace secrets set crm-key --pending')
    vendor.good.add('key-9')
    await world.run(world.vault.set(TENANT, 'crm-key', 'key-9', { isPending: true, by: 'ada' }))
    await world.run(node.keeping.operatorApi.supplied(TENANT, 'crm-key', 'ada'))
    await world.pass(node, 1_000)
    expect(node.keeping.credentials.gate(TENANT, 'crm')).toBeNull()
    expect(await call(world, node)).toBe(200)
    expect((await rotationWork(world))[0]).toMatchObject({ state: 'done', id: parked?.id })
  })

  test('[HE6] a probe that passes with the refused secret lets calls continue, and one that began before does not count', async () => {
    const { world, node } = await start()
    await call(world, node)
    const before = (await world.state()).updatedAt
    await refuse(world, node)
    const accepted = (since: number) => world.run(node.keeping.credentials.accepted(TENANT, 'crm', 1, since))
    await accepted(before)
    expect(node.keeping.credentials.gate(TENANT, 'crm')).toMatchObject({ is: 'closed' })
    await world.pass(node, 1_000)
    await accepted((await world.state()).updatedAt + 1)
    expect(node.keeping.credentials.gate(TENANT, 'crm')).toBeNull()
    expect(await world.state()).toMatchObject({ status: 'waiting', current: { version: 1 } })
    // Refused once more, it is closed again.
    expect(await refuse(world, node)).toMatchObject({ is: 'wait' })
    expect(node.keeping.credentials.gate(TENANT, 'crm')).toMatchObject({ is: 'closed' })
  })

  test('[CD16] a refused secret that cannot create the next one waits for a user too', async () => {
    const { vendor, world, node } = await start({ provider: MAKES_KEYS })
    await call(world, node)
    vendor.good.delete('key-1')
    await refuse(world, node)
    await world.pass(node, 1_000)
    expect(await world.state()).toMatchObject({ status: 'waiting' })
    vendor.good.add('key-9')
    await world.run(world.vault.set(TENANT, 'crm-key', 'key-9', { isPending: true, by: 'ada' }))
    await world.run(node.keeping.operatorApi.supplied(TENANT, 'crm-key', 'ada'))
    await world.pass(node, 1_000)
    expect(await world.state()).toMatchObject({ status: 'active', current: { version: 2 } })
    expect(vendor.made()).toBe(1)
  })

  test('[CD16] a value that another node stored is found, and so is one that was set directly', async () => {
    for (const isPending of [true, false]) {
      const { vendor, world, node } = await start()
      await call(world, node)
      vendor.good.delete('key-1')
      await refuse(world, node)
      node.keeping.start()
      await world.pass(node, 6_000)
      expect((await world.state()).status).toBe('waiting')
      vendor.good.add('key-9')
      await world.run(world.vault.set(TENANT, 'crm-key', 'key-9', { isPending, by: 'ada' }))
      await world.pass(node, 12_000)
      expect(await world.state()).toMatchObject({ status: 'active', rotation: null, current: { version: 2 } })
      expect(await call(world, node)).toBe(200)
      await world.run(node.keeping.stop())
    }
  })

  /** As a user does. */
  const cancelWork = async (world: KeepingWorld) => {
    const [parked] = await rotationWork(world)
    const counters = { attempts: 0, waits: 0, losses: 0 }
    await world.run(
      world.store.commit({
        tenant: TENANT,
        guards: [],
        writes: [{ w: 'work.settle', work: parked!.id, to: 'cancelled', counters, note: EMPTY_NOTE }],
      }),
    )
  }

  test('[CD16] whose job an operator cancels is over when the value comes after all, which is used', async () => {
    const { vendor, world, node } = await start()
    await call(world, node)
    vendor.good.delete('key-1')
    await refuse(world, node)
    await world.pass(node, 1_000)
    await cancelWork(world)
    vendor.good.add('key-9')
    await world.run(world.vault.set(TENANT, 'crm-key', 'key-9', { isPending: true, by: 'ada' }))
    await world.run(node.keeping.operatorApi.supplied(TENANT, 'crm-key', 'ada'))
    await world.pass(node, 1_000)
    expect(await world.state()).toMatchObject({ status: 'active', rotation: null, current: { version: 2 } })
    expect(node.keeping.credentials.gate(TENANT, 'crm')).toBeNull()
    expect(await call(world, node)).toBe(200)
  })

  test('[CD16] whose job an operator cancels is over: the prior one stays', async () => {
    const { world, node } = await start()
    await call(world, node)
    await rotate(world, node)
    await world.pass(node, 1_000)
    await cancelWork(world)
    node.keeping.start()
    await world.pass(node, 6_000)
    expect(await world.state()).toMatchObject({
      status: 'active',
      rotation: null,
      lastFailure: { version: 1 },
    })
    await world.run(node.keeping.stop())
  })

  test('[CD10] by policy starts by itself, once, whatever the number of nodes', async () => {
    const credential = { ...CREDENTIAL, rotation: { ...CREDENTIAL.rotation, everyMs: 3_600_000 } }
    const { vendor, world, node } = await start({ provider: MAKES_KEYS, credential })
    const other = await world.node('two')
    await call(world, node)
    node.keeping.start()
    other.keeping.start()
    await world.pass(node, 3_590_000)
    expect(vendor.made()).toBe(1)
    await world.pass(node, 20_000)
    expect(vendor.made()).toBe(2)
    expect((await world.state()).current?.version).toBe(2)
    await world.run(Promise.all([node.keeping.stop(), other.keeping.stop()]))
  })
})

describe('a refusal', () => {
  test('[CD3] [CD11] starts one rotation, whichever calls are refused, and none within the cool-down', async () => {
    const { vendor, world, node } = await start()
    const other = await world.node('two')
    await call(world, node)
    const both = await world.run(
      Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          (at % 2 === 0 ? node : other).keeping.credentials.refused(TENANT, 'crm', {
            version: 1,
            correlationId: 'story-1',
            error: 'answered 401',
          }),
        ),
      ),
    )
    expect(new Set(both.map(({ is }) => is))).toEqual(new Set(['wait']))
    expect(await rotationWork(world)).toHaveLength(1)
    const { events } = await world.run(world.store.system('verification').dump())
    expect(events.map(({ correlationId }) => correlationId)).toEqual(['story-1'])
    await world.run(world.vault.set(TENANT, 'crm-key', 'wrong', { isPending: true, by: 'ada' }))
    await world.run(node.keeping.operatorApi.supplied(TENANT, 'crm-key', 'ada'))
    await world.pass(node, 10_000)
    expect(await refuse(world, node)).toMatchObject({
      is: 'dead',
      why: expect.stringMatching(/^rotation_cool_down/),
    })
    await world.pass(node, 600_000)
    expect(await refuse(world, node)).toMatchObject({ is: 'wait' })
    expect(await rotationWork(world)).toHaveLength(2)
    vendor.good.clear()
  })

  test('[CD3] [CD11] starts none if the one that it would have waited for failed meanwhile', async () => {
    const { vendor, world, node } = await start()
    await call(world, node)
    await rotate(world, node)
    await world.pass(node, 1_000)
    const probe = makeDeferred<HttpOutcome>()
    world.script = () => probe.promise
    const refusing = refuse(world, node, 1, 'answered 403')
    await world.pass(node, 1_000)
    world.script = vendor.script
    await world.run(world.vault.set(TENANT, 'crm-key', 'wrong', { isPending: true, by: 'ada' }))
    await world.run(node.keeping.operatorApi.supplied(TENANT, 'crm-key', 'ada'))
    await world.pass(node, 10_000)
    expect(await world.state()).toMatchObject({ rotation: null, lastFailure: { version: 1 } })
    probe.give(answered(401))
    expect(await refusing).toMatchObject({ is: 'dead', why: expect.stringMatching(/^rotation_cool_down/) })
    expect(await rotationWork(world)).toHaveLength(1)
  })

  test('[CD3] by a vendor that refuses everything but its probe ends after one rotation', async () => {
    const { vendor, world, node } = await start({ provider: MAKES_KEYS })
    await call(world, node)
    await refuse(world, node)
    await world.pass(node, 1_000)
    expect((await world.state()).current?.version).toBe(2)
    expect(await refuse(world, node, 1)).toEqual({ is: 'again' })
    expect(await refuse(world, node, 2)).toMatchObject({ is: 'dead' })
    expect(vendor.made()).toBe(2)
  })

  test('[DR13] for one forbidden resource: the account accepts the secret, and the other jobs continue', async () => {
    const { vendor, world, node } = await start()
    await call(world, node)
    expect(await refuse(world, node, 1, 'answered 403, saying: Forbidden')).toMatchObject({
      is: 'dead',
      why: expect.stringMatching(/^credential_scope_missing/),
    })
    expect(world.sent.at(-1)?.url).toBe('https://crm.example/me')
    expect(node.keeping.credentials.gate(TENANT, 'crm')).toBeNull()
    expect(await rotationWork(world)).toEqual([])

    world.script = () => answered(503)
    expect(await refuse(world, node, 1, 'answered 403')).toMatchObject({ is: 'wait' })
    expect(node.keeping.credentials.gate(TENANT, 'crm')).toBeNull()
    expect(await rotationWork(world)).toEqual([])

    world.script = vendor.script
    vendor.good.clear()
    expect(await refuse(world, node, 1, 'answered 403')).toMatchObject({ is: 'wait' })
    expect(node.keeping.credentials.gate(TENANT, 'crm')).not.toBeNull()
    expect(await rotationWork(world)).toHaveLength(1)
  })

  test('[CD3] for a missing scope, and of a value that is not in the vault', async () => {
    const { world, node } = await start()
    await call(world, node)
    expect(await refuse(world, node, 1, 'answered 403, saying: insufficient_scope')).toMatchObject({
      is: 'dead',
      why: expect.stringMatching(/^credential_scope_missing/),
    })
    world.credential = { ...CREDENTIAL, secret: { env: 'CRM_KEY' } }
    expect(await refuse(world, node, null)).toMatchObject({
      is: 'dead',
      why: expect.stringMatching(/^credential_refused: .*CRM_KEY/),
    })
  })
})

describe('crashes', () => {
  /** Counts the commits of a rotation without faults. */
  async function countCommits(): Promise<number> {
    const { world, node } = await start({ provider: MAKES_KEYS })
    await call(world, node)
    const before = world.commits.length
    await rotate(world, node)
    await world.pass(node, 2_000)
    return world.commits.length - before
  }

  test('[CD14] [CD13] after and before any commit converge: one secret is created, and one is in use', async () => {
    const count = await countCommits()
    expect(count).toBeGreaterThanOrEqual(5)
    for (const isBefore of [false, true]) {
      for (let commit = 1; commit <= count; commit += 1) {
        const { vendor, world, node } = await start({ provider: MAKES_KEYS })
        await call(world, node)
        node.stopAt(commit, isBefore)
        node.keeping.operatorApi.rotate(TENANT, 'crm', 'request', asked).catch(() => {})
        await world.pass(node, 3_000)
        expect(node.isStopped(), `${commit}`).toBe(true)
        // The next incarnation of the same node fences the one before.
        const next = await world.node()
        await world.run(world.store.reclaim(10))
        await world.run(next.keeping.operatorApi.rotate(TENANT, 'crm', 'request', asked))
        next.keeping.start()
        await world.pass(next, 20_000)
        const state = await world.state()
        const where = `commit ${commit}, ${isBefore ? 'before' : 'after'}: ${JSON.stringify(state)}`
        // If a secret was created and lost, a user is asked; otherwise it is over.
        if (state.status === 'waiting') {
          vendor.good.add('key-9')
          await world.run(world.vault.set(TENANT, 'crm-key', 'key-9', { isPending: true, by: 'ada' }))
          await world.pass(next, 20_000)
        }
        const ended = await world.state()
        expect([ended.status, ended.rotation], where).toEqual(['active', null])
        expect(ended.current?.version, where).toBeGreaterThan(1)
        expect(await call(world, next), where).toBe(200)
        // The body names the rotation.
        const tokens = world.sent.filter(({ method }) => method === 'POST').map(({ body }) => body)
        expect(new Set(tokens).size, where).toBe(tokens.length)
        const work = await rotationWork(world)
        const open = work.filter(({ state: one, step }) => step === null && one !== 'done')
        expect(open, where).toEqual([])
        await world.run(next.keeping.stop())
      }
    }
  }, 60_000)

  test('[CD13] [N3] a repeat that had no effect says nothing about the call that it repeats', async () => {
    const outcomes = [answered(502), answered(503), answered(429)]
    const { operations } = MAKES_KEYS
    const native = { idempotency: 'native', keyTtlMs: 60_000, keyHeader: 'idempotency-key' } as const
    const createKey = { ...(operations.createKey as OperationDocument), ...native }
    const provider = { ...MAKES_KEYS, operations: { ...operations, createKey } }
    const { vendor, world, node } = await start({ provider })
    world.script = (request) =>
      request.method === 'POST' ? (outcomes.shift() ?? answered(503)) : vendor.script(request)
    await rotate(world, node)
    await world.pass(node, 60_000)
    expect(outcomes).toEqual([])
    const { ledger } = await world.run(world.store.system('verification').dump())
    expect(ledger).toMatchObject([{ state: 'unknown' }])
  })

  /** The vendor creates no secret, and the node stops after this commit of the rotation. */
  const refuseWith = async (stopAt: number, outcome: HttpOutcome, operation: Partial<OperationDocument>) => {
    const { operations } = MAKES_KEYS
    const createKey = { ...(operations.createKey as OperationDocument), ...operation }
    const provider = { ...MAKES_KEYS, operations: { ...operations, createKey } }
    const { vendor, world, node } = await start({ provider })
    world.script = (request) => (request.method === 'POST' ? outcome : vendor.script(request))
    await rotate(world, node)
    node.stopAt(stopAt, false)
    await world.pass(node, 60_000)
    const isStopped = node.isStopped()
    const next = isStopped ? await world.node() : node
    await world.run(world.store.reclaim(10))
    await world.pass(next, 60_000)
    const ended = (await rotationWork(world)).map(({ state, attempts }) => [state, attempts])
    return { asked: world.sent.filter(({ method }) => method === 'POST').length, ended, isStopped }
  }

  test.each([
    ['refused', answered(503), {}, [['parked', expect.any(Number)]]],
    ['lost, and may be repeated', answered(502), { idempotency: 'idempotent' }, null],
  ] as const)(
    '[N6] [CD14] after any commit count each call: %s',
    async (_what, outcome, operation, parked) => {
      let stops = 0
      for (let commit = 1; ; commit += 1) {
        const { asked, ended, isStopped } = await refuseWith(commit, outcome, operation)
        if (!isStopped) break
        stops += 1
        // An abandoned reserve needs a user's decision if the call may not be repeated.
        expect([[['dead', 3]], parked], `commit ${commit}`).toContainEqual(ended)
        expect(asked, `commit ${commit}`).toBeLessThanOrEqual(3)
      }
      expect(stops).toBeGreaterThanOrEqual(6)
    },
    60_000,
  )
})

test('[CD17] with continuous calls no call fails', async () => {
  const { vendor, world, node } = await start({ provider: MAKES_KEYS })
  const other = await world.node('two')
  await call(world, node)
  const answers: Promise<number | null>[] = []
  const calling = (one: KeepingNode) =>
    one.call().then(({ outcome }) => (outcome.kind === 'response' ? outcome.status : null))
  for (let round = 0; round < 4; round += 1) {
    await rotate(world, node)
    for (let at = 0; at < 50; at += 1) {
      answers.push(calling(node), calling(other))
      await world.pass(node)
    }
    await world.pass(node, 2_000)
  }
  expect(new Set(await world.run(Promise.all(answers)))).toEqual(new Set([200]))
  expect(vendor.made()).toBe(5)
  expect((await world.state()).current?.version).toBe(5)
})

test('[CD12] no part of the values is in the store, the events or the log', async () => {
  const { world, node } = await start({ provider: MAKES_KEYS })
  await call(world, node)
  await rotate(world, node)
  await world.pass(node, 70_000)
  await world.run(world.vault.set(TENANT, 'crm-key', 'key-wrong', { isPending: true, by: 'ada' }))
  await world.run(node.keeping.operatorApi.supplied(TENANT, 'crm-key', 'ada'))
  await world.pass(node, 10_000)
  const dump = await world.run(world.store.system('verification').dump())
  const view = await world.run(node.keeping.operatorApi.credentials(TENANT))
  const everywhere = JSON.stringify([dump, node.log.messages, node.log.controls, view])
  for (const secret of ['key-1', 'key-2', 'key-wrong']) expect(everywhere).not.toContain(secret)
  expect(view).toMatchObject([{ connections: [CONNECTION.name], state: { current: { version: 2 } } }])
})
