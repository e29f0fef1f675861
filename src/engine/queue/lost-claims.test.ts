import { expect, test } from 'vitest'
import type { Incarnation, TenantId } from '../../core/foundation/ids/index.ts'
import { makeLostClaims } from './lost-claims.ts'

const OWNER = 1 as Incarnation
const row = { id: 'wrk_1', owner: OWNER, eventId: 'evt_1', epoch: 1 }

/** A store that leases one job to the node when the test says so. */
function makeWorld() {
  let now = 0
  let isGiven = false
  let looks = 0
  const lostClaims = makeLostClaims({
    store: {
      forTenant: () => ({
        workList: async () => {
          looks += 1
          return { items: isGiven ? [row] : [], nextCursor: null }
        },
        event: async () => ({ id: 'evt_1' }),
      }),
    },
    clock: { monotonic: () => now },
    log: { warn: () => {} },
    jobSlots: { watch: () => ({ holds: () => false, stop: () => {} }) },
    tenants: async () => ['main' as TenantId],
  } as never)
  return {
    lostClaims,
    looks: () => looks,
    give: () => {
      isGiven = true
    },
    pass: (ms: number) => {
      now += ms
    },
  }
}

test('does not look before a response was lost', async () => {
  const { lostClaims, looks } = makeWorld()
  expect(await lostClaims.collect(OWNER)).toEqual([])
  expect(looks()).toBe(0)
})

test('[N12] a job that the server leased after the first look is found by a later one', async () => {
  const { lostClaims, give, pass } = makeWorld()
  lostClaims.suspect()
  expect(await lostClaims.collect(OWNER)).toEqual([])
  give()
  expect(await lostClaims.collect(OWNER)).toEqual([])
  pass(2_000)
  expect(await lostClaims.collect(OWNER)).toHaveLength(1)
})

test('stops looking after the last check', async () => {
  const { lostClaims, looks, pass } = makeWorld()
  lostClaims.suspect()
  for (let second = 0; second < 600; second += 1) {
    await lostClaims.collect(OWNER)
    pass(1_000)
  }
  expect(looks()).toBe(4)
})
