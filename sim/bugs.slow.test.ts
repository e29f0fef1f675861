// Every bug that can be planted in front of SQLite is found there too.

import { expect, test } from 'vitest'
import { BUGS } from './bugs.ts'
import { huntBug, violationsWithout } from './hunt.ts'

const PLANTED = BUGS.filter(({ stores }) => stores === undefined || stores.includes('sqlite'))

test.each(PLANTED.map((bug) => [bug.name, bug] as const))('found: %s', async (_name, bug) => {
  const found = await huntBug(bug, 'sqlite')
  expect(found).not.toBeNull()
  expect(bug.breaks).toContain(found?.rule)
  expect(await violationsWithout(found!.seed, 'sqlite', bug)).toEqual([])
})
