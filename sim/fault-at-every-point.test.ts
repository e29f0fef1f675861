import { expect, test } from 'vitest'
import { runScript, tryEverywhere } from './fault-at-every-point.ts'
import type { Mishap } from './faults.ts'

// Here on memory, and the worst two; `fault-at-every-point.slow.test.ts` has all of them, on both stores, and twice.
test.each<Mishap>(['crash-after', 'unanswered'])(
  '[N1] [N2] [N3] [N4] [N5] [N6] [N12] every point of a run survives: %s',
  { timeout: 120_000 },
  async (mishap) => {
    // Each at every fourth point, and the one between those of the other.
    const share = { every: 4, from: mishap === 'unanswered' ? 2 : 0 }
    const { points, runs, crashes, failures } = await tryEverywhere('memory', mishap, false, share)
    expect(failures).toEqual([])
    expect(points).toBeGreaterThan(100)
    // The last operations are asked for when the run is over.
    if (mishap.startsWith('crash')) expect(crashes).toBeGreaterThan(runs - 10)
  },
)

// The same of workflows, a share of the points; the slow ones take others, and the command all of them.
test('[N2] [N3] [N8] [N12] workflows survive a crash at every eighth point', {
  timeout: 120_000,
}, async () => {
  const { runs, failures } = await tryEverywhere(
    'memory',
    'crash-after',
    false,
    { every: 8, from: 3 },
    'cases',
  )
  expect(failures).toEqual([])
  expect(runs).toBeGreaterThan(20)
})

// And of connections whose secrets are replaced meanwhile.
test('[N2] [N3] [N12] [CD1] [CD14] rotations survive a crash at every ninth point', {
  timeout: 120_000,
}, async () => {
  const share = { every: 9, from: 4 }
  const { runs, failures } = await tryEverywhere('memory', 'crash-after', false, share, 'connections')
  expect(failures).toEqual([])
  expect(runs).toBeGreaterThan(20)
})

test('the scenario of connections meets what a mishap can spoil', async () => {
  const { report } = await runScript('memory', new Map(), 'connections')
  const { connectionCalls, runs, rotations, rotated, verifications, refreshes } = report.counts
  expect(report.violations).toEqual([])
  for (const count of [connectionCalls, runs, rotations, rotated, verifications, refreshes]) {
    expect(count).toBeGreaterThan(0)
  }
})

test('the scenario of workflows meets what a mishap can spoil', async () => {
  const { report } = await runScript('memory', new Map(), 'cases')
  const { instances, firings, rolledBack, undone, buffered, admitted, children } = report.counts
  expect(report.violations).toEqual([])
  for (const count of [instances, firings, rolledBack, undone, buffered, admitted, children]) {
    expect(count).toBeGreaterThan(0)
  }
})

test('the scenario meets what a mishap can spoil', async () => {
  const { report } = await runScript('memory', new Map())
  const { effects, probes, parked, skipped, deadLetters, secondSends, replays, resolved } = report.counts
  for (const count of [effects, probes, parked, skipped, deadLetters, secondSends, replays, resolved]) {
    expect(count).toBeGreaterThan(0)
  }
})
