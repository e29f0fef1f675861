// An attacker who can write to the database, but has no master key, cannot make a node run their code.

import { createHash } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeSignedCode } from '../../app/signed-code.ts'
import { DEFAULT_TENANT, type NodeId, type TenantId } from '../../core/foundation/ids/index.ts'
import { makeMasterKeys } from '../../core/secrets/index.ts'
import { ENGINE_DEFAULTS, makeEngine } from '../../engine/index.ts'
import { makeMemoryVault } from '../../engine/secrets/vault.fixture.ts'
import { CodeRefusedError } from '../../ports/code.ts'
import { NO_WAKES } from '../../ports/wakes.ts'
import { makeSystemClock } from '../clock-system/index.ts'
import { makeCountingEncryption } from '../encryption-local/encryption.fixture.ts'
import { makeMemoryLog } from '../log-memory/index.ts'
import { makeSystemRandom } from '../random-system/index.ts'
import { openSqliteStore } from '../store-sqlite/index.ts'
import { loadTestFolder, makeTestCode, makeTestFolder, type TestFolder } from './folder.fixture.ts'
import { makeBundleSignatures } from './index.ts'

const SOURCE = `kind: Source
name: shop
verify: { scheme: none }
subject: shop.paid
event: { id: payload.order }
`
const HARM = Symbol.for('millrace.test.harm')
const DONE = Symbol.for('millrace.test.done')

const book = (version: string, status = 'active') => `import { defineFunction, defineRoute } from 'millrace'
export const book = defineFunction({
  name: 'book',
  run({ order }: { order: string }) {
    (globalThis as any)[Symbol.for('millrace.test.done')].push('${version} ' + order)
    return null
  },
})
export default defineRoute({
  name: 'book', on: 'shop.paid', status: '${status}', retry: { attempts: 1 },
  do: book.with({ order: '{{ payload.order }}' }),
})
`

const keysOf = (fill: number, ...old: readonly number[]) =>
  makeMasterKeys(
    new Uint8Array(32).fill(fill),
    old.map((one) => new Uint8Array(32).fill(one)),
  )

let folder: TestFolder
let lives = 0
let done: string[]
beforeEach(() => {
  done = []
  Object.assign(globalThis, { [DONE]: done, [HARM]: false })
  folder = makeTestFolder({ 'shop.yaml': SOURCE })
  mkdirSync(folder.copies, { recursive: true })
})
afterEach(() => folder[Symbol.dispose]())

const openStore = () => openSqliteStore({ file: join(folder.copies, '..', 'millrace.db') })

/** A node that knows only what it reads. `keys` null: a node of the version before signatures. */
async function start(keys: ReturnType<typeof keysOf> | null = keysOf(1), hasFolder = true) {
  lives += 1
  const store = await openStore()
  const code = makeTestCode(folder)
  const log = makeMemoryLog()
  const engine = makeEngine(
    {
      encryption: makeCountingEncryption(),
      store,
      clock: makeSystemClock(),
      random: makeSystemRandom(),
      http: { send: () => Promise.reject(new Error('nobody is called')), vet: async () => ({ ok: true }) },
      vault: { resolve: async () => [] },
      secrets: makeMemoryVault(() => 0),
      log,
      code,
      wakes: NO_WAKES,
      bus: null,
    },
    { ...ENGINE_DEFAULTS, node: `node-${lives}` as NodeId, pollMs: 20 },
  )
  const apply = async () => {
    const loaded = await loadTestFolder(folder, code)
    expect(loaded.findings).toEqual([])
    await code.keep(loaded.code)
    await engine.apply(
      DEFAULT_TENANT,
      loaded.definitions.map(({ document }) => document),
    )
  }
  const signedCode = makeSignedCode(code, { store, keys, log })
  await signedCode.open()
  await engine.definitions.load()
  if (hasFolder) await apply()
  await engine.start()
  const reads = store.forTenant(DEFAULT_TENANT)
  return {
    apply,
    code,
    signedCode,
    store,
    log,
    reads,
    hash: () => code.find('book', DEFAULT_TENANT) as string,
    async send(order: string) {
      const body = new TextEncoder().encode(JSON.stringify({ order }))
      return (await engine.accept({ tenant: 'default', source: 'shop', headers: {}, body })).eventId
    },
    refused: () => log.messages.flatMap(({ name, fields }) => (name === 'code.refused' ? [fields] : [])),
    async stop() {
      expect(await engine.drain(10_000)).toEqual({ left: 0 })
      await store[Symbol.asyncDispose]()
    },
  }
}

type Store = Awaited<ReturnType<typeof openStore>>
const put = (store: Store, key: string, body: object) =>
  store.commit({
    tenant: DEFAULT_TENANT,
    guards: [],
    writes: [{ w: 'record.put', kind: 'code', key, version: 1, body: JSON.stringify(body) }],
  })
const bodyOf = async (store: Store, key: string) =>
  JSON.parse((await store.forTenant(DEFAULT_TENANT).record('code', key))?.body ?? 'null')

/** What an attacker with only the database can add: another text under its right hash. */
async function plant(store: Store, from: string, more: object = {}): Promise<string> {
  const { text, map } = await bodyOf(store, `text/${from}`)
  const own = `globalThis[Symbol.for('millrace.test.harm')] = true\n${text}`
  const hash = createHash('sha256').update(own).digest('hex')
  await put(store, `text/${hash}`, { text: own, map })
  await put(store, `hash/${hash}`, { file: 'book.ts', bytes: own.length, ...more })
  return hash
}

const run = async (code: ReturnType<typeof makeTestCode>, hash: string) =>
  code.run(hash, 'book', { order: 'o' }, {} as never)
const harm = () => (globalThis as { [HARM]?: boolean })[HARM]

test('[FN27] a bundle that is unsigned, forged, copied or changed is refused before it is loaded', async () => {
  folder.write({ 'book.ts': book('one') })
  const node = await start()
  const good = node.hash()
  const { signature } = await bodyOf(node.store, `hash/${good}`)
  const stranger = makeBundleSignatures(keysOf(9))
  const hash = await plant(node.store, good)
  for (const [more, why] of [
    [{}, 'not signed'],
    [{ signature }, 'signature is wrong'],
    [{ signature: stranger.sign(DEFAULT_TENANT, hash) }, 'master key'],
    [{ signature: makeBundleSignatures(keysOf(1)).sign('other' as TenantId, hash) }, 'signature is wrong'],
  ] as const) {
    await plant(node.store, good, more)
    const other = makeTestCode(folder)
    await makeSignedCode(other, { store: node.store, keys: keysOf(1), log: makeMemoryLog() }).open()
    await expect(run(other, hash)).rejects.toThrow(CodeRefusedError)
    await expect(run(other, hash)).rejects.toThrow(why)
    await expect(run(other, hash)).rejects.toThrow('`book`')
    expect([...other.refused().keys()]).toEqual([hash])
    expect(await other.prepare(hash)).toBe(false)
    expect(await other.prepare(good)).toBe(true)
  }
  const { text, map } = await bodyOf(node.store, `text/${good}`)
  await put(node.store, `text/${good}`, { text: `${text}\nglobalThis.harm = true`, map })
  const other = makeTestCode(folder)
  await makeSignedCode(other, { store: node.store, keys: keysOf(1), log: makeMemoryLog() }).open()
  await expect(run(other, good)).rejects.toThrow('not what was stored')
  expect(other.refused().has(good)).toBe(true)
  expect(harm()).toBe(false)
  await node.stop()
})

test('[FN27] a route that the database points to other code waits, and continues when it is deployed again', async () => {
  folder.write({ 'book.ts': book('one', 'paused') })
  const before = await start()
  const event = await before.send('o1')
  const good = before.hash()
  const own = await plant(before.store, good)
  // Definitions are not signed: every record that names one bundle now names the other.
  const { items } = await before.reads.records({ kind: 'definition', cursor: null, limit: 10 })
  for (const { key, version, body } of items)
    await before.store.commit({
      tenant: DEFAULT_TENANT,
      guards: [],
      writes: [
        {
          ...{ w: 'record.put', kind: 'definition', key, version },
          body: body.replaceAll(good, own).replaceAll('"paused"', '"active"'),
        },
      ],
    })
  await before.stop()
  rmSync(folder.copies, { recursive: true })

  const after = await start(keysOf(1), false)
  await expect
    .poll(async () => (await after.reads.workOfEvent(event))[0]?.lastError)
    .toContain('the stored code of function `book`')
  const [work] = await after.reads.workOfEvent(event)
  expect(work).toMatchObject({ state: 'ready', attempts: 0 })
  expect(work?.lastError).toContain('Deploy its file again')
  expect(after.refused()).toContainEqual(expect.objectContaining({ codeHash: own }))
  expect(after.refused()).toContainEqual(expect.objectContaining({ consumer: 'route:book' }))
  expect([harm(), done]).toEqual([false, []])
  await after.stop()
})

test('[FN27] a changed text is stored again by a node that has the file, and the waiting jobs run', async () => {
  folder.write({ 'book.ts': book('one') })
  const before = await start()
  const good = before.hash()
  const { text, map } = await bodyOf(before.store, `text/${good}`)
  await put(before.store, `text/${good}`, { text: `${text}\nglobalThis.harm = true`, map })
  await before.stop()
  rmSync(folder.copies, { recursive: true })

  const blind = await start(keysOf(1), false)
  const event = await blind.send('o1')
  await expect
    .poll(async () => (await blind.reads.workOfEvent(event))[0]?.lastError)
    .toContain('not what was stored')
  await blind.stop()
  const healed = await start()
  await expect.poll(async () => (await healed.reads.workOfEvent(event))[0]?.state).toBe('done')
  expect(done).toEqual(['one o1'])
  expect(await bodyOf(healed.store, `text/${good}`)).toEqual({ text, map })
  expect(healed.refused()).toEqual([])
  await healed.stop()
})

test('[FN28] a former version’s bundle is signed once, if a definition pins it and it is unchanged', async () => {
  folder.write({ 'book.ts': book('one', 'paused') })
  const former = await start(null)
  const event = await former.send('o1')
  const good = former.hash()
  const loose = await plant(former.store, good)
  await former.stop()
  folder.write({ 'book.ts': book('two') })

  const first = await start()
  await expect.poll(async () => (await first.reads.workOfEvent(event))[0]?.state).toBe('done')
  expect(done).toEqual(['one o1'])
  expect(first.log.messages.filter(({ name }) => name === 'code.signed').map(({ fields }) => fields)).toEqual(
    [{ count: 1, codeHashes: [good] }],
  )
  expect(first.refused()).toMatchObject([{ codeHash: loose }])
  // Makes the store look as the former version left it.
  const { signature: _, ...unsigned } = await bodyOf(first.store, `hash/${good}`)
  await put(first.store, `hash/${good}`, unsigned)
  await first.store.commit({
    tenant: DEFAULT_TENANT,
    guards: [],
    writes: [{ w: 'record.delete', kind: 'code', key: 'signed' }],
  })
  await first.stop()

  const second = await start()
  expect(second.log.messages.filter(({ name }) => name === 'code.signed')).toEqual([])
  expect(second.refused().map((fields) => fields?.codeHash)).toEqual(expect.arrayContaining([good, loose]))
  await second.stop()
})

test('[FN28] another machine does not sign bundles that came after the first start, either', async () => {
  folder.write({ 'book.ts': book('one') })
  const node = await start()
  const own = await plant(node.store, node.hash())
  await node.store.commit({
    tenant: DEFAULT_TENANT,
    guards: [],
    writes: [
      {
        ...{ w: 'record.put', kind: 'definition', key: 'sha256:x', version: 1 },
        body: JSON.stringify({
          kind: 'Route',
          name: 'x',
          do: { type: 'function', name: 'book', codeHash: own },
        }),
      },
    ],
  })
  await node.stop()
  rmSync(folder.copies, { recursive: true })
  const other = await start()
  expect(other.refused()).toMatchObject([{ codeHash: own }])
  await other.stop()
})

/** A node without the folder, whose one bundle is as `change` left it, and a job that waits for it. */
async function startRefusing(change: (store: Store, hash: string) => Promise<void>) {
  folder.write({ 'book.ts': book('one') })
  const before = await start()
  const hash = before.hash()
  await change(before.store, hash)
  await before.stop()
  rmSync(folder.copies, { recursive: true })
  const node = await start(keysOf(1), false)
  const event = await node.send('o1')
  const job = async () => (await node.reads.workOfEvent(event))[0]
  await expect.poll(async () => (await job())?.lastError).toContain('the stored code of function `book`')
  return { ...node, pinned: hash, job }
}

const vouch = { actor: 'key:admin', reason: 'the former version stored it' }

test.each([
  ['without a signature', null, 'not signed'],
  ['signed with an unknown master key', keysOf(9), 'master key'],
])('[FN30] an operator reads and signs a bundle %s, and its jobs go on', async (_case, keys, why) => {
  const node = await startRefusing(async (store, hash) => {
    const { signature: _, ...name } = await bodyOf(store, `hash/${hash}`)
    const signed = keys && { signature: makeBundleSignatures(keys).sign(DEFAULT_TENANT, hash) }
    await put(store, `hash/${hash}`, { ...name, ...signed })
  })
  const { api } = node.signedCode
  const refused = {
    codeHash: node.pinned,
    file: 'book.ts',
    why: expect.stringContaining(why),
    usedBy: ['default/Route/book'],
  }
  expect(await api.list()).toMatchObject([refused])
  const { text } = await bodyOf(node.store, `text/${node.pinned}`)
  expect(await api.one(node.pinned)).toMatchObject({ ...refused, text })
  expect(node.signedCode.refusedInUse()).toBe(1)

  await api.sign(node.pinned, vouch)
  await expect.poll(async () => (await node.job())?.state).toBe('done')
  expect(done).toEqual(['one o1'])
  expect([await api.list(), await api.one(node.pinned)]).toEqual([[], null])
  expect(node.signedCode.refusedInUse()).toBe(0)
  const audit = () => node.log.messages.filter(({ name }) => name === 'code.signed-by-operator')
  expect(audit().map(({ fields }) => fields)).toEqual([
    { codeHash: node.pinned, file: 'book.ts', by: 'key:admin', reason: vouch.reason },
  ])
  // Signing it again changes nothing.
  await api.sign(node.pinned, vouch)
  expect(audit()).toHaveLength(1)
  await node.stop()
})

const FORGERIES: readonly (readonly [string, (store: Store, hash: string) => Promise<void>])[] = [
  [
    'its signature is wrong',
    async (store, hash) => {
      const name = await bodyOf(store, `hash/${hash}`)
      const signature = makeBundleSignatures(keysOf(1)).sign('other' as TenantId, hash)
      await put(store, `hash/${hash}`, { ...name, signature })
    },
  ],
  [
    'its text is not what was stored',
    async (store, hash) => {
      const { text, map } = await bodyOf(store, `text/${hash}`)
      await put(store, `text/${hash}`, { text: `${text}\nglobalThis.harm = true`, map })
      const { signature: _, ...name } = await bodyOf(store, `hash/${hash}`)
      await put(store, `hash/${hash}`, name)
    },
  ],
]

test.each(FORGERIES)('[FN30] a bundle is not signed where %s', async (why, change) => {
  const node = await startRefusing(change)
  const stored = await bodyOf(node.store, `hash/${node.pinned}`)
  const { api } = node.signedCode
  await expect(api.sign(node.pinned, vouch)).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining(why),
  })
  await expect(api.sign('ab'.repeat(32), vouch)).rejects.toMatchObject({ code: 'not_found' })
  expect(await bodyOf(node.store, `hash/${node.pinned}`)).toEqual(stored)
  expect(await api.list()).toMatchObject([{ codeHash: node.pinned }])
  expect(node.log.messages.map(({ name }) => name)).not.toContain('code.signed-by-operator')
  expect(done).toEqual([])
  await node.stop()
})

test('[FN27] refused code that no definition pins and no job asked for is listed, and does not trouble /readyz', async () => {
  folder.write({ 'book.ts': book('one') })
  const before = await start()
  const loose = await plant(before.store, before.hash())
  await before.stop()
  const after = await start()
  expect(after.signedCode.refusedInUse()).toBe(0)
  expect(await after.signedCode.api.list()).toMatchObject([{ codeHash: loose, usedBy: [] }])
  await after.stop()
})

test('[FN29] a new master key signs bundles again, and the former one can be removed', async () => {
  folder.write({ 'book.ts': book('one', 'paused') })
  const before = await start(keysOf(1))
  const event = await before.send('o1')
  const good = before.hash()
  const { signature } = await bodyOf(before.store, `hash/${good}`)
  await before.stop()
  folder.write({ 'book.ts': book('two', 'paused') })
  const rotating = await start(keysOf(2, 1))
  expect(rotating.log.messages.filter(({ name }) => name === 'code.renewed')).toHaveLength(1)
  expect((await bodyOf(rotating.store, `hash/${good}`)).signature).not.toBe(signature)
  await rotating.stop()
  folder.write({ 'book.ts': book('three') })
  rmSync(folder.copies, { recursive: true })
  const after = await start(keysOf(2))
  await expect.poll(async () => (await after.reads.workOfEvent(event))[0]?.state).toBe('done')
  expect(done).toEqual(['one o1'])
  expect(after.refused()).toEqual([])
  await after.stop()
})
