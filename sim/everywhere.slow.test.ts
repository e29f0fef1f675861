// One thing goes wrong at every point, on SQLite too, and a second time in the middle of the recovery.

import { describe, expect, test } from 'vitest'
import { tryEverywhere } from './everywhere.ts'
import { MISHAPS } from './faults.ts'

describe.each(MISHAPS)('[N1] [N2] [N3] [N4] [N5] [N6] [N12] every point of a run survives %s', (mishap) => {
  test.each([
    ['memory', false],
    ['sqlite', false],
    ['memory', true],
    ['sqlite', true],
  ] as const)('on %s (twice: %s)', async (store, twice) => {
    expect((await tryEverywhere(store, mishap, twice)).failures).toEqual([])
  })
})
