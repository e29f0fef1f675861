import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkFolder, makeFolder } from './create-directories.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-folder-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

test('folders are created with their parents, for their owner only', async () => {
  const deep = join(folder, 'a', 'b', 'c')
  expect(await makeFolder(deep)).toEqual([join(folder, 'a'), join(folder, 'a', 'b'), deep])
  expect(statSync(deep).mode & 0o777).toBe(0o700)
  expect(await makeFolder(deep)).toEqual([])
})

test('a check leaves nothing behind', async () => {
  await checkFolder(join(folder, 'a', 'b'))
  expect(existsSync(join(folder, 'a'))).toBe(false)
})

test('[DU9] it fails at once if no folder can be created', async () => {
  writeFileSync(join(folder, 'file'), '')
  await expect(checkFolder(join(folder, 'file', 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  // Node's recursive `mkdir` tries this one for ever.
  await expect(checkFolder('/proc/nope/a')).rejects.toThrow(/mkdir/)
})
