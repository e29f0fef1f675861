// The TypeScript of the documents is what a user would put into the folder: each block is a whole file that gives
// definitions without a finding.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { loadTestFolder, makeTestFolder } from '../src/adapters/code-bundle/folder.fixture.ts'
import { hashDocument } from '../src/core/definitions/documents/index.ts'
import { formatFindings } from '../src/definitions/index.ts'

const text = readFileSync(new URL('../docs/functions.md', import.meta.url), 'utf8')
const blocks = [...text.matchAll(/^```(ts|yaml)\n(.*?)^```$/gms)].map(([, info, body]) => ({
  info: String(info),
  body: String(body),
}))

async function load(files: Readonly<Record<string, string>>) {
  using folder = makeTestFolder(files)
  folder.link('zod')
  const { definitions, findings, files: read } = await loadTestFolder(folder)
  expect(findings, formatFindings(findings, read)).toEqual([])
  return definitions.map(({ document }) => document)
}

test.each(blocks.filter(({ info }) => info === 'ts'))(
  'docs/functions.md: a file of definitions',
  async ({ body }) => {
    expect((await load({ 'a.ts': body })).length).toBeGreaterThan(0)
  },
)

test('[FN7] docs/functions.md: the route in YAML is the route in TypeScript', async () => {
  const code = blocks.find(({ body }) => body.includes('hours_to_erp'))?.body ?? ''
  const yaml = blocks.find(({ info }) => info === 'yaml')?.body ?? ''
  const [coded] = await load({ 'a.ts': code })
  const written = await load({
    'a.ts': code.replace(/export default defineRoute[\s\S]*/, ''),
    'b.yaml': yaml,
  })
  // The function's file differs without the route, so its hash does too.
  const unpinned = (document: typeof coded) =>
    JSON.parse(JSON.stringify(document), (key, value) => (key === 'codeHash' ? '' : value))
  expect(written.map(unpinned)).toEqual([unpinned(coded)])
  expect(hashDocument(unpinned(coded))).toBe(hashDocument(unpinned(written[0])))
})
