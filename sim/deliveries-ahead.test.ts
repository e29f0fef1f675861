// Many deliveries at once: jobs that a node claimed ahead of the limit of their endpoint meet crashes, pauses and a store that fails.

import { expect, test } from 'vitest'
import type { Bug } from './bug.ts'
import type { StoreKind } from './data.ts'
import { simulate } from './world.ts'

/** Orders come faster than they are delivered. What else goes wrong is what the seed draws. */
const busy: Bug = {
  name: 'busy-endpoints',
  about: 'no bug: so many events that jobs are claimed ahead',
  breaks: [],
  stores: ['memory', 'sqlite'],
  profile: (profile) => ({
    ...profile,
    messages: 250,
    faultsMs: 20_000,
    concurrency: 128,
    keepMs: 0,
    nodes: 1,
    isRemote: false,
  }),
}

test.each<[StoreKind, readonly number[]]>([
  ['memory', [1, 3]],
  ['sqlite', [3]],
])(
  '[DY20] [DY33] no endpoint gets more at once than its limit, and every rule holds for what is claimed ahead, on %s',
  {
    timeout: 300_000,
  },
  async (store, seeds) => {
    let ahead = 0
    let crashes = 0
    for (const seed of seeds) {
      const { violations, counts } = await simulate({ seed, store, bug: busy, hasHooks: true })
      expect({ seed, violations }).toEqual({ seed, violations: [] })
      ahead += counts.hooksAhead
      crashes += counts.crashes
    }
    expect(ahead).toBeGreaterThan(10)
    expect(crashes).toBeGreaterThan(0)
  },
)
