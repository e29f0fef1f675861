// One thing goes wrong at every point, on SQLite too, and a second time in the middle of the recovery. Beyond memory and once,
// each mishap takes its share of the points, and another share than its neighbour; `npm run sim -- --crash-everywhere` takes
// all of them.

import { describe, expect, test } from 'vitest'
import { tryEverywhere } from './fault-at-every-point.ts'
import { MISHAPS } from './faults.ts'

/** A share that came out empty would show nothing. */
const RUNS_MIN = 8
/** `fault-at-every-point.test.ts` has these two on memory and once. */
const ELSEWHERE: readonly string[] = ['crash-after', 'unanswered']

describe.each(MISHAPS)('[N1] [N2] [N3] [N4] [N5] [N6] [N12] every point of a run survives %s', (mishap) => {
  test.each([
    ...(ELSEWHERE.includes(mishap) ? [] : [['memory', false, 8] as const]),
    ['sqlite', false, 32],
    ['memory', true, 24],
    ['sqlite', true, 40],
  ] as const)('on %s (twice: %s, one point of %i)', async (store, twice, every) => {
    const { runs, failures } = await tryEverywhere(store, mishap, twice, {
      every,
      from: MISHAPS.indexOf(mishap),
    })
    expect(failures).toEqual([])
    expect(runs).toBeGreaterThan(RUNS_MIN)
  })

  test('on memory, of workflows', async () => {
    const share = { every: 10, from: MISHAPS.indexOf(mishap) * 2 }
    const { runs, failures } = await tryEverywhere('memory', mishap, false, share, 'cases')
    expect(failures).toEqual([])
    expect(runs).toBeGreaterThan(RUNS_MIN)
  })

  test('on memory, of connections', async () => {
    const share = { every: 9, from: MISHAPS.indexOf(mishap) }
    const { runs, failures } = await tryEverywhere('memory', mishap, false, share, 'connections')
    expect(failures).toEqual([])
    expect(runs).toBeGreaterThan(RUNS_MIN)
  })
})
