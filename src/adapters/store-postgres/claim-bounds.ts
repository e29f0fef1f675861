// Where a claim begins to look in the index of ready jobs.
//
// Each claimed job leaves a dead entry there. Vacuum removes it, but not while a session of the server, such as a backup
// or a forgotten transaction, has an older snapshot; until then each claim would read past all of them. A claim that
// read many entries is therefore followed by claims that begin where it ended. Jobs that became ready with an earlier
// due time, because their transaction took long, are found by the next claim that looks through everything: that is one
// after as much time as keeps the reading below a few percent, and after a minute at most. While claims read little,
// each one looks through everything.
//
// Each slot has a deadline of its own, which only a full look at this slot extends, and only if that look left none of
// its due jobs behind where it ended. Requests that take nothing (`max: 0`) follow the same rule: they begin at the
// bound, because they are made as often as claims. If a full one finds a due job, it ends before that job: it sets no
// bound, so that the claim after it is a full look too. So neither a claim nor `nextDueAt` misses what is behind the
// bound for longer than the limit.

import { joinKey } from '../../core/foundation/text/index.ts'
import type { ClaimRequest } from '../../ports/store.ts'

type Request = Pick<ClaimRequest, 'slots' | 'codeHashes'>

/** Up to this many entries, a claim costs little whatever it takes. */
const READ_FEW = 5_000
/** An entry costs about half a microsecond: a full look of 1.2 million entries takes 0.6 s, and comes once a minute. */
const REST_MS_PER_ENTRY = 0.05
/** However many entries there are, a job behind the bound waits no longer than this for a full look. */
const REST_MAX_MS = 60_000

export interface ClaimBounds {
  /** For each slot the earliest due time to look for, or null for all. */
  next(request: Request): readonly (number | null)[]
  /** What the claim said about the next one. */
  learn(
    request: Request,
    from: readonly (number | null)[],
    last: { readonly nextFrom: readonly unknown[] | null; readonly read: number },
  ): void
}

export function makeClaimBounds(now: () => number = () => performance.now()): ClaimBounds {
  const bounds = new Map<string, { bound: number; readonly until: number }>()
  /** Jobs that need other code are left behind the bound. */
  let hashes: readonly string[] = []

  const removeExpired = () => {
    for (const [slot, { until }] of bounds) if (now() >= until) bounds.delete(slot)
  }

  return {
    next({ slots, codeHashes }) {
      if (!isSame(hashes, codeHashes)) bounds.clear()
      hashes = codeHashes
      return slots.map(({ tenant, consumer }) => {
        const found = bounds.get(joinKey(tenant, consumer))
        return found !== undefined && now() < found.until ? found.bound : null
      })
    },
    learn({ slots, codeHashes }, from, { nextFrom, read }) {
      if (nextFrom === null || !isSame(hashes, codeHashes)) return
      removeExpired()
      const until = now() + Math.min(REST_MAX_MS, read * REST_MS_PER_ENTRY)
      for (const [index, { tenant, consumer }] of slots.entries()) {
        const slot = joinKey(tenant, consumer)
        const next = nextFrom[index] ?? null
        const began = from[index] ?? null
        const found = bounds.get(slot)
        if (began === null) {
          if (next === null || read <= READ_FEW) bounds.delete(slot)
          else bounds.set(slot, { bound: Number(next), until })
        } else if (next !== null && found?.bound === began) {
          // Unless another claim changed it meanwhile. Jobs that a crash left may be older than the bound.
          found.bound = Math.max(began, Number(next))
        }
      }
    },
  }
}

const isSame = (one: readonly string[], other: readonly string[]) =>
  one === other || (one.length === other.length && one.every((hash, index) => hash === other[index]))
