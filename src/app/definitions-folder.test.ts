import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeSystemClock } from '../adapters/clock-system/index.ts'
import { makeStaticCode } from '../adapters/code-static/index.ts'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { makeMemoryStore } from '../adapters/store-memory/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import { loadFolder } from '../definitions/language.ts'
import { makeDefinitions } from '../engine/definitions/index.ts'
import { makeRegistry } from '../engine/definitions/registry.ts'
import { heldByApi } from '../engine/webhooks/index.ts'
import {
  applyFolder,
  type FolderDeps,
  findObjections,
  followFolder,
  goneLines,
} from './definitions-folder.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-follow-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const route = (name: string, emits = 'a.done') =>
  `kind: Route\nname: ${name}\non: a.b\ndo: { emit: ${emits} }\n`
const write = (path: string, text: string) => writeFileSync(join(folder, path), text)

function makeFolder(
  store = makeMemoryStore({ now: () => 1_000, defer: (callback) => queueMicrotask(callback) }),
) {
  const registry = makeRegistry({ store })
  const log = makeMemoryLog()
  const definitions = makeDefinitions({
    store,
    registry,
    code: makeStaticCode({}),
    log,
    clock: makeSystemClock(),
    now: () => 1_000,
    wake: () => {},
  })
  const kept: unknown[] = []
  const deps: FolderDeps = {
    owner: 'folder',
    isAlone: true,
    ownFolders: [],
    definitions,
    load: () => loadFolder(folder, { functions: () => null }),
    keepCode: async (code) => {
      kept.push(code)
    },
    heldByApi: (names) => heldByApi(store.forTenant(DEFAULT_TENANT), names),
    vet: async ({ url }) =>
      url.includes('inside')
        ? { ok: false, message: 'it leads to a private address' }
        : { ok: true, ...(url.includes('nowhere') && { warning: 'it could not be looked up' }) },
  }
  const apply = async (owner: FolderDeps['owner'] = 'folder') =>
    applyFolder({ ...deps, owner }, await deps.load())
  const names = async () => (await definitions.list(DEFAULT_TENANT)).map(({ name }) => name)
  return { store, deps, definitions, kept, apply, names }
}

describe('at the start', () => {
  test('[DV5] a definition that is gone from the folder stays deployed and is reported', async () => {
    write('a.yaml', route('a'))
    write('b.yaml', route('b'))
    const first = makeFolder()
    expect((await first.apply()).version).toBe(1)
    expect(first.kept).toHaveLength(1)
    rmSync(join(folder, 'b.yaml'))
    const second = makeFolder(first.store)
    await second.definitions.load()
    expect((await second.apply()).version).toBe(1)
    expect(await second.names()).toEqual(['a', 'b'])
    expect(goneLines(second.deps)).toEqual([
      'Route/b is gone from the folder and stays in force; `millrace apply --prune` removes it',
    ])
  })

  test('[SL21] a forbidden address is refused, except a deployed one; a name that does not resolve is reported', async () => {
    const hook = (name: string, host: string) =>
      `kind: Subscription\nname: ${name}\nurl: https://${host}.example.com/\non: a.b\n`
    write('a.yaml', hook('a', 'inside'))
    write('b.yaml', hook('b', 'nowhere'))
    write('c.yaml', hook('c', 'well'))
    const { deps, apply } = makeFolder()
    const told = await findObjections(deps, await deps.load())
    expect(told).toMatchObject([
      { severity: 'error', rule: 'SL6', file: 'a.yaml', line: 3, message: 'it leads to a private address' },
      { severity: 'warning', file: 'b.yaml', message: 'it could not be looked up' },
    ])
    await apply()
    expect(await findObjections(deps, await deps.load())).toEqual([])
  })

  test('[DV22] a single node without its folder removes the folder’s definitions; one of several does not', async () => {
    write('a.yaml', route('a'))
    const first = makeFolder()
    await first.apply()
    const nothing = { ...(await first.deps.load()), definitions: [] }
    for (const [isAlone, gone] of [
      [false, 0],
      [true, 1],
    ] as const) {
      const { deps } = makeFolder(first.store)
      await applyFolder({ ...deps, owner: 'demo', isAlone }, nothing)
      expect(goneLines(deps)).toHaveLength(gone)
    }
    expect((await first.apply()).version).toBe(1)
    expect(goneLines(first.deps)).toEqual([])
  })

  test('[DV6] the demo is removed when a folder is there, and returns changed with a new version of it', async () => {
    const { apply, names } = makeFolder()
    write('a.yaml', route('demo'))
    await apply('demo')
    rmSync(join(folder, 'a.yaml'))
    write('b.yaml', route('newer_demo'))
    await apply('demo')
    expect(await names()).toEqual(['newer_demo'])
    rmSync(join(folder, 'b.yaml'))
    write('c.yaml', route('own'))
    await apply('folder')
    expect(await names()).toEqual(['own'])
  })

  test('[DV1] nodes that start together agree, whichever is first', async () => {
    write('a.yaml', route('a'))
    const first = makeFolder()
    const second = makeFolder(first.store)
    const versions = await Promise.all([first.apply(), second.apply()])
    expect(versions.map(({ version }) => version)).toEqual([1, 1])
  })
})

test('[KY7] the folder may not change the key of a route without a note, at the start or while it runs', async () => {
  const keyed = (key: string, more = '') => `${route('a')}key: "${key}"\n${more}`
  write('a.yaml', keyed("'A:' + payload.id"))
  const { deps, apply } = makeFolder()
  await apply()
  write('a.yaml', keyed("'A:' + payload.number"))
  const found = await findObjections(deps, await deps.load())
  expect(found).toMatchObject([{ rule: 'KY7', severity: 'error', file: 'a.yaml', line: 5 }])
  expect(await findObjections({ ...deps, owner: 'demo' }, await deps.load())).toEqual([])
  write(
    'a.yaml',
    keyed("'A:' + payload.number", `keyMigration: { from: "'A:' + payload.id", note: both are one }\n`),
  )
  const loaded = await deps.load()
  expect(await findObjections(deps, loaded)).toEqual([])
  const { version } = await applyFolder(deps, loaded)
  const said: string[] = []
  let heard: () => void = () => {}
  const refused = new Promise<void>((resolve) => {
    heard = () => {
      if (said.join('').includes('nothing was applied: version 2 stays in force')) resolve()
    }
  })
  const watch = followFolder(deps, folder, { version, loaded, loadedAt: Date.now() }, (text) => {
    said.push(text)
    heard()
  })
  try {
    write('a.yaml', keyed("'B:' + payload.number"))
    await refused
    expect(said.join('')).toContain('a.yaml:5:6 error KY7')
  } finally {
    await watch.close()
  }
})

test('[SL13] the folder may not use a name that a subscription of the API has', async () => {
  write('a.yaml', 'kind: Subscription\nname: crm\nurl: https://crm.example.com\non: a.b\n')
  const { deps, store } = makeFolder()
  const put = (version: number, document: object | null) =>
    store.commit({
      tenant: DEFAULT_TENANT,
      guards: [],
      writes: [
        { w: 'record.put', kind: 'subscription', key: 'crm', version, body: JSON.stringify({ document }) },
      ],
    })
  expect(await findObjections(deps, await deps.load())).toEqual([])
  // The state of one of the folder's own subscriptions.
  await put(1, null)
  expect(await findObjections(deps, await deps.load())).toEqual([])
  await put(2, { kind: 'Subscription' })
  expect(await findObjections(deps, await deps.load())).toMatchObject([
    { rule: 'SL13', severity: 'error', file: 'a.yaml', line: 2 },
  ])
})

test('[DV20] a change is applied while it runs, and a broken file changes nothing', async () => {
  write('a.yaml', route('a'))
  const { deps, definitions, names } = makeFolder()
  const loaded = await deps.load()
  const { version } = await applyFolder(deps, loaded)
  const said: string[] = []
  let heard: () => void = () => {}
  const watch = followFolder(deps, folder, { version, loaded, loadedAt: Date.now() }, (text) => {
    said.push(text)
    heard()
  })
  const until = (part: string) =>
    new Promise<void>((resolve) => {
      heard = () => {
        if (said.join('').includes(part)) resolve()
      }
      heard()
    })
  try {
    write('b.yaml', route('b'))
    await until('applied version 2: route b added\n')
    write('a.yaml', route('a').replace('do:', 'doo:'))
    await until('nothing was applied: version 2 stays in force\n')
    expect(said.join('')).toContain('a.yaml:4:1 error F12')
    expect(await names()).toEqual(['a', 'b'])
    expect((await definitions.list(DEFAULT_TENANT)).map((item) => item.version)).toEqual([1, 2])
    const own = {
      document: { ...(await definitions.list(DEFAULT_TENANT))[0]!.document, name: 'own' },
      authored: null,
    }
    const said3 = { managedBy: 'api', prune: false, by: 'mona', reason: null } as const
    await definitions.apply(DEFAULT_TENANT, { definitions: [own], ...said3 })
    write('a.yaml', route('a', 'a.changed'))
    await until('applied version 4: route a updated\n')
    expect(said.join('')).not.toContain('version 3')
    rmSync(join(folder, 'b.yaml'))
    await until('Route/b is gone from the folder and stays in force')
  } finally {
    await watch.close()
  }
})
