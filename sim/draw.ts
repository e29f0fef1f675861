// What a seed draws when nothing is said of its run: the mixed draw. It is made to meet the rare moment early: runs are short and
// dense, three nodes share the store more often than not, leases are short beside the pauses of processes, and every second run has a
// second tenant with the same names, keys and subjects.
//
// It stands beside `drawProfile`, which the pinned seeds were found with: they draw what they always drew.

import { drawProfile, type Profile } from './faults.ts'
import type { FleetPlan } from './fleet.ts'
import type { Parts } from './parts.ts'
import type { Rng } from './random.ts'
import { KINDS, LANE_KINDS, PACED_KINDS, STOCK_KINDS } from './scenario.ts'

/** `first`: as pinned seeds were found. `sharp`: the mixed draw. */
export type Draw = 'first' | 'sharp'

export const DRAWS: readonly Draw[] = ['first', 'sharp']

/** What a run is about beside the routes. More at once would spread its few messages over too much. */
const ABOUT: Readonly<Record<string, readonly (keyof Parts)[]>> = {
  routes: [],
  cases: ['hasCases'],
  hooks: ['hasHooks'],
  connections: ['hasConnections'],
  casesAndHooks: ['hasCases', 'hasHooks'],
  casesAndConnections: ['hasCases', 'hasConnections'],
  hooksAndConnections: ['hasHooks', 'hasConnections'],
}

const WEIGHTS: Readonly<Record<string, number>> = {
  routes: 40,
  cases: 16,
  hooks: 16,
  connections: 12,
  casesAndHooks: 6,
  casesAndConnections: 5,
  hooksAndConnections: 5,
}

/** What a process asked for before it ended arrives when its successor is there already. */
const SLOW_WIRE = { isRemote: true, commitMs: 600 } as const

export function drawSharp(rng: Rng): Profile {
  const some = (perMille: number, value: () => number) => (rng.chance(perMille) ? value() : 0)
  const {
    kinds: _kinds,
    hasCases: _cases,
    hasHooks: _hooks,
    hasConnections: _connections,
    hasFleet: _fleet,
    hasBus: _bus,
    ...usual
  } = drawProfile(rng.fork('usual'))
  const parts = ABOUT[rng.weighted(WEIGHTS)] ?? []
  const kinds = rng.pick([KINDS, KINDS, LANE_KINDS, PACED_KINDS, STOCK_KINDS])
  const leaseMs = rng.pick([4_000, 10_000])
  const hasFleet = rng.chance(600)
  return {
    ...usual,
    nodes: rng.chance(300) ? 2 : 1,
    isRemote: rng.chance(400),
    faultsMs: rng.between(5, 20) * 1_000,
    messages: rng.between(5, 14),
    leaseMs,
    concurrency: rng.pick([1, 2, 8]),
    pollMs: rng.pick([2_000, 5_000, 15_000]),
    // A start reads some sixty rows: at a higher rate nodes do little else than start.
    slowStore: some(300, () => rng.between(5, 40)),
    unavailable: some(350, () => rng.between(2, 20)),
    indeterminate: some(400, () => rng.between(2, 20)),
    crashAtStore: some(400, () => rng.between(1, 4)),
    crashEveryMs: some(400, () => rng.between(3, 15) * 1_000),
    pauseEveryMs: some(600, () => rng.between(2, 10) * 1_000),
    jumpEveryMs: some(250, () => rng.between(3, 15) * 1_000),
    operatorEveryMs: some(600, () => rng.between(3, 12) * 1_000),
    redefineEveryMs: some(200, () => rng.between(5, 15) * 1_000),
    controlEveryMs: some(300, () => rng.between(2, 10) * 1_000),
    ...(parts.length === 0 && { kinds }),
    ...Object.fromEntries(parts.map((part) => [part, true])),
    ...(hasFleet && { hasFleet, fleet: drawSharpFleet(rng.fork('fleet'), leaseMs) }),
    ...(rng.chance(150) && { hasBus: true }),
    ...(rng.chance(500) && { hasTwin: true }),
    ...(rng.fork('wire').chance(250) && SLOW_WIRE),
  }
}

/** How many come back whenever they end, where several share a store. */
export function drawNodes(rng: Rng): number {
  return Number(rng.weighted({ 2: 25, 3: 65, 4: 10 }))
}

function drawSharpFleet(rng: Rng, leaseMs: number): FleetPlan {
  const some = (perMille: number, value: () => number) => (rng.chance(perMille) ? value() : 0)
  return {
    guestEveryMs: some(250, () => rng.between(4, 15) * 1_000),
    cutEveryMs: some(400, () => rng.between(3, 12) * 1_000),
    failOverEveryMs: some(400, () => rng.between(5, 15) * 1_000),
    awayMsMax: rng.pick([300, 3_000, leaseMs + 2_000]),
    wallDrift: some(400, () => rng.between(1, 100)),
    // Who has a role alone meets nobody in it.
    hasRoles: rng.chance(250),
  }
}
