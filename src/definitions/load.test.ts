import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hasErrors } from './index.ts'
import { compileDefinitions, loadFolder } from './language.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-load-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

const SOURCE = `# Who may send.
kind: Source
name: shop
verify: { scheme: none } # anybody
subject: shop.paid
`
const ROUTE = `kind: Route
name: book
on: shop.paid
retry: gentle
do: { emit: shop.booked }
`

test('each document of a file comes with its own text, comments and all', async () => {
  writeFileSync(join(folder, 'all.yaml'), `---\n${SOURCE}---\n${ROUTE.replace('retry: gentle\n', '')}...\n`)
  const loaded = await loadFolder(folder, { functions: () => null })
  expect(loaded.findings).toEqual([])
  expect(loaded.definitions.map(({ document, authored }) => [document.name, authored])).toEqual([
    ['shop', { path: 'all.yaml', text: SOURCE }],
    ['book', { path: 'all.yaml', text: ROUTE.replace('retry: gentle\n', '') }],
  ])
})

test('a route may name a profile that is already deployed, and the file’s own takes precedence', () => {
  const retry = { profile: 'gentle', attempts: 2, delaysMs: [7] }
  const gentle = { kind: 'Profile', name: 'gentle', description: null, retry } as const
  const known = new Map([['gentle', gentle]])
  const files = [{ path: 'book.yaml', text: ROUTE }]
  const alone = compileDefinitions(files, { functions: () => null })
  expect([hasErrors(alone.findings), alone.documents]).toEqual([true, []])
  const beside = compileDefinitions(files, { functions: () => null, profiles: known })
  expect(beside.findings).toEqual([])
  expect(beside.documents).toMatchObject([{ retry: { attempts: 2, delaysMs: [7] } }])
  const own = `${ROUTE}---\nkind: Profile\nname: gentle\nretry: { attempts: 1 }\n`
  const both = compileDefinitions([{ path: 'a.yaml', text: own }], {
    functions: () => null,
    profiles: known,
  })
  expect(both.documents[0]).toMatchObject({ retry: { attempts: 1, delaysMs: [] } })
})
