// The server that holds the data, where it is another machine than the nodes': its connections break, all at once, and at times
// another server takes its place, which has all that was acknowledged.
//
// A call in flight when a connection breaks has an unknown outcome. It may have been applied already; where the server stays it may also be
// applied after the node got the error; where another one takes over it never will be.

import type { VirtualTime } from './clock.ts'

export interface Break {
  /** Before the write that is under way arrives, or after. */
  readonly isBefore: boolean
  /** No server answers for so long, then another one does; null: the server stays. */
  readonly awayMs: number | null
  /** Where it stays: what is under way takes so much longer. */
  readonly lingerMs: number
}

export interface Primary {
  isAway(): boolean
  /** How often another server has taken over: what was on its way to an earlier one does not arrive. */
  term(): number
  /** Of what was under way when the connection broke last. */
  lingerMs(): number
  /** Called when the connection breaks. Answers how to stop. */
  onBreak(listener: () => void): () => void
  /** The connections break while the next write is under way. */
  breakAtNext(how: Break): void
  /** A write is under way, and arrives after so long. */
  asked(beforeMs: number): void
  /** It is there from now on. */
  heal(): void
}

export function makePrimary(deps: {
  readonly time: VirtualTime
  trace(who: string, what: () => string): void
}): Primary {
  const { time, trace } = deps
  const listeners = new Set<() => void>()
  let next: Break | null = null
  let term = 0
  let lingerMs = 0
  let isAway = false

  const breakAll = () => {
    for (const listener of [...listeners]) listener()
  }
  const back = (since: number) => {
    if (!isAway || since !== term) return
    isAway = false
    trace('store', () => 'is back')
  }
  const breakNow = (how: Break) => {
    if (isAway) return
    const { awayMs } = how
    lingerMs = how.lingerMs
    if (awayMs === null) trace('store', () => 'connections break')
    else {
      isAway = true
      term += 1
      const since = term
      trace('store', () => `goes away for ${awayMs} ms`)
      time.after(awayMs, () => back(since))
    }
    breakAll()
  }

  return {
    isAway: () => isAway,
    term: () => term,
    lingerMs: () => lingerMs,
    onBreak(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    breakAtNext(how) {
      next = how
    },
    asked(beforeMs) {
      if (next === null) return
      const how = next
      next = null
      if (how.isBefore) time.after(beforeMs, () => breakNow(how))
      // Its own timer is set after this one.
      else time.after(beforeMs, () => time.after(0, () => breakNow(how)))
    },
    heal() {
      next = null
      back(term)
    },
  }
}
