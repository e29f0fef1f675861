// The rate permits that a node acquired and has not used yet, by the time they become valid. Permits that become valid
// together are one batch, so that a use costs the same however many there are.
//
// Invariants: PA19 a permit is used once, no sooner than it is valid, and not after it expired. A permit that could be
// used once can be used from then on: the known store time goes back by the latency of a response, and a caller that
// was offered a permit must not be refused for that.

import type { Instant } from '../../core/foundation/time/index.ts'

/** One permit held by this node. */
export interface Token {
  readonly from: Instant
  readonly until: Instant
  /** Names the probe of a closed bucket; null: it is none. */
  readonly tries: string | null
}

export interface NodePermits {
  /** How many there are, including those not valid yet. */
  count(): number
  /** How many may be used now. */
  usable(now: Instant): number
  /** null: none may be. */
  use(now: Instant): Token | null
  /** Permits of one request, the first one first. */
  add(tokens: readonly Token[]): void
  giveBack(token: Token): void
  /** Drops expired permits; returns how many there were. */
  dropLost(now: Instant): number
  /** Drops all but those of the probe. */
  keepTry(tries: string | null): void
  /** When the next becomes valid, together with those shortly after it; null: there is none, or one may be used. */
  nextAt(now: Instant, gatherMs: number): Instant | null
}

interface Batch extends Token {
  count: number
}

export function makeNodePermits(): NodePermits {
  /** Batches before `head` are used up; those from `head` to `coming` may be used, the others become valid in order. */
  let batches: Batch[] = []
  let head = 0
  let coming = 0
  let usableCount = 0
  let total = 0

  const leaveHead = (count: number) => {
    const batch = batches[head]
    if (batch === undefined) return
    batch.count -= count
    total -= count
    if (head < coming) usableCount -= count
    if (batch.count > 0) return
    head += 1
    coming = Math.max(coming, head)
    if (head < batches.length) return
    batches = []
    head = 0
    coming = 0
  }

  const arrive = (now: Instant) => {
    for (let batch = batches[coming]; batch !== undefined && batch.from <= now; batch = batches[coming]) {
      usableCount += batch.count
      coming += 1
    }
  }

  const add = (tokens: readonly Token[]) => {
    for (const { from, until, tries } of tokens) {
      const last = batches.length > coming ? batches.at(-1) : undefined
      if (last?.from === from && last.until === until && last.tries === tries) last.count += 1
      else batches.push({ from, until, tries, count: 1 })
      total += 1
    }
  }

  return {
    count: () => total,
    usable(now) {
      arrive(now)
      return usableCount
    },
    use(now) {
      arrive(now)
      const batch = batches[head]
      if (batch === undefined || head >= coming || batch.until <= now) return null
      const { from, until, tries } = batch
      leaveHead(1)
      return { from, until, tries }
    },
    add,
    giveBack(token) {
      // Sorted by expiry.
      let place = head
      for (let batch = batches[place]; batch !== undefined && place < coming; batch = batches[place]) {
        if (batch.until >= token.until) break
        place += 1
      }
      const beside = place < coming ? batches[place] : undefined
      if (beside?.until === token.until && beside.tries === token.tries) beside.count += 1
      else if (place === head && head > 0) {
        head -= 1
        batches[head] = { ...token, count: 1 }
      } else {
        batches.splice(place, 0, { ...token, count: 1 })
        coming += 1
      }
      usableCount += 1
      total += 1
    },
    dropLost(now) {
      const before = total
      for (let batch = batches[head]; batch !== undefined && batch.until <= now; batch = batches[head])
        leaveHead(batch.count)
      return before - total
    },
    keepTry(tries) {
      if (total === 0) return
      const isKept = (batch: Batch) => batch.count > 0 && batch.tries !== null && batch.tries === tries
      const usableOnes = batches.slice(head, coming).filter(isKept)
      const others = batches.slice(coming).filter(isKept)
      batches = [...usableOnes, ...others]
      head = 0
      coming = usableOnes.length
      usableCount = countOf(usableOnes)
      total = usableCount + countOf(others)
    },
    nextAt(now, gatherMs) {
      arrive(now)
      const first = batches[coming]
      if (usableCount > 0 || first === undefined) return null
      let last = first
      for (let place = coming + 1; place < batches.length; place += 1) {
        const batch = batches[place]
        if (batch === undefined || batch.from > first.from + gatherMs) break
        last = batch
      }
      return last.from
    },
  }
}

function countOf(batches: readonly Batch[]): number {
  return batches.reduce((sum, { count }) => sum + count, 0)
}
