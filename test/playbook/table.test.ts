// docs/edge-cases.md and the tests of this folder name the same cases.

import { expect, test } from 'vitest'
import { listFiles, read } from '../support/docs.ts'

const FOLDER = 'test/playbook'
const SELF = `${FOLDER}/table.test.ts`

/** Names of the tests of a file, without what a table of values adds to them. */
const namesIn = (path: string) =>
  [...read(path).matchAll(/'edge case: (.+?)(?: \(%s\))?', ?\n?\s*async/g)].map(([, name]) => name ?? '')

test('every edge case of the document is a test, and every test is in the document', () => {
  const sections = read('docs/edge-cases.md').split(/^## /m).slice(1)
  const written = new Map(
    sections.map((section) => {
      const [, path = ''] = /\[(test\/playbook\/\S+\.test\.ts)\]/.exec(section) ?? []
      const rows = section.split('\n').filter((line) => line.startsWith('| '))
      return [path, rows.slice(2).map((row) => row.split('|')[1]?.trim() ?? '')]
    }),
  )
  const files = listFiles(FOLDER, '.ts').filter((path) => path.endsWith('.test.ts') && path !== SELF)
  const tested = new Map(files.map((path) => [path, namesIn(path)]))
  expect([...written.keys()].toSorted()).toEqual(files)
  for (const path of files) expect(written.get(path), path).toEqual(tested.get(path))
  expect([...tested.values()].flat().length).toBeGreaterThanOrEqual(37)
})
