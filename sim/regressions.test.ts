// Faults that the simulator found, in the engine and now and then in what checks it, each with a seed that shows it when the fix is taken out.

import { describe, expect, test, vi } from 'vitest'
import { NO_PARTS, type Parts } from './parts.ts'
import { simulate } from './world.ts'

// What a run takes depends on who else uses the machine.
vi.setConfig({ testTimeout: 180_000 })

const FOUND: readonly (readonly [rule: string, what: string, seed: number])[] = [
  ['N3', 'a vendor was asked before it had its time, because the wall clock of the node had jumped', 5],
  ['N12', 'work that a lost answer had put into the hands of a node was run by nobody', 6],
  ['N12', 'an item whose decision was refused by a guard stayed leased and was not looked at again', 8],
  ['N12', 'an item stayed leased when the store failed in a read', 41],
  ['N3', 'the probe of one route settled the doubt of another that shared its key', 44],
  ['N3', 'a repeat that was refused released the key, and the doubt about the first call was forgotten', 60],
  ['N12', 'a parked item could not be resolved after another item had settled its entry', 100],
  ['N3', 'a heartbeat cut back the longer lease that a call had been promised', 133],
  ['N6', 'the answer to a replay was thrown away when its dead letter could not be read', 998],
  ['N12', 'an item stayed leased when its lease could not be made long enough for the call', 179],
]

/** The same of runs with subscriptions. */
const FOUND_WITH_HOOKS: readonly (readonly [rule: string, what: string, seed: number])[] = [
  ['N12', 'on a small node of several tenants a consumer was asked once in as many polls as there are', 5],
  ['N3', 'what a repeated commit bore was sent with another time than the next attempt of it had', 32],
]

/** And of runs with connections. */
const FOUND_WITH_CONNECTIONS: readonly (readonly [rule: string, what: string, seed: number])[] = [
  ['N2', 'a rotation that was cut off while its secret was made left its reserve behind', 13],
  ['CX1', 'a function was let in to try a circuit, on a connection that had passed no test', 29],
  ['DR5', 'a call that got no token of its credential kept the try of its bucket for good', 38],
]

/** And of runs with several parts. */
const FOUND_WITH_PARTS: readonly (readonly [
  rule: string,
  what: string,
  seed: number,
  parts: Partial<Parts>,
])[] = [
  [
    'CD3',
    'a refusal that was to wait for a rotation began another one when that had failed meanwhile',
    29,
    { hasCases: true, hasConnections: true, hasFleet: true },
  ],
  [
    'N3',
    'the secret of a rotation was made after its reserve had run out, because a token was got first',
    20_208,
    { hasConnections: true, hasFleet: true },
  ],
  [
    'N5',
    'an admission that a dead node holds ends with its instance, when a person cancels that',
    7_012,
    { hasCases: true, hasHooks: true, hasConnections: true, hasFleet: true },
  ],
  [
    'N8',
    'a step was replayed while a person fired past it, and was left over when the instance had ended',
    2_035,
    { hasCases: true, hasFleet: true, hasBus: true },
  ],
]

test('[FO2] a route that is disabled takes no part in the choice of the first (seed 660820887)', async () => {
  const { violations } = await simulate({
    ...NO_PARTS,
    seed: 660_820_887,
    store: 'memory',
  })
  expect(violations).toEqual([])
})

test('a commit that is repeated while the store fails is no broken one (seed 981772593)', async () => {
  const { violations } = await simulate({
    ...NO_PARTS,
    seed: 981_772_593,
    store: 'sqlite',
    hasCases: true,
  })
  expect(violations).toEqual([])
})

test('[N3] a node that left sends nothing for what it gave away (seed 889492335)', async () => {
  const { violations } = await simulate({ ...NO_PARTS, seed: 889_492_335, store: 'memory' })
  expect(violations).toEqual([])
})

test('[N2] what nothing is dispatched of may be wanted as it is (seed 30073)', async () => {
  expect((await simulate({ seed: 30_073, store: 'memory' })).violations).toEqual([])
})

test('[CD2] an edited copy of a rotation’s event starts no rotation (seed 555000110)', async () => {
  expect((await simulate({ seed: 555_000_110, store: 'memory' })).violations).toEqual([])
})

test('[DR11] an operator’s decision about an effect that never began needs no run (seed 555000136)', async () => {
  expect((await simulate({ seed: 555_000_136, store: 'sqlite' })).violations).toEqual([])
})

test.each(['memory', 'sqlite'] as const)(
  '[N5] a delivery is not sent by a node whose lease ended while its secret was read (seed 777054, %s)',
  async (store) => {
    expect((await simulate({ seed: 777_054, store })).violations).toEqual([])
  },
)

test('[CX1] [DR11] a connection that opened after the reserve sends nothing without its run (seed 900562)', async () => {
  const { violations } = await simulate({ seed: 900_562, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test('a replayed dead letter may be in a batch that waits for a decision (seed 901406)', async () => {
  const { violations } = await simulate({ seed: 901_406, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test('[CX1] a function sends nothing where the first test failed while it waited for tokens (seed 2002940)', async () => {
  const { violations } = await simulate({ seed: 2_002_940, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test('[N6] a rotation counts the call whose node stopped after the reserve had ended (seed 2000882)', async () => {
  const { violations } = await simulate({ seed: 2_000_882, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test('[N12] a rotation whose job an operator cancelled ends even if its secret is set later (seed 2005309)', async () => {
  const { violations } = await simulate({ seed: 2_005_309, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test('[DV13] a route that is disabled says nothing of one of the same name of another tenant (seed 3000019)', async () => {
  const { violations } = await simulate({ seed: 3_000_019, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test('[N2] a step that a leaving node gave back while its call was under way leaves no reserve (seed 3003120)', async () => {
  const { violations } = await simulate({ seed: 3_003_120, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test.each([3_008_375, 3_008_626, 3_010_414, 3_017_483])(
  '[N8] [FI17] a replayed step that is held ends with the firing that an operator fires past (seed %i)',
  async (seed) => {
    expect((await simulate({ seed, store: 'memory', draw: 'sharp' })).violations).toEqual([])
  },
)

test.each([3_005_925, 3_012_970, 3_013_834])(
  '[DR11] a call that a replaced process still makes has the run that its successor ended (seed %i)',
  async (seed) => {
    expect((await simulate({ seed, store: 'memory', draw: 'sharp' })).violations).toEqual([])
  },
)

test.each([
  ['a call that was never sent, after one that was refused', 3_008_427],
  ['a function that is out of time after a refused call', 3_013_097],
])('[DR6] %s uses up an attempt (seed %i)', async (_what, seed) => {
  expect((await simulate({ seed, store: 'memory', draw: 'sharp' })).violations).toEqual([])
})

test('an edited event may name no order (seed 3015197)', async () => {
  const { violations } = await simulate({ seed: 3_015_197, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test.each([3_013_892, 3_017_871])(
  '[PA8] a call that began before the first 429 does not close its host (seed %i)',
  async (seed) => {
    expect((await simulate({ seed, store: 'memory', draw: 'sharp' })).violations).toEqual([])
  },
)

test('[N12] what a guest leaves behind after the last word of an operator is decided too (seed 3009456)', async () => {
  const { violations } = await simulate({ seed: 3_009_456, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test('[FL3] the failure of an edited dead letter is deleted with the copy of its event (seed 3019239)', async () => {
  const { violations } = await simulate({ seed: 3_019_239, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test('[N4] a batch that is called again names its generation in templates too (seed 3023003)', async () => {
  const { violations } = await simulate({ seed: 3_023_003, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test('[N13] what was sent to a bus before it lost its state does not reach it afterwards (seed 4000442)', async () => {
  const { violations } = await simulate({ seed: 4_000_442, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test('[PA12] a drain whose claim got no answer takes nothing more in its slot (seed 4003813)', async () => {
  const { violations } = await simulate({ seed: 4_003_813, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test('[N7] a call of a process that was replaced starts nothing in its lane (seed 4006321)', async () => {
  const { violations } = await simulate({ seed: 4_006_321, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test('[HD6] an instance is not cancelled while a step that was interrupted before is under way (seed 7004342)', async () => {
  const { violations } = await simulate({ seed: 7_004_342, store: 'memory', draw: 'sharp' })
  expect(violations).toEqual([])
})

test('a node that was stopped twice past its lease does not learn that its name is taken (seed 975779627)', async () => {
  const { violations } = await simulate({ ...NO_PARTS, seed: 975_779_627, store: 'memory' })
  expect(violations).toEqual([])
})

test('[N1] a commit that is repeated after the window of its source is answered by its own event (seed 43)', async () => {
  expect((await simulate({ seed: 43, store: 'memory', draw: 'sharp' })).violations).toEqual([])
})

describe.each(['memory', 'sqlite'] as const)('on %s', (store) => {
  test.each(FOUND)('[%s] never again: %s (seed %i)', async (_rule, _what, seed) => {
    expect((await simulate({ seed, store, ...NO_PARTS })).violations).toEqual([])
  })

  test.each(FOUND_WITH_HOOKS)(
    '[%s] never again with subscriptions: %s (seed %i)',
    async (_rule, _what, seed) => {
      const about = { ...NO_PARTS, hasHooks: true }
      expect((await simulate({ seed, store, ...about })).violations).toEqual([])
    },
  )

  test.each(FOUND_WITH_CONNECTIONS)(
    '[%s] never again with connections: %s (seed %i)',
    async (_rule, _what, seed) => {
      const about = { ...NO_PARTS, hasConnections: true }
      expect((await simulate({ seed, store, ...about })).violations).toEqual([])
    },
  )

  test.each(FOUND_WITH_PARTS)(
    '[%s] never again with several parts: %s (seed %i)',
    async (_rule, _what, seed, parts) => {
      expect((await simulate({ seed, store, ...NO_PARTS, ...parts })).violations).toEqual([])
    },
  )
})

test('[N12] a batch that was stored while a renewal was slow is run by its node (seed 80004453)', async () => {
  expect((await simulate({ seed: 80_004_453, store: 'memory', draw: 'keen' })).violations).toEqual([])
})

test('[FO11] a delayed job that an operator retries may run at once (seed 80000579)', async () => {
  expect((await simulate({ seed: 80_000_579, store: 'memory', draw: 'keen' })).violations).toEqual([])
})
