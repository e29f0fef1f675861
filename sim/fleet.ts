// Nodes of a run that has several: some that always come back, others that are added and leave for good; and what happens to the
// server that they share.

import { ALL_ROLES, ROLES, type Role } from '../src/core/queue/node-role/index.ts'
import type { Rng } from './random.ts'

/** Mean times between, 0: never. */
export interface FleetPlan {
  /** A new node is added, and leaves for good after a while. */
  readonly guestEveryMs: number
  /** Connections to the store break, all at once. */
  readonly cutEveryMs: number
  /** Another server takes the place of the store's. */
  readonly failOverEveryMs: number
  readonly awayMsMax: number
  /** In a thousand: how far a machine's wall clock runs ahead or behind of a second in it. */
  readonly wallDrift: number
  /** Nodes share the roles; otherwise each has all of them. */
  readonly hasRoles: boolean
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
    hasRoles: rng.chance(600),
  }
}

/** Of the nodes that come back, together all; each has at least one. */
export function drawRoles(rng: Rng, nodes: number): readonly ReadonlySet<Role>[] {
  const drawn = Array.from({ length: nodes }, () => new Set(drawSome(rng)))
  for (const role of ROLES) if (!drawn.some((roles) => roles.has(role))) rng.pick(drawn).add(role)
  return drawn
}

export function drawSome(rng: Rng): ReadonlySet<Role> {
  const some = ROLES.filter(() => rng.chance(500))
  return some.length === 0 ? ALL_ROLES : new Set(some)
}
