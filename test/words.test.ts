// Words that users no longer read: each had a plainer one. Pages of docs that still use one are listed until they are rewritten.

import { expect, test } from 'vitest'
import { docs, listFiles, read } from './support/docs.ts'

const AVOIDED: Readonly<Record<string, string>> = {
  anew: 'again',
  anybody: 'anyone, or a named role',
  eldest: 'oldest',
  everybody: 'anyone, or a named role',
  'in force': 'deployed',
  'in vain': 'failed',
  'mend(s|ed)?': 'fix',
  nobody: 'name who does not act, or use the passive',
  somebody: 'a user, an operator, a sender',
  'a person': 'a user, an operator',
  stray: 'lost claim',
  whoever: 'the user, the caller, anyone who',
}

const NOT_YET = [
  'api-reference',
  'cloudevents',
  'connectors',
  'definitions',
  'definitions-reference',
  'logs',
  'postgresql',
  'routes',
  'workflows',
].map((name) => `docs/${name}.md`)

/** What is wrong in the lines of a text. */
function faultsOf(path: string, lines: readonly string[]): readonly string[] {
  return lines.flatMap((line, index) =>
    Object.entries(AVOIDED)
      .filter(([word]) => new RegExp(`\\b${word}\\b`, 'i').test(line))
      .map(([word, better]) => `${path}:${index + 1} says ${word}: ${better}`),
  )
}

const pages = docs.filter(({ path }) => path === 'README.md' || /^docs\/[^/]+\.md$/.test(path))

test('the guides use plain words', () => {
  const checked = pages.filter(({ path }) => !NOT_YET.includes(path))
  expect(checked.length).toBeGreaterThan(30)
  expect(checked.flatMap(({ path, prose }) => faultsOf(path, prose))).toEqual([])
})

test('a page that is rewritten leaves the list', () => {
  const done = NOT_YET.filter(
    (path) => faultsOf(path, pages.find((one) => one.path === path)?.prose ?? []).length === 0,
  )
  expect(done).toEqual([])
})

test('commands and errors use plain words', () => {
  const paths = [...listFiles('src/cli', '.ts'), 'src/core/foundation/errors/errors.ts']
  const spoken = paths.filter((path) => !/\.(test|fixture)\.ts$/.test(path))
  expect(spoken.length).toBeGreaterThan(40)
  // Comments are for developers.
  const faults = spoken.flatMap((path) =>
    faultsOf(
      path,
      read(path)
        .split('\n')
        .map((line) => (/^\s*(\/\/|\/?\*)/.test(line) ? '' : line)),
    ),
  )
  expect(faults).toEqual([])
})

test('an avoided word is found', () => {
  expect(faultsOf('a.md', ['Nobody mended it.', 'It is recommended.'])).toEqual([
    'a.md:1 says mend(s|ed)?: fix',
    'a.md:1 says nobody: name who does not act, or use the passive',
  ])
})
