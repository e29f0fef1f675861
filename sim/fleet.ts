// Nodes of a run that has several: some that always come back, others that are added and leave for good; and what happens to the
// server that they share.

import type { Rng } from './random.ts'

/** Mean times between, 0: never. */
export interface FleetPlan {
  /** A node is added that nobody knew, and leaves for good after a while. */
  readonly guestEveryMs: number
  /** Connections to the store break, all at once. */
  readonly cutEveryMs: number
  /** Another server takes the place of the store's. */
  readonly failOverEveryMs: number
  readonly awayMsMax: number
  /** In a thousand: how far a machine's wall clock runs ahead or behind of a second in it. */
  readonly wallDrift: number
}

export const NODES_MAX = 4

export function drawFleet(rng: Rng, leaseMs: number): FleetPlan {
  const some = (perMille: number, value: () => number) => (rng.chance(perMille) ? value() : 0)
  return {
    guestEveryMs: some(600, () => rng.between(5, 30) * 1_000),
    cutEveryMs: some(600, () => rng.between(2, 20) * 1_000),
    failOverEveryMs: some(700, () => rng.between(8, 40) * 1_000),
    awayMsMax: rng.pick([300, 5_000, 2 * leaseMs]),
    wallDrift: some(500, () => rng.between(1, 100)),
  }
}
