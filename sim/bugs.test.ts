// Every planted bug is found, by a rule that is about it; and the same seed holds without the bug. Here on memory;
// `bugs.slow.test.ts` has SQLite.

import { expect, test } from 'vitest'
import { BUGS } from './bugs.ts'
import { huntBug, violationsWithout } from './find-bug.ts'

test('there are planted bugs for every rule', () => {
  const rules = new Set(BUGS.flatMap(({ breaks }) => breaks))
  expect([...rules].sort()).toEqual([
    'CD1',
    'CD17',
    'CD2',
    'CD4',
    'CX2',
    'CX31',
    'CX4',
    'CX6',
    'DB1',
    'DB2',
    'DL5',
    'DR11',
    'DR6',
    'DV13',
    'DV9',
    'DY14',
    'DY6',
    'ES2',
    'ES4',
    'FA1',
    'FL12',
    'FL3',
    'FL9',
    'FO11',
    'HK1',
    'IN20',
    'IN21',
    'N1',
    'N10',
    'N11',
    'N12',
    'N13',
    'N2',
    'N3',
    'N4',
    'N5',
    'N6',
    'N7',
    'N8',
    'ND6',
    'ND7',
    'PA12',
    'PA14',
    'PA19',
    'PA25',
    'PA7',
    'PA8',
    'RP4',
    'RP7',
    'RV2',
    'SB16',
    'SC10',
    'SC7',
    'SU15',
  ])
  expect(new Set(BUGS.map(({ name }) => name)).size).toBe(BUGS.length)
})

test.each(BUGS.map((bug) => [bug.name, bug] as const))(
  'found: %s',
  { timeout: 180_000 },
  async (_name, bug) => {
    const found = await huntBug(bug, 'memory')
    expect(found).not.toBeNull()
    expect(bug.breaks).toContain(found?.rule)
    expect(await violationsWithout(found!.seed, 'memory', bug)).toEqual([])
  },
)
