// Planted bugs are found on SQLite too: of each rule one that may be the first to notice, and all that lie in what the database holds.
// `bugs.test.ts` has all of them on memory; most are planted before the store, where both stores are the same.

import { expect, test } from 'vitest'
import type { Bug } from './bug.ts'
import { BUGS } from './bugs.ts'
import { huntBug, violationsWithout } from './find-bug.ts'

const CANDIDATES = BUGS.filter(({ stores }) => stores === undefined || stores.includes('sqlite'))

function sampleOf(bugs: readonly Bug[]): readonly Bug[] {
  const sample = new Set(bugs.filter(({ data }) => data !== undefined))
  const seen = new Set([...sample].flatMap(({ breaks }) => breaks))
  for (const bug of bugs) {
    if (bug.breaks.every((rule) => seen.has(rule))) continue
    sample.add(bug)
    for (const rule of bug.breaks) seen.add(rule)
  }
  return [...sample]
}

test.each(sampleOf(CANDIDATES).map((bug) => [bug.name, bug] as const))('found: %s', async (_name, bug) => {
  const found = await huntBug(bug, 'sqlite')
  expect(found).not.toBeNull()
  expect(bug.breaks).toContain(found?.rule)
  expect(await violationsWithout(found!.seed, 'sqlite', bug)).toEqual([])
})
