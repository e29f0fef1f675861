// The slots of this node: how many items run at once, and what happens when one is free again.
//
// Invariants: O1 no more items are taken while the slots are full. O2 at most one item that a crash left behind runs at a time,
// so that a loss can be told from bad company.

import type { Item } from './item.ts'

export interface Pool {
  /** Takes a slot for an item about to be born; false when none is free. */
  take(): boolean
  /** Takes a slot for an item that is in our hands already, even beyond the concurrency. */
  takeAnyway(): void
  free(): number
  canRunAlone(): boolean
  /** Gives back a slot that was taken and not used. */
  giveBack(): void
  /** Runs an item in a slot taken before. */
  start(item: Item): void
  /** Settles when nothing runs. */
  idle(): Promise<void>
  running(): number
}

export function makePool(config: {
  readonly concurrency: number
  run(item: Item): Promise<void>
  /** A slot is free again; `alone`: the item was one that a crash left behind. */
  onFree(alone: boolean): void
}): Pool {
  let taken = 0
  let running = 0
  let alonesRunning = 0
  let idlers: (() => void)[] = []

  const release = (alone: boolean) => {
    taken -= 1
    config.onFree(alone)
  }

  const finish = (item: Item) => {
    running -= 1
    if (item.work.alone) alonesRunning -= 1
    release(item.work.alone)
    if (running > 0) return
    const woken = idlers
    idlers = []
    for (const wake of woken) wake()
  }

  return {
    take() {
      if (taken >= config.concurrency) return false
      taken += 1
      return true
    },
    takeAnyway() {
      taken += 1
    },
    free: () => config.concurrency - taken,
    canRunAlone: () => alonesRunning === 0,
    giveBack: () => release(false),
    start(item) {
      running += 1
      if (item.work.alone) alonesRunning += 1
      config.run(item).then(
        () => finish(item),
        () => finish(item),
      )
    },
    idle: () => (running === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve))),
    running: () => running,
  }
}
