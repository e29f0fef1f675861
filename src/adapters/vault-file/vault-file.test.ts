import { chmod, link, mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { vaultConformance } from '../../ports/vault.conformance.ts'
import { makeMemoryLog } from '../log-memory/index.ts'
import { findOwnFiles, makeFileVault } from './index.ts'

const made: string[] = []
afterEach(async () => {
  for (const path of made.splice(0)) await rm(path, { recursive: true, force: true })
})

async function makeWorld() {
  const root = await mkdtemp(join(tmpdir(), 'millrace-secrets-'))
  made.push(root)
  const folder = join(root, 'secrets')
  await mkdir(folder)
  let now = 0
  const log = makeMemoryLog()
  const vault = makeFileVault({ folder, clock: { monotonic: () => now }, log })
  return {
    root,
    folder,
    log,
    value: async (file: string, tenant = DEFAULT_TENANT) => vault.resolve(tenant, [{ file }]),
    vault,
    write: (name: string, text: string | Uint8Array) => writeFile(join(folder, name), text),
    pass: (ms: number) => {
      now += ms
    },
  }
}

vaultConformance('files', async () => {
  const { vault, write } = await makeWorld()
  let count = 0
  return {
    vault,
    set: async (value) => {
      count += 1
      await write(`secret-${count}`, `${value}\n`)
      return { file: `secret-${count}` }
    },
    missing: () => ({ file: 'not-there' }),
  }
})

test('[VA13] one line break at the end is not part of the value, and an empty file is not set', async () => {
  const { value, write } = await makeWorld()
  await write('unix', 'a\n')
  await write('windows', 'a\r\n')
  await write('two', 'a\n\n')
  await write('none', 'a')
  await write('empty', '')
  await write('line', '\n')
  expect([await value('unix'), await value('windows'), await value('two'), await value('none')]).toEqual([
    ['a'],
    ['a'],
    ['a\n'],
    ['a'],
  ])
  expect([await value('empty'), await value('line')]).toEqual([[], []])
})

test('[VA13] a changed file is read again, at most once a second', async () => {
  const { value, write, folder, pass } = await makeWorld()
  expect(await value('crm')).toEqual([])
  await write('crm', 'one')
  expect(await value('crm')).toEqual([])
  pass(1_000)
  expect(await value('crm')).toEqual(['one'])
  await write('crm', 'two')
  pass(999)
  expect(await value('crm')).toEqual(['one'])
  pass(1)
  expect(await value('crm')).toEqual(['two'])
  await unlink(join(folder, 'crm'))
  pass(1_000)
  expect(await value('crm')).toEqual([])
})

test('[VA13] links inside the folder are followed, as Kubernetes exchanges all of them at once', async () => {
  const { value, folder, pass } = await makeWorld()
  for (const [at, text] of [
    ['..2026_11_01', 'one'],
    ['..2026_11_02', 'two'],
  ] as const) {
    await mkdir(join(folder, at))
    await writeFile(join(folder, at, 'crm'), text)
  }
  await symlink('..2026_11_01', join(folder, '..data'))
  await symlink('..data/crm', join(folder, 'crm'))
  expect(await value('crm')).toEqual(['one'])
  await symlink('..2026_11_02', join(folder, '..data_tmp'))
  await rename(join(folder, '..data_tmp'), join(folder, '..data'))
  pass(1_000)
  expect(await value('crm')).toEqual(['two'])
})

test('[VA13] nothing outside the folder is read, by any name or link', async () => {
  const { value, folder, root, log } = await makeWorld()
  await writeFile(join(root, 'outside'), 'hidden')
  await mkdir(`${folder}-beside`)
  await writeFile(join(`${folder}-beside`, 'a'), 'hidden')
  await symlink('../outside', join(folder, 'up'))
  await symlink(join(root, 'outside'), join(folder, 'absolute'))
  await symlink(join(`${folder}-beside`, 'a'), join(folder, 'beside'))
  for (const name of [
    '../outside',
    '..',
    '.',
    '/etc/hostname',
    'a/b',
    'up',
    'absolute',
    'beside',
    'a\0b',
    '',
  ])
    expect(await value(name), name).toEqual([])
  expect(log.messages.map(({ fields }) => fields)).toEqual(
    ['up', 'absolute', 'beside'].map((name) => ({
      name,
      reason: 'it links to a place outside of the folder',
    })),
  )
})

test('[VA13] what cannot be a value is not set, and the log says why, once while it lasts', async () => {
  const { value, write, folder, log, pass } = await makeWorld()
  await mkdir(join(folder, 'folder'))
  await write('large', 'x'.repeat(65_537))
  await write('bytes', new Uint8Array([0xff, 0xfe]))
  await symlink('loop', join(folder, 'loop'))
  const names = ['folder', 'large', 'bytes', 'loop']
  for (let round = 0; round < 3; round += 1) {
    for (const name of names) expect(await value(name), name).toEqual([])
    pass(1_000)
  }
  expect(log.messages.map(({ name, fields }) => `${name} ${fields.name}: ${fields.reason}`)).toEqual([
    'vault.file-refused folder: it is not a file',
    'vault.file-refused large: it has more than 65536 bytes',
    'vault.file-refused bytes: it is not text in UTF-8',
    'vault.file-refused loop: the system says ELOOP',
  ])
  await write('large', 'small')
  pass(1_000)
  expect(await value('large')).toEqual(['small'])
  await write('large', 'x'.repeat(65_537))
  pass(1_000)
  expect(await value('large')).toEqual([])
  expect(log.messages).toHaveLength(5)
})

test('[VA13] the folder belongs to the node’s owner: for another tenant nothing is set, nor without a folder', async () => {
  const { value, write, vault } = await makeWorld()
  await write('crm', 'one')
  expect(await value('crm', 'acme' as TenantId)).toEqual([])
  expect(await vault.resolve(DEFAULT_TENANT, [{ env: 'crm' }, { ref: 'crm' }])).toEqual([])
  const none = makeFileVault({ folder: null, clock: { monotonic: () => 0 }, log: makeMemoryLog() })
  expect(await none.resolve(DEFAULT_TENANT, [{ file: 'crm' }])).toEqual([])
})

test('[VA13] missing permission to read the folder is logged', async () => {
  const { value, write, folder, log } = await makeWorld()
  await write('crm', 'one')
  await chmod(join(folder, 'crm'), 0o000)
  const found = await value('crm')
  await chmod(join(folder, 'crm'), 0o600)
  // The superuser can read everything.
  if (process.getuid?.() === 0) expect(found).toEqual(['one'])
  else
    expect([found, log.messages.at(-1)?.fields.reason]).toEqual([
      [],
      'the user that the node runs as may not read it',
    ])
})

describe('[VA22] keys of the node itself', () => {
  async function makeOwn() {
    const { root, folder, log } = await makeWorld()
    const keys = join(root, 'keys')
    await mkdir(keys)
    const own = join(keys, 'admin_key')
    await writeFile(own, 'the admin key')
    await writeFile(join(folder, 'crm'), 'one')
    return { root, folder, log, keys, own }
  }

  test('are not read by name, link, hard link or a path with dots, and the log says why', async () => {
    const { root, folder, log, own } = await makeOwn()
    await writeFile(join(folder, 'master_key'), 'the master key')
    await symlink('master_key', join(folder, 'linked'))
    await link(own, join(folder, 'hard'))
    const ownFiles = [own, join(root, 'keys', '..', 'secrets', 'master_key'), join(root, 'none')]
    const vault = makeFileVault({ folder, ownFiles, clock: { monotonic: () => 0 }, log })
    for (const file of ['master_key', 'linked', 'hard'])
      expect(await vault.resolve(DEFAULT_TENANT, [{ file }]), file).toEqual([])
    expect(await vault.resolve(DEFAULT_TENANT, [{ file: 'crm' }])).toEqual(['one'])
    expect(log.messages.map(({ fields }) => fields.reason)).toEqual(
      Array(3).fill('it holds a key of the node itself'),
    )
  })

  test('are found in the folder by name, through a linked folder, behind a link and as a hard link', async () => {
    const { root, folder, keys, own } = await makeOwn()
    expect(await findOwnFiles(folder, [own, join(root, 'none')])).toEqual([])
    expect(await findOwnFiles(join(root, 'not-there'), [own])).toEqual([])
    const other = join(root, 'other-name')
    await symlink(folder, other)
    const inside = join(other, 'crm')
    // Also one that is created later, and one in a subfolder.
    const later = join(folder, 'admin.key')
    await mkdir(join(folder, 'below'))
    const below = join(folder, 'below', 'master.key')
    expect(await findOwnFiles(folder, [own, inside, later, below])).toEqual([inside, later, below])
    await symlink(own, join(folder, 'linked'))
    expect(await findOwnFiles(folder, [own])).toEqual([own])
    await unlink(join(folder, 'linked'))
    await link(own, join(folder, 'hard'))
    expect(await findOwnFiles(folder, [own])).toEqual([own])
    expect(await findOwnFiles(keys, [own])).toEqual([own])
  })
})
