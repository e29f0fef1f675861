// Where a claim begins to look in the index of ready jobs.
//
// Each claimed job leaves a dead entry there. Vacuum removes it, but not while a session of the server, such as a backup
// or a forgotten transaction, has an older snapshot; until then each claim would read past all of them. A claim that
// read many entries is therefore followed by claims that begin where it ended. Jobs that became ready with an earlier
// due time, because their transaction took long, are found by the next claim that looks through everything: that is one
// after as much time as keeps the reading below a few percent. While claims read little, each one looks through
// everything.

import { joinKey } from '../../core/foundation/text/index.ts'
import type { ClaimRequest } from '../../ports/store.ts'

type Slots = ClaimRequest['slots']

/** Up to this many entries, a claim costs little whatever it takes. */
const READ_FEW = 5_000
/** An entry costs about half a microsecond: a full look of 1.2 million entries takes 0.6 s, and comes once a minute. */
const REST_MS_PER_ENTRY = 0.05

export interface ClaimBounds {
  /** For each slot the earliest due time to look for, or null for all. */
  next(slots: Slots): readonly (number | null)[]
  /** What the claim said about the next one. */
  learn(
    slots: Slots,
    from: readonly (number | null)[],
    last: { readonly nextFrom: readonly unknown[] | null; readonly read: number },
  ): void
}

export function makeClaimBounds(now: () => number = () => performance.now()): ClaimBounds {
  const bounds = new Map<string, number>()
  let restUntil = Number.NEGATIVE_INFINITY
  return {
    next(slots) {
      if (now() >= restUntil) return slots.map(() => null)
      return slots.map(({ tenant, consumer }) => bounds.get(joinKey(tenant, consumer)) ?? null)
    },
    learn(slots, from, { nextFrom, read }) {
      if (read <= READ_FEW && now() >= restUntil) {
        bounds.clear()
        return
      }
      const isFull = from.every((bound) => bound === null)
      if (isFull) restUntil = Math.max(restUntil, now() + read * REST_MS_PER_ENTRY)
      for (const [index, { tenant, consumer }] of slots.entries()) {
        const bound = nextFrom?.[index]
        if (bound !== null && bound !== undefined) bounds.set(joinKey(tenant, consumer), Number(bound))
      }
    },
  }
}
