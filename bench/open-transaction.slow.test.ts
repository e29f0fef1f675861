// The measurement holds a snapshot for as long as it says, under load. What it measures is not judged here.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { measureOpenTransaction, renderOpenTransaction } from './open-transaction.ts'

test('a node is measured without a transaction of another session, and with one', async () => {
  const scratch = await mkdtemp(join(tmpdir(), 'millrace-open-transaction-'))
  try {
    const said: string[] = []
    const measured = await measureOpenTransaction(scratch, {
      perSecond: 40,
      minutes: 0,
      windowSeconds: 1,
      say: (text) => said.push(text),
    })
    const { windows, lowest } = measured
    expect(windows.map(({ isHeld }) => isHeld)).toEqual([false, false, true])
    for (const one of windows) {
      expect(one.refused).toBe(0)
      expect(one.perSecond).toBeGreaterThan(0)
      expect(one.responseP99Ms).toBeGreaterThan(0)
    }
    // The events of the window were accepted and ended since the snapshot: one group for each at least.
    expect(windows.at(-1)?.snapshotAge).toBeGreaterThan(2)
    expect(lowest).toBeGreaterThan(0)
    expect(said).toHaveLength(windows.length)
    expect(renderOpenTransaction(measured)).toContain('40/s for 0 minutes with a transaction open')
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
})
