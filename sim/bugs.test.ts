// Every planted bug is found, by a rule that is about it; and the same seeds hold without the bug.

import { describe, expect, test } from 'vitest'
import { BUGS, type Bug } from './bugs.ts'
import type { StoreKind } from './data.ts'
import { simulate } from './world.ts'

const SEEDS_MAX = 40
const BOTH: readonly StoreKind[] = ['memory', 'sqlite']
const CASES = BUGS.flatMap((bug) => (bug.stores ?? BOTH).map((store) => [bug.name, store, bug] as const))

async function hunt(bug: Bug, store: StoreKind): Promise<{ seed: number; rule: string } | null> {
  for (let seed = 1; seed <= SEEDS_MAX; seed += 1) {
    const [violation] = (await simulate({ seed, store, bug })).violations
    if (violation !== undefined) return { seed, rule: violation.rule }
  }
  return null
}

test('there are planted bugs for every rule', () => {
  const rules = new Set(BUGS.flatMap(({ breaks }) => breaks))
  expect([...rules].sort()).toEqual(['N1', 'N12', 'N2', 'N3', 'N4', 'N5', 'N6'])
})

describe('a planted bug is found:', () => {
  test.each(CASES)('%s on %s', { timeout: 120_000 }, async (_name, store, bug) => {
    const found = await hunt(bug, store)
    expect(found).not.toBeNull()
    expect(bug.breaks).toContain(found?.rule)
    expect((await simulate({ seed: found!.seed, store })).violations).toEqual([])
  })
})
