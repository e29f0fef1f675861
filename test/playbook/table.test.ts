// docs/edge-cases.md and the tests of this folder, and those that it names of others, name the same cases.

import { expect, test } from 'vitest'
import { listFiles, read } from '../support/docs.ts'

const FOLDER = 'test/playbook'
const SELF = `${FOLDER}/table.test.ts`

/** Names of the tests of a file, without their rule ids and what a table of values adds to them. */
const namesIn = (path: string) =>
  [...read(path).matchAll(/'(?:\[\w+\] )*edge case: (.+?)(?: \(%s\))?', ?(?:\{[^}]*\}, ?)?\n?\s*async/g)].map(
    ([, name]) => name ?? '',
  )

test('every edge case of the document is a test, and every test is in the document', () => {
  const sections = read('docs/edge-cases.md').split(/^## /m).slice(1)
  const named: string[] = []
  let count = 0
  for (const section of sections) {
    const paths = [...section.matchAll(/\[(test\/\S+\.test\.ts)\]/g)].map(([, path]) => path ?? '')
    const rows = section.split('\n').filter((line) => line.startsWith('| '))
    const written = rows.slice(2).map((row) => row.split('|')[1]?.trim() ?? '')
    expect(written, paths.join()).toEqual(paths.flatMap(namesIn))
    named.push(...paths)
    count += written.length
  }
  const files = listFiles(FOLDER, '.ts').filter((path) => path.endsWith('.test.ts') && path !== SELF)
  expect(named.filter((path) => path.startsWith(`${FOLDER}/`)).toSorted()).toEqual(files)
  expect(count).toBeGreaterThanOrEqual(56)
})
