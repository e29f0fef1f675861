// Jobs stay on the code that they started with: the real engine on a real store.

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DEFAULT_TENANT, type EventId, type NodeId, type TenantId } from '../../core/foundation/ids/index.ts'
import { compileDefinitions } from '../../definitions/language.ts'
import { ENGINE_DEFAULTS, makeEngine } from '../../engine/index.ts'
import { makeMemoryVault } from '../../engine/secrets/vault.fixture.ts'
import { NO_WAKES } from '../../ports/wakes.ts'
import { RetryableError, TerminalError } from '../../sdk/index.ts'
import { makeSystemClock } from '../clock-system/index.ts'
import { makeCountingEncryption } from '../encryption-local/encryption.fixture.ts'
import { makeMemoryLog } from '../log-memory/index.ts'
import { makeSystemRandom } from '../random-system/index.ts'
import { openSqliteStore } from '../store-sqlite/index.ts'
import { loadTestFolder, makeTestCode, makeTestFolder, type TestFolder } from './folder.fixture.ts'

/** The test answers each call of a function; `wait` returns the next one. */
interface Call {
  readonly version: string
  readonly order: string
  answer(): void
  fail(error: Error): void
}

const DESK = Symbol.for('millrace.test.desk')
let waiting: Call[] = []
let wanted: ((call: Call) => void)[] = []

function wait(): Promise<Call> {
  const call = waiting.shift()
  return call === undefined ? new Promise((resolve) => wanted.push(resolve)) : Promise.resolve(call)
}

Object.assign(globalThis, {
  [DESK]: (version: string, order: string) =>
    new Promise<void>((resolve, reject) => {
      const call: Call = { version, order, answer: resolve, fail: reject }
      const next = wanted.shift()
      if (next === undefined) waiting.push(call)
      else next(call)
    }),
})

const SOURCE = `kind: Source
name: shop
verify: { scheme: none }
subject: shop.paid
event: { id: payload.order }
`

function book(version: string, status = 'active', more = ''): string {
  return `import { defineFunction, defineRoute } from 'millrace'
export const book = defineFunction({
  name: 'book',${more}
  async run({ order }: { order: string }) {
    await (globalThis as any)[Symbol.for('millrace.test.desk')]('${version}', order)
    return { by: '${version}' }
  },
})
export default defineRoute({
  name: 'book', on: 'shop.paid', status: '${status}', retry: { attempts: 3, delays: ['1ms', '1ms'] },
  do: book.with({ order: '{{ payload.order }}' }),
})
`
}

let folder: TestFolder
let process = 0
beforeEach(() => {
  waiting = []
  wanted = []
  folder = makeTestFolder({ 'shop.yaml': SOURCE })
  mkdirSync(folder.copies, { recursive: true })
})
afterEach(() => folder[Symbol.dispose]())

/** A node that knows only what it reads. */
async function start() {
  process += 1
  const store = await openSqliteStore({ file: join(folder.copies, '..', 'millrace.db') })
  const code = makeTestCode(folder)
  const engine = makeEngine(
    {
      encryption: makeCountingEncryption(),
      store,
      clock: makeSystemClock(),
      random: makeSystemRandom(),
      http: {
        send: () => Promise.reject(new Error('nobody is called')),
        vet: async () => ({ ok: true }),
      },
      vault: { resolve: async () => [] },
      secrets: makeMemoryVault(() => 0),
      log: makeMemoryLog(),
      code,
      wakes: NO_WAKES,
      bus: null,
    },
    { ...ENGINE_DEFAULTS, node: `node-${process}` as NodeId, pollMs: 50 },
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
  await code.open({ store, tenant: DEFAULT_TENANT })
  await apply()
  await engine.start()
  return {
    apply,
    code,
    store,
    engine,
    async send(order: string, more: object = {}): Promise<EventId> {
      const body = new TextEncoder().encode(JSON.stringify({ order, ...more }))
      const { eventId } = await engine.accept({ tenant: 'default', source: 'shop', headers: {}, body })
      return eventId
    },
    /** The state of an event's only job, after everything that runs is over. */
    async stop(...events: readonly EventId[]) {
      expect(await engine.drain(10_000)).toEqual({ left: 0 })
      const reads = store.forTenant(DEFAULT_TENANT)
      const items = await Promise.all(events.map((event) => reads.workOfEvent(event)))
      await store[Symbol.asyncDispose]()
      return items.map(([work]) => work?.state)
    },
  }
}

test('[FN15] a job that is retried after its file changed runs the code that it started with', async () => {
  folder.write({ 'book.ts': book('one') })
  const node = await start()
  const first = await node.send('o1')
  const begun = await wait()
  folder.write({ 'book.ts': book('two') })
  await node.apply()
  begun.fail(new RetryableError('busy'))
  const again = await wait()
  expect(again).toMatchObject({ version: 'one', order: 'o1' })
  const second = await node.send('o2')
  const other = await wait()
  expect(other).toMatchObject({ version: 'two', order: 'o2' })
  again.answer()
  other.answer()
  expect(await node.stop(first, second)).toEqual(['done', 'done'])
})

test('[FN14] [FN15] a later process that has only the new file runs the old code from the store', async () => {
  folder.write({ 'book.ts': book('one', 'paused') })
  const before = await start()
  const kept = await before.send('o1')
  expect(await before.stop(kept)).toEqual(['ready'])
  rmSync(folder.copies, { recursive: true })
  folder.write({ 'book.ts': book('two') })

  const after = await start()
  const old = await wait()
  expect(old).toMatchObject({ version: 'one', order: 'o1' })
  old.answer()
  const fresh = await after.send('o2')
  const young = await wait()
  expect(young).toMatchObject({ version: 'two', order: 'o2' })
  young.answer()
  expect(await after.stop(kept, fresh)).toEqual(['done', 'done'])
})

test('[FN20] jobs of a tenant do not run a function that was closed to it meanwhile, whatever its old code declares', async () => {
  const ACME = 'acme' as TenantId
  folder.write({ 'book.ts': book('one', 'active', " tenants: ['acme'],") })
  const { engine, code, store, apply } = await start()
  const route = 'kind: Route\nname: book\non: shop.paid\ndo: { function: book }\n'
  const { documents } = compileDefinitions([{ path: 'a.yaml', text: `${SOURCE}---\n${route}` }], {
    functions: (name) => code.find(name, ACME),
  })
  await engine.apply(ACME, documents)
  const body = new TextEncoder().encode('{"order":"o1"}')
  const { eventId } = await engine.accept({ tenant: ACME, source: 'shop', headers: {}, body })
  const call = await wait()
  call.fail(new TerminalError('no'))
  const reads = store.forTenant(ACME)
  const letters = () => reads.deadLetters({ cursor: null, limit: 10 })
  await expect.poll(async () => (await letters()).items.length).toBe(1)
  const [letter] = (await letters()).items
  expect(letter).toMatchObject({ class: 'validation' })

  folder.write({ 'book.ts': book('two') })
  await apply()
  const decided = { by: 'test', reason: null, force: false }
  await engine.replay(ACME, letter?.id as never, decided)
  await expect.poll(async () => (await reads.workOfEvent(eventId)).at(-1)?.state).toBe('dead')
  expect((await reads.workOfEvent(eventId)).map(({ class: of }) => of)).toEqual(['validation', 'config'])
  expect(waiting).toEqual([])
  await engine.drain(10_000)
  await store[Symbol.asyncDispose]()
})

test('[FN23] a running node learns of the code that another node stored, and of what came between', async () => {
  folder.write({ 'book.ts': book('one') })
  const node = await start()
  const other = makeTestCode(folder)
  await other.open({ store: node.store, tenant: DEFAULT_TENANT })
  const hashes: string[] = []
  for (const version of ['two', 'three']) {
    folder.write({ 'book.ts': book(version) })
    await node.apply()
    hashes.push(node.code.find('book', DEFAULT_TENANT) as string)
  }
  expect(hashes.map((hash) => other.has(hash))).toEqual([false, false])
  await other.learn(hashes.slice(1))
  expect(other.hashes()).toEqual(expect.arrayContaining(hashes))
  expect(hashes.map((hash) => other.has(hash))).toEqual([true, true])
  await node.stop()
})

test('[FN14] stored code that was changed is not run', async () => {
  folder.write({ 'book.ts': book('one') })
  const node = await start()
  const hash = node.code.find('book', DEFAULT_TENANT) as string
  const record = await node.store.forTenant(DEFAULT_TENANT).record('code', `text/${hash}`)
  const { text, map } = JSON.parse(String(record?.body))
  const body = JSON.stringify({ text: `${text}\nglobalThis.harm = true`, map })
  await node.store.commit({
    tenant: DEFAULT_TENANT,
    guards: [],
    writes: [{ w: 'record.put', kind: 'code', key: `text/${hash}`, version: 2, body }],
  })
  const other = makeTestCode(folder)
  await other.open({ store: node.store, tenant: DEFAULT_TENANT })
  expect(other.hashes()).toContain(hash)
  expect(await other.run(hash, 'book', null, {} as never)).toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('not what was stored'),
  })
  await node.stop()
})

test('[FN22] a function that changes its input changes it for no other job, whichever runs first', async () => {
  const route = (name: string, input: string) => `
export const ${name} = defineFunction({
  name: '${name}',
  async run(input: any) {
    const lines = input.lines ?? input
    lines.push('${name}')
    await (globalThis as any)[Symbol.for('millrace.test.desk')]('${name}', lines.join())
    return null
  },
})
export const route_${name} = defineRoute({
  name: '${name}', on: 'shop.paid', key: "'${name}:' + payload.order", do: ${name}.with(${input}),
})
`
  folder.write({
    'two.ts': `import { defineFunction, defineRoute } from 'millrace'
${route('whole', "'{{ payload.lines }}'")}${route('part', "{ lines: '{{ payload.lines }}' }")}${route('late', "'{{ payload.lines }}'")}`,
  })
  const node = await start()
  const eventId = await node.send('o1', { lines: ['first'] })
  for (let call = 0; call < 3; call += 1) {
    const { version, order, answer } = await wait()
    expect(order).toBe(`first,${version}`)
    answer()
  }
  const works = await node.store.forTenant(DEFAULT_TENANT).workOfEvent(eventId)
  expect(works.map(({ consumer }) => consumer).sort()).toEqual(['route:late', 'route:part', 'route:whole'])
  await node.stop()
})
