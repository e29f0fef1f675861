import { copyFileSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeMemoryStore } from '../adapters/store-memory/index.ts'
import { makeMasterKeys } from '../core/secrets/index.ts'
import { findPause } from './data-owner.ts'

const OWN = new Uint8Array(32).fill(1)
const OTHER = new Uint8Array(32).fill(2)

let folder: string
let file: string
let store: ReturnType<typeof makeMemoryStore>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-home-'))
  file = join(folder, 'millrace.db')
  writeFileSync(file, 'rows')
  store = makeMemoryStore({ now: () => 1_000, defer: (callback) => queueMicrotask(callback) })
})

afterEach(() => rmSync(folder, { recursive: true }))

/** A file system's clock has a resolution of milliseconds: files created within one look the same. */
function copyLater(from: string, to: string): void {
  const bornAt = (path: string) => statSync(path, { bigint: true }).birthtimeNs
  do {
    rmSync(to, { force: true })
    copyFileSync(from, to)
  } while (bornAt(to) === bornAt(from) && bornAt(to) !== 0n)
}

const look = (over: { file?: string | null; key?: Uint8Array; old?: Uint8Array[]; confirm?: string } = {}) =>
  findPause({
    store,
    keys: makeMasterKeys(over.key ?? OWN, over.old),
    file: over.file === undefined ? file : over.file,
    confirm: over.confirm ?? null,
  })

test('[DU7] a restart, a rename and a store without a file do not pause the node', async () => {
  expect(await look()).toBeNull()
  expect(await look()).toBeNull()
  const renamed = join(folder, 'renamed.db')
  renameSync(file, renamed)
  expect(await look({ file: renamed })).toBeNull()
  expect(await look({ file: null })).toBeNull()
  expect(await look({ file: null })).toBeNull()
})

test('[DU7] a copied file pauses the node, also after the original is gone', async () => {
  await look()
  const copy = join(folder, 'copy.db')
  copyLater(file, copy)
  expect(await look({ file: copy })).toMatchObject({
    reasons: [expect.stringContaining(`${copy} is a copy of the file`)],
    isConfirmed: false,
  })
  rmSync(file)
  renameSync(copy, file)
  expect(await look()).not.toBeNull()
})

test('[DU7] a master key that the data does not know pauses the node; if it was an old key of the data, it does not', async () => {
  await look()
  expect(await look({ key: OTHER })).toMatchObject({
    reasons: [expect.stringContaining('MILLRACE_MASTER_KEYS_OLD')],
  })
  expect(await look({ key: OTHER, old: [OWN] })).toBeNull()
  // The data belongs to that key from then on.
  expect(await look({ key: OTHER })).toBeNull()
  expect(await look({ key: OWN })).not.toBeNull()
})

test('[DU8] a confirmation counts for what was found, and for nothing later', async () => {
  await look()
  const copy = join(folder, 'copy.db')
  copyLater(file, copy)
  const paused = await look({ file: copy, key: OTHER })
  expect(paused?.reasons).toHaveLength(2)
  const confirm = paused?.confirm ?? ''
  expect(await look({ file: copy, confirm: '00000000' })).toMatchObject({ isConfirmed: false })
  expect(await look({ file: copy, key: OTHER, confirm })).toMatchObject({ isConfirmed: true })
  expect(await look({ file: copy, key: OTHER })).toBeNull()
  const next = join(folder, 'next.db')
  copyLater(copy, next)
  expect(await look({ file: next, key: OTHER, confirm })).toMatchObject({ isConfirmed: false })
})
