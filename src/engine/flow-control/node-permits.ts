// The tokens that a node drew and did not use yet, by the time that they come. Those that come together are one batch, so that a use costs
// the same whatever the hand holds.
//
// Invariants: PA19 a token leaves the hand once, no sooner than it comes, and not after it was lost. One that could be used once can be from
// then on: what is known of the store's time goes back by the time that an answer took, and whoever was offered a token must not be refused
// it for that.

import type { Instant } from '../../core/foundation/time/index.ts'

/** One token in our hands. */
export interface Token {
  readonly from: Instant
  readonly until: Instant
  /** Names the try of a bucket that was closed; null: it is none. */
  readonly tries: string | null
}

export interface Hand {
  /** How many there are, also those that are still to come. */
  count(): number
  /** How many may be used now. */
  usable(now: Instant): number
  /** null: none may be. */
  use(now: Instant): Token | null
  /** Those of one draw, the first one first. */
  add(tokens: readonly Token[]): void
  giveBack(token: Token): void
  /** Drops what is lost by now; answers how many that were. */
  dropLost(now: Instant): number
  /** Drops all but those of the try. */
  keepTry(tries: string | null): void
  /** When the next comes, and with it those that come so soon after it; null: none is there, or one may be used. */
  nextAt(now: Instant, gatherMs: number): Instant | null
}

interface Batch extends Token {
  count: number
}

export function makeHand(): Hand {
  /** Those before `head` are used up; those from `head` to `coming` may be used, the others come in their order. */
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
      // Those that are lost first stay first.
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
