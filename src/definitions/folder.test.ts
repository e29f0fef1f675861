import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readFolder, readTestFiles } from './language.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-folder-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

function write(path: string, text: string) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

test('reads the definitions of a folder in a fixed order, and nothing else', async () => {
  write('b.yml', 'b')
  write('a/z.json', '{}')
  write('a.yaml', 'a')
  write('B.YAML', 'B')
  write('notes.md', '')
  write('functions.ts', '')
  write('.hidden/x.yaml', '')
  write('.x.yaml', '')
  write('node_modules/p/x.json', '')
  symlinkSync(join(folder, 'a.yaml'), join(folder, 'link.yaml'))
  expect(await readFolder(folder)).toEqual([
    { path: 'B.YAML', text: 'B' },
    { path: 'a.yaml', text: 'a' },
    { path: 'a/z.json', text: '{}' },
    { path: 'b.yml', text: 'b' },
  ])
})

test('[FT8] tests are not definitions, and a file of definitions that is named like one stays what it was', async () => {
  write('orders.test.yaml', '- name: a\n  send: { subject: a.b, data: { kind: Route } }\n')
  write('deep/one.test.yml', 'name: b\n')
  write('former.test.yaml', '# ours\nkind: Route\nname: former\n')
  write('orders.yaml', 'kind: Route')
  expect((await readFolder(folder)).map(({ path }) => path)).toEqual(['former.test.yaml', 'orders.yaml'])
  expect((await readTestFiles(folder)).map(({ path }) => path)).toEqual([
    'deep/one.test.yml',
    'orders.test.yaml',
  ])
})

test('files, their number and the depth are bounded', async () => {
  write('big.yaml', ' '.repeat(1024 * 1024 + 1))
  await expect(readFolder(folder)).rejects.toThrow('big.yaml has more than 1048576 bytes')
  rmSync(join(folder, 'big.yaml'))
  write(`${'d/'.repeat(10)}x.yaml`, '')
  await expect(readFolder(folder)).rejects.toThrow('nested deeper than 8 folders')
  rmSync(join(folder, 'd'), { recursive: true })
  for (let index = 0; index <= 1_000; index++) write(`${index}.yaml`, '')
  await expect(readFolder(folder)).rejects.toThrow('more than 1000 files')
})
