import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { makeCountingEncryption } from '../../adapters/encryption-local/encryption.fixture.ts'
import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import { makeSystemRandom } from '../../adapters/random-system/index.ts'
import { makeMemoryHarness } from '../../adapters/store-memory/harness.fixture.ts'
import { openSqliteStore } from '../../adapters/store-sqlite/index.ts'
import { hashDocument, type RouteDocument } from '../../core/definitions/documents/index.ts'
import { isEncrypted } from '../../core/events/sensitive/index.ts'
import { type Hmac, makeHmac } from '../../core/expression/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { MINUTE } from '../../core/foundation/time/index.ts'
import { makeMasterKeys } from '../../core/secrets/index.ts'
import type { Store } from '../../ports/store.ts'
import { makeEncryptedStore, rewrapRecords } from '../commit/encrypted-store.ts'
import type { ApplyRequest } from '../definitions/index.ts'
import { answered, makeDeferred, makeRandom, PAID, ROUTE, SOURCE, type World } from '../engine.fixture.ts'
import { HOOK, makeHookWorld } from '../webhooks/subscriptions/subscriptions.fixture.ts'
import { makeHmacKeys } from './hmac-keys.ts'

const TENANT = DEFAULT_TENANT
const OTHER = 'other' as TenantId
const SHARED = { isShared: true }
const KEYED: RouteDocument = { ...ROUTE, key: "'BOOK:' + hmac(payload.order)" }
const log = makeMemoryLog()
const encrypted = (store: Store, key = 1, ...old: number[]) =>
  makeEncryptedStore(store, { encryption: makeCountingEncryption(key, ...old), log })
const keyIdOf = (fill: number) => makeMasterKeys(new Uint8Array(32).fill(fill), []).current.id

const api = (...documents: readonly RouteDocument[]): ApplyRequest => ({
  definitions: documents.map((document) => ({ document, authored: null })),
  managedBy: 'api',
  prune: false,
  by: 'mona',
  reason: null,
})

async function keyIn(store: Store, tenant: TenantId = TENANT): Promise<string | null> {
  const record = await store.forTenant(tenant).record('hmac', 'key')
  return record === null ? null : (JSON.parse(record.body) as { key: string }).key
}

/** As `hmac(text)` under the key that the store has. */
async function digestIn(store: Store, text: string): Promise<string> {
  const hmac = makeHmac(Buffer.from((await keyIn(store)) ?? '', 'base64url'))
  return hmac(JSON.stringify([text]))
}

const putKey = (store: Store, body: string, version = 2) =>
  store.commit({
    tenant: TENANT,
    guards: [],
    writes: [{ w: 'record.put', kind: 'hmac', key: 'key', version, body }],
  })

const dropKey = (store: Store) =>
  store.commit({ tenant: TENANT, guards: [], writes: [{ w: 'record.delete', kind: 'hmac', key: 'key' }] })

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const STORES: Readonly<
  Record<string, () => Promise<{ readonly store: Store; readonly folder: string | null }>>
> = {
  async memory() {
    const harness = await makeMemoryHarness()
    closing.push(() => harness.close())
    return { store: harness.store, folder: null }
  },
  async SQLite() {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-hmac-'))
    const store = await openSqliteStore({ file: join(folder, 'millrace.db') })
    closing.push(
      () => rm(folder, { recursive: true }),
      async () => store[Symbol.asyncDispose](),
    )
    return { store, folder }
  },
}

describe.each(Object.keys(STORES))('a key in %s', (name) => {
  const open = STORES[name] as (typeof STORES)[string]

  test('[HK1] nodes that make it concurrently use the one that was stored first', async () => {
    const { store } = await open()
    const nodes = [1, 2, 3, 4].map((life) =>
      makeHmacKeys({ store: encrypted(store), random: makeRandom(life) }),
    )
    const hmacs = await Promise.all(nodes.map((node) => node.ensure(TENANT)))
    const stored = await digestIn(encrypted(store), 'ada')
    expect(hmacs.map((hmac) => hmac('["ada"]'))).toEqual([stored, stored, stored, stored])
    expect(nodes.map((node) => node.known(TENANT))).toEqual(hmacs)
  })

  test('[HK1] a node whose commit comes late uses the key of the other, and a later one reads it', async () => {
    const { store } = await open()
    const hold = makeDeferred<void>()
    const asked = makeDeferred<void>()
    const late: Store = {
      ...store,
      async commit(commit) {
        asked.give()
        await hold.promise
        return store.commit(commit)
      },
    }
    const slow = makeHmacKeys({ store: encrypted(late), random: makeRandom(1) }).ensure(TENANT)
    await asked.promise
    const quick = await makeHmacKeys({ store: encrypted(store), random: makeRandom(2) }).ensure(TENANT)
    const before = await keyIn(encrypted(store))
    hold.give()
    expect((await slow)('x')).toBe(quick('x'))
    expect(await keyIn(encrypted(store))).toBe(before)
    expect((await makeHmacKeys({ store: encrypted(store) }).load(TENANT))?.('x')).toBe(quick('x'))
  })

  test('[HK1] every tenant has its own, of 32 random bytes', async () => {
    const { store } = await open()
    const keys = makeHmacKeys({ store: encrypted(store), random: makeSystemRandom() })
    const [one, other] = [await keys.ensure(TENANT), await keys.ensure(OTHER)]
    expect(one('x')).not.toBe(other('x'))
    expect(Buffer.from((await keyIn(encrypted(store))) ?? '', 'base64url')).toHaveLength(32)
  })

  test('[HK2] the store has it encrypted, lists and dumps too, and one in clear text is refused', async () => {
    const { store, folder } = await open()
    await makeHmacKeys({ store: encrypted(store), random: makeRandom(1) }).ensure(TENANT)
    const key = (await keyIn(encrypted(store))) as string
    const record = await store.forTenant(TENANT).record('hmac', 'key')
    expect(isEncrypted(record?.body ?? '')).toBe(true)
    const { items } = await encrypted(store)
      .forTenant(TENANT)
      .records({ kind: 'hmac', cursor: null, limit: 10 })
    expect(items.map(({ body }) => isEncrypted(body))).toEqual([true])
    expect(JSON.stringify(await encrypted(store).system('verification').dump())).not.toContain(key)
    for (const file of folder === null ? [] : await readdir(folder))
      expect((await readFile(join(folder as string, file))).includes(key)).toBe(false)
    const own = JSON.stringify({ key: Buffer.alloc(32, 1).toString('base64url') })
    await putKey(store, own)
    const keys = makeHmacKeys({ store: encrypted(store), random: makeRandom(1) })
    expect(await keys.load(TENANT)).toBeNull()
    expect(keys.problem(TENANT)).toContain('altered')
    await expect(keys.ensure(TENANT)).rejects.toMatchObject({ code: 'secret_unreadable' })
  })

  test('[HK2] a record of another tenant cannot be decrypted here', async () => {
    const { store } = await open()
    await makeHmacKeys({ store: encrypted(store), random: makeRandom(1) }).ensure(OTHER)
    const record = await store.forTenant(OTHER).record('hmac', 'key')
    await putKey(store, record?.body ?? '', 1)
    expect(await makeHmacKeys({ store: encrypted(store) }).load(TENANT)).toBeNull()
  })

  test('[HK3] another master key encrypts it again, the old one may be removed, and its value is the same', async () => {
    const { store } = await open()
    const hmac: Hmac = await makeHmacKeys({ store: encrypted(store), random: makeRandom(1) }).ensure(TENANT)
    const rewrap = () =>
      rewrapRecords(store, { encryption: makeCountingEncryption(2, 1), log, keyId: keyIdOf(2) }, [TENANT])
    const before = await store.forTenant(TENANT).record('hmac', 'key')
    expect(await rewrap()).toEqual({ rewrapped: 1, unreadable: [] })
    expect(await rewrap()).toEqual({ rewrapped: 0, unreadable: [] })
    expect((await store.forTenant(TENANT).record('hmac', 'key'))?.body).not.toBe(before?.body)
    expect((await makeHmacKeys({ store: encrypted(store, 2) }).load(TENANT))?.('x')).toBe(hmac('x'))
    const blind = makeHmacKeys({ store: encrypted(store, 1) })
    expect(await blind.load(TENANT)).toBeNull()
    expect(blind.problem(TENANT)).toContain('master key')
  })

  test('[HK4] one that is lost, or of another form, is not made again for what is deployed', async () => {
    const { store } = await open()
    const keys = makeHmacKeys({ store: encrypted(store), random: makeRandom(1) })
    expect(await keys.load(TENANT)).toBeNull()
    expect(keys.problem(TENANT)).toContain('missing')
    await expect(keys.ensure(TENANT)).rejects.toMatchObject({ code: 'secret_unreadable' })
    expect(await keyIn(encrypted(store))).toBeNull()
    await putKey(encrypted(store), '{"key":"c2hvcnQ"}', 1)
    expect(await keys.load(TENANT)).toBeNull()
    expect(await keys.peek(TENANT)).toBeNull()
  })
})

const messages = (node: { readonly log: ReturnType<typeof makeMemoryLog> }, name: string) =>
  node.log.messages.filter((one) => one.name === name)

/** As a former version left it. */
async function storeAsBeforeHmac(world: World, document: RouteDocument): Promise<void> {
  const key = hashDocument(document)
  const stored = await world.kept.forTenant(TENANT).record('definition', key)
  await world.kept.commit({
    tenant: TENANT,
    guards: [],
    writes: [{ w: 'record.put', kind: 'definition', key, version: 1, body: stored?.body ?? '' }],
  })
}

describe('definitions that call hmac', () => {
  const keysOf = (world: World) => world.calls.map(({ request }) => request.headers['idempotency-key'])

  test('[HK1] [HK4] two nodes that deploy concurrently and a third make one effect per key', async () => {
    const world = makeHookWorld()
    const a = await world.node({ name: 'a', documents: [SOURCE], config: SHARED })
    const b = await world.node({ name: 'b', documents: [SOURCE], config: SHARED })
    const applied = [a, b].map(({ engine }) => engine.definitions.apply(TENANT, api(KEYED)).catch(() => null))
    await world.pass()
    expect(await Promise.all(applied)).toContainEqual(expect.objectContaining({ version: 2 }))
    await world.pass(1 * MINUTE)
    const c = await world.node({ name: 'c', documents: [SOURCE, KEYED], config: SHARED })
    for (const [index, node] of [a, b, c].entries()) await world.got(node.send({ ...PAID, id: `d${index}` }))
    await world.pass(1 * MINUTE)
    expect(keysOf(world)).toEqual([`BOOK:${await digestIn(world.store, 'o1')}`])
  })

  test('[HK5] others neither make a key nor read one', async () => {
    const world = makeHookWorld()
    const read: string[] = []
    const { forTenant } = world.kept
    world.kept.forTenant = (tenant) => {
      const reads = forTenant(tenant)
      return {
        ...reads,
        record(kind, key) {
          read.push(kind)
          return reads.record(kind, key)
        },
      }
    }
    const node = await world.node({ documents: [SOURCE, { ...ROUTE, key: "'BOOK:' + hash(payload.order)" }] })
    await world.create(node)
    await world.got(node.send(PAID))
    await world.pass(1 * MINUTE)
    expect(world.calls).toHaveLength(2)
    expect(read).toContain('bundle')
    expect(read).not.toContain('hmac')
  })

  test('[HK4] jobs wait where the key cannot be decrypted, and continue under the same key where it can', async () => {
    const world = makeHookWorld()
    world.answer(answered(503))
    const first = await world.node({ name: 'a', documents: [SOURCE, KEYED], config: SHARED })
    await world.got(first.send(PAID))
    expect(world.calls).toHaveLength(1)
    first.crash()
    const blind = await world.node({
      name: 'b',
      documents: [SOURCE, KEYED],
      encryption: makeCountingEncryption(9),
      config: SHARED,
    })
    await world.pass(5 * MINUTE)
    expect(world.calls).toHaveLength(1)
    expect(messages(blind, 'definitions.unusable').map(({ fields }) => fields)).toMatchObject([
      { definition: 'Route/book', error: expect.stringContaining('the hmac key is encrypted') },
    ])
    expect(await world.refusal(blind.send({ ...PAID, id: 'd2' }))).toBe('source_unusable')
    const { items } = await world.got(world.reads.workList({ cursor: null, limit: 10 }))
    expect(items.filter(({ state }) => state === 'dead' || state === 'parked')).toEqual([])
    blind.crash()
    world.answer(answered(204))
    await world.node({ name: 'c', documents: [SOURCE, KEYED], config: SHARED })
    await world.pass(5 * MINUTE)
    const key = `BOOK:${await digestIn(world.store, 'o1')}`
    expect(new Set(keysOf(world))).toEqual(new Set([key]))
    expect((await world.got(world.reads.ledger(key)))?.state).toBe('done')
  })

  test('[HK4] a lost key is not replaced, and a node continues by itself when it is restored', async () => {
    const world = makeHookWorld()
    const first = await world.node({ name: 'a', documents: [SOURCE, KEYED], config: SHARED })
    const record = await world.got(world.kept.forTenant(TENANT).record('hmac', 'key'))
    first.crash()
    await world.got(dropKey(world.kept))
    const second = await world.node({ name: 'b', documents: [SOURCE, KEYED], config: SHARED })
    await world.pass(1 * MINUTE)
    expect(messages(second, 'definitions.unusable')).toHaveLength(1)
    expect(await world.refusal(second.send(PAID))).toBe('source_unusable')
    const more = { ...KEYED, name: 'more', key: "'MORE:' + hmac(payload.order)" }
    expect(await world.refusal(second.engine.definitions.apply(TENANT, api(more)))).toBe('secret_unreadable')
    expect(await world.got(world.kept.forTenant(TENANT).record('hmac', 'key'))).toBeNull()
    await world.got(putKey(world.kept, record?.body ?? '', 1))
    await world.pass(1 * MINUTE)
    await world.got(second.send(PAID))
    await world.pass(1 * MINUTE)
    expect(keysOf(world)).toEqual([`BOOK:${await digestIn(world.store, 'o1')}`])
  })

  test('[HK9] a text that was stored before `hmac` and looks like a call keeps no definition from use', async () => {
    const world = makeHookWorld()
    const noted: RouteDocument = { ...ROUTE, description: 'signed with hmac (sha256)' }
    const first = await world.node({ name: 'a', documents: [SOURCE, noted], config: SHARED })
    first.crash()
    await world.got(storeAsBeforeHmac(world, noted))
    await world.got(dropKey(world.kept))
    const second = await world.node({ name: 'b', documents: [SOURCE, noted], config: SHARED })
    await world.got(second.send(PAID))
    await world.pass(1 * MINUTE)
    expect(messages(second, 'definitions.unusable')).toEqual([])
    expect(keysOf(world)).toEqual(['BOOK:o1'])
    expect(await world.got(keyIn(world.store))).toBeNull()
    await world.got(second.engine.definitions.apply(TENANT, api({ ...KEYED, name: 'more' })))
    expect(await world.got(keyIn(world.store))).not.toBeNull()
  })

  test('[HK4] [HK9] an older text that looks like a call makes no key for a subscription that lost its own', async () => {
    const world = makeHookWorld()
    const noted: RouteDocument = { ...ROUTE, description: 'signed with hmac (sha256)' }
    const first = await world.node({ name: 'a', documents: [SOURCE, noted], config: SHARED })
    await world.create(first, { headers: { 'x-customer': '{{ hmac(payload.order) }}' } })
    first.crash()
    await world.got(storeAsBeforeHmac(world, noted))
    await world.got(dropKey(world.kept))
    const second = await world.node({ name: 'b', documents: [SOURCE, noted], config: SHARED })
    await world.pass(1 * MINUTE)
    expect(await world.got(keyIn(world.store))).toBeNull()
    expect(messages(second, 'subscription.unusable')).toHaveLength(1)
    expect(messages(second, 'definitions.unusable')).toEqual([])
  })

  test('[HK4] [HK9] an older subscription that looks like a call makes no key for a route that lost its own', async () => {
    const world = makeHookWorld()
    const first = await world.node({ name: 'a', documents: [SOURCE, KEYED], config: SHARED })
    const { name } = HOOK
    await world.create(first, { description: 'signed with hmac (sha256)' })
    first.crash()
    const stored = await world.got(world.store.forTenant(TENANT).record('subscription', name))
    const body = JSON.stringify({ ...JSON.parse(stored?.body ?? ''), language: 1 })
    const version = stored?.version ?? 0
    await world.got(
      world.store.commit({
        tenant: TENANT,
        guards: [],
        writes: [{ w: 'record.put', kind: 'subscription', key: name, version, body }],
      }),
    )
    await world.got(dropKey(world.kept))
    const second = await world.node({ name: 'b', documents: [SOURCE, KEYED], config: SHARED })
    await world.pass(1 * MINUTE)
    expect(await world.got(keyIn(world.store))).toBeNull()
    expect(messages(second, 'definitions.unusable')).toHaveLength(1)
    expect(messages(second, 'subscription.unusable')).toEqual([])
  })

  test('[HK4] a lost key is not replaced by a new route while only pinned jobs call hmac', async () => {
    const world = makeHookWorld()
    world.answer(answered(503))
    const first = await world.node({ name: 'a', documents: [SOURCE, KEYED], config: SHARED })
    await world.got(first.send(PAID))
    await world.got(first.engine.definitions.apply(TENANT, { ...api(), managedBy: 'folder', prune: true }))
    first.crash()
    await world.got(dropKey(world.kept))
    const second = await world.node({ name: 'b', documents: [], config: SHARED })
    const more = { ...KEYED, name: 'more', key: "'MORE:' + hmac(payload.order)" }
    expect(await world.refusal(second.engine.definitions.apply(TENANT, api(more)))).toBe('secret_unreadable')
    const hook = { ...HOOK, name: 'more', headers: { 'x-customer': '{{ hmac(payload.order) }}' } }
    expect(await world.refusal(world.create(second, hook))).toBe('secret_unreadable')
    expect(await world.got(keyIn(world.store))).toBeNull()
  })

  test('[HK1] [HK4] a subscription of the API makes the key, waits without it, and continues with it', async () => {
    const world = makeHookWorld()
    const first = await world.node({ name: 'a', documents: [SOURCE], config: SHARED })
    expect(await world.got(keyIn(world.store))).toBeNull()
    await world.create(first, { headers: { 'x-customer': '{{ hmac(payload.order) }}' } })
    await world.got(first.send(PAID))
    await world.pass(1 * MINUTE)
    const digest = await digestIn(world.store, 'o1')
    expect(world.calls.map(({ request }) => request.headers['x-customer'])).toEqual([digest])
    const record = await world.got(world.kept.forTenant(TENANT).record('hmac', 'key'))
    first.crash()
    await world.got(dropKey(world.kept))
    const second = await world.node({ name: 'b', documents: [SOURCE], config: SHARED })
    await world.pass(1 * MINUTE)
    expect(messages(second, 'subscription.unusable')).toHaveLength(1)
    expect(await world.refusal(second.send({ ...PAID, id: 'd2' }))).toBe('source_unusable')
    const more = { ...HOOK, name: 'more', headers: { 'x-customer': '{{ hmac(payload.order) }}' } }
    expect(await world.refusal(world.create(second, more))).toBe('secret_unreadable')
    await world.got(putKey(world.kept, record?.body ?? '', 1))
    await world.pass(1 * MINUTE)
    await world.got(second.send({ ...PAID, id: 'd2' }))
    await world.pass(1 * MINUTE)
    expect(world.calls.map(({ request }) => request.headers['x-customer'])).toEqual([digest, digest])
  })

  test('[HK4] jobs that are pinned to a former version wait for the key, too', async () => {
    const world = makeHookWorld()
    world.answer(answered(503))
    const first = await world.node({ name: 'a', documents: [SOURCE, KEYED], config: SHARED })
    await world.got(first.send(PAID))
    const key = `BOOK:${await digestIn(world.store, 'o1')}`
    const record = await world.got(world.kept.forTenant(TENANT).record('hmac', 'key'))
    first.crash()
    await world.got(dropKey(world.kept))
    world.answer(answered(204))
    const before = world.calls.length
    await world.node({ name: 'b', documents: [], config: SHARED })
    await world.pass(5 * MINUTE)
    expect(world.calls).toHaveLength(before)
    const { items } = await world.got(world.reads.workList({ cursor: null, limit: 10 }))
    expect(items.filter(({ state }) => state === 'dead' || state === 'parked')).toEqual([])
    await world.got(putKey(world.kept, record?.body ?? '', 1))
    await world.pass(5 * MINUTE)
    expect(new Set(keysOf(world))).toEqual(new Set([key]))
    expect((await world.got(world.reads.ledger(key)))?.state).toBe('done')
  })

  test('[HK2] no log line contains the key', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: [SOURCE, KEYED] })
    await world.got(node.send(PAID))
    await world.pass(1 * MINUTE)
    const key = (await keyIn(world.store)) as string
    const said = JSON.stringify([node.log.messages, node.log.controls])
    for (const form of ['base64url', 'base64', 'hex'] as const)
      expect(said).not.toContain(Buffer.from(key, 'base64url').toString(form))
  })
})

describe('previews', () => {
  const GIVEN = { subject: 'shop.events.paid', data: PAID }
  const OPERATOR = { actor: 'mona', seesSensitive: true, seesRestricted: true }

  test('[HK6] have real digests for stored events, and for callers who may see sensitive values', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: [SOURCE, KEYED] })
    const { eventId } = await world.got(node.send(PAID))
    await world.pass(1 * MINUTE)
    const key = `BOOK:${await digestIn(world.store, 'o1')}`
    const { inspect } = node.engine
    expect(await world.got(inspect.tryRoute(TENANT, 'book', eventId))).toMatchObject({
      key,
      ledger: { verdict: 'would-skip' },
    })
    expect(await world.got(inspect.tryRoute(TENANT, 'book', GIVEN, OPERATOR))).toMatchObject({
      key,
      ledger: { verdict: 'would-skip' },
    })
    const shown = { key: 'BOOK:[hmac]', ledger: null }
    expect(await world.got(inspect.tryRoute(TENANT, 'book', GIVEN))).toMatchObject(shown)
    expect(await world.got(inspect.tryRoute(TENANT, KEYED, eventId))).toMatchObject(shown)
    const compute = (reader?: typeof OPERATOR) =>
      world.got(inspect.compute(TENANT, "'BOOK:' + hmac(payload.order)", 'pick', GIVEN, reader))
    expect(await compute()).toMatchObject({ ok: true, value: 'BOOK:[hmac]' })
    expect(await compute(OPERATOR)).toMatchObject({ ok: true, value: key })
  })

  test('[HK6] make no key, and a condition is explained as it was decided', async () => {
    const world = makeHookWorld()
    const node = await world.node({ documents: [SOURCE] })
    const tried = await world.got(node.engine.inspect.tryRoute(TENANT, KEYED, GIVEN, OPERATOR))
    expect(tried).toMatchObject({ matched: true, key: 'BOOK:[hmac]', ledger: null, problem: null })
    expect(await world.got(keyIn(world.store))).toBeNull()
    const where = "hmac(payload.order) != 'x'"
    await world.got(node.engine.definitions.apply(TENANT, api({ ...KEYED, where })))
    const { eventId } = await world.got(node.send(PAID))
    const { consumers } = await world.got(node.engine.inspect.explain(TENANT, eventId))
    const digest = await digestIn(world.store, 'o1')
    expect(consumers[0]).toMatchObject({
      verdict: 'matched',
      why: [{ holds: true, saw: `hmac(payload.order) = "${digest}"` }],
    })
  })
})
