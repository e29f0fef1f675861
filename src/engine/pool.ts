// The slots of this node: how many items run at once, and what happens when one is free again.
//
// Invariants: O1 no more items are taken while the slots are full. O2 at most one item that a crash left behind runs at a time,
// so that a loss can be told from bad company.

import type { WorkId } from '../core/ids/index.ts'
import type { WorkRow } from '../core/work/index.ts'
import type { Item } from './item.ts'

export interface Pool {
  /** Takes a slot for an item about to be born; false when none is free. */
  take(id: WorkId): boolean
  /** Takes a slot for an item that is in our hands already, even beyond the concurrency. */
  takeAnyway(): void
  free(): number
  canRunAlone(): boolean
  /** Gives back a slot that was taken for a birth and not used. */
  giveBack(id: WorkId): void
  /** Runs an item in a slot taken before. */
  start(item: Item): void
  /** Which items are in our hands, or were at any time from now until `stop`. */
  watch(): { holds(row: Pick<WorkRow, 'id' | 'epoch'>): boolean; stop(): void }
  /** Settles when nothing runs. */
  idle(): Promise<void>
  running(): number
}

/** Items born leased begin with this one. */
const BIRTH_EPOCH = 1

export function makePool(config: {
  readonly concurrency: number
  run(item: Item): Promise<void>
  /** A slot is free again; `alone`: the item was one that a crash left behind. */
  onFree(alone: boolean): void
}): Pool {
  let taken = 0
  const running = new Set<Item>()
  /** Asked to be born in our hands; not yet known whether they were. */
  const expected = new Set<WorkId>()
  const watchers = new Set<Set<string>>()
  let alonesRunning = 0
  let idlers: (() => void)[] = []

  const release = (alone: boolean) => {
    taken -= 1
    config.onFree(alone)
  }

  const note = (id: WorkId, epoch: number) => {
    for (const seen of watchers) seen.add(holdName(id, epoch))
  }

  const finish = (item: Item) => {
    running.delete(item)
    if (item.work.alone) alonesRunning -= 1
    release(item.work.alone)
    if (running.size > 0) return
    const woken = idlers
    idlers = []
    for (const wake of woken) wake()
  }

  return {
    take(id) {
      if (taken >= config.concurrency) return false
      taken += 1
      expected.add(id)
      note(id, BIRTH_EPOCH)
      return true
    },
    takeAnyway() {
      taken += 1
    },
    free: () => config.concurrency - taken,
    canRunAlone: () => alonesRunning === 0,
    giveBack(id) {
      expected.delete(id)
      release(false)
    },
    watch() {
      const seen = new Set<string>()
      for (const id of expected) seen.add(holdName(id, BIRTH_EPOCH))
      for (const { work } of running) seen.add(holdName(work.id, work.epoch))
      watchers.add(seen)
      return {
        holds: ({ id, epoch }) => seen.has(holdName(id, epoch)),
        stop: () => void watchers.delete(seen),
      }
    },
    start(item) {
      running.add(item)
      expected.delete(item.work.id)
      note(item.work.id, item.work.epoch)
      if (item.work.alone) alonesRunning += 1
      config.run(item).then(
        () => finish(item),
        () => finish(item),
      )
    },
    idle: () => (running.size === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve))),
    running: () => running.size,
  }
}

function holdName(id: WorkId, epoch: number): string {
  return `${id} ${epoch}`
}
