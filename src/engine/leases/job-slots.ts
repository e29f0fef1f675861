// The slots of this node: how many items run at once, and what happens when one is free again.
//
// Invariants: O1 no more items are taken while the slots are full. O2 at most one isolated job (left behind by two crashes) runs at a
// time, so that a loss can be told from bad company; what one crash left runs in parallel. O3 a birth takes no slot beyond the share of its tenant. O4 while the
// events of running jobs have more bytes than the node may hold, no further job begins.

import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { isIsolated, type WorkRow } from '../../core/queue/work/index.ts'
import type { Item } from './leased-job.ts'

export interface Pool {
  /** Takes a slot for an item about to be born; false when none is free for its tenant. */
  take(id: WorkId, tenant: TenantId): boolean
  /**
   * Takes a slot for an item that is in our hands already, even beyond the concurrency; or, by its id, for one that is about to
   * be born of such.
   */
  takeAnyway(id?: WorkId): void
  /** An item that only waits lends its slot to others. Answers how to take it back. */
  lend(tenant: TenantId): () => void
  free(): number
  /** How many jobs a claim may take for the bytes that are left: at least one while there is a slot. */
  roomForBytes(): number
  canRunIsolated(): boolean
  /** Gives back a slot that was taken for a birth and not used. */
  giveBack(id: WorkId): void
  /** Runs an item in a slot taken before. */
  start(item: Item): void
  /** Which items are in our hands, or were at any time from now until `stop`. */
  watch(): { holds(row: Pick<WorkRow, 'id' | 'epoch'>): boolean; stop(): void }
  /** Settles when nothing runs. */
  idle(): Promise<void>
  running(): number
  /** Slots that each tenant has; those without any are not there. */
  tenants(): ReadonlyMap<TenantId, number>
}

const LARGE_BYTES = 1_048_576

/** Items born leased begin with this one. */
const BIRTH_EPOCH = 1

export function makePool(config: {
  readonly concurrency: number
  /** Of the events of all jobs that run. */
  readonly runningBytesMax: number
  run(item: Item): Promise<void>
  /** How many slots of this node births of a tenant may have. */
  share(tenant: TenantId): number
  /** A slot is free again. null: it was lent, or not used. */
  onFree(item: Item | null): void
}): Pool {
  let taken = 0
  const running = new Set<Item>()
  /** Asked to be born in our hands; not yet known whether they were. */
  const expected = new Map<WorkId, TenantId | null>()
  const tenants = new Map<TenantId, number>()
  const watchers = new Set<Set<string>>()
  let isolatedRunning = 0
  let runningBytes = 0
  /** What a job is expected to weigh: the heaviest of late. Before any was seen, that of a large one. */
  let expectedBytes = Math.min(LARGE_BYTES, config.runningBytesMax / 8)
  let idlers: (() => void)[] = []

  const count = (tenant: TenantId, by: 1 | -1) => {
    const now = (tenants.get(tenant) ?? 0) + by
    if (now > 0) tenants.set(tenant, now)
    else tenants.delete(tenant)
  }

  const release = (item: Item | null) => {
    taken -= 1
    config.onFree(item)
  }

  const note = (id: WorkId, epoch: number) => {
    for (const seen of watchers) seen.add(holdName(id, epoch))
  }

  const finish = (item: Item) => {
    running.delete(item)
    runningBytes -= bytesOf(item)
    if (isIsolated(item.work)) isolatedRunning -= 1
    count(item.work.tenant, -1)
    release(item)
    if (running.size > 0) return
    const woken = idlers
    idlers = []
    for (const wake of woken) wake()
  }

  return {
    take(id, tenant) {
      if (runningBytes >= config.runningBytesMax) return false
      if (taken >= config.concurrency || (tenants.get(tenant) ?? 0) >= config.share(tenant)) return false
      taken += 1
      expected.set(id, tenant)
      count(tenant, 1)
      note(id, BIRTH_EPOCH)
      return true
    },
    takeAnyway(id) {
      taken += 1
      if (id === undefined) return
      expected.set(id, null)
      note(id, BIRTH_EPOCH)
    },
    lend(tenant) {
      count(tenant, -1)
      release(null)
      return () => {
        taken += 1
        count(tenant, 1)
      }
    },
    free: () => (runningBytes >= config.runningBytesMax ? 0 : config.concurrency - taken),
    roomForBytes: () =>
      Math.max(1, Math.floor((config.runningBytesMax - runningBytes) / Math.max(1, expectedBytes))),
    canRunIsolated: () => isolatedRunning === 0,
    giveBack(id) {
      const tenant = expected.get(id) ?? null
      expected.delete(id)
      if (tenant !== null) count(tenant, -1)
      release(null)
    },
    watch() {
      const seen = new Set<string>()
      for (const id of expected.keys()) seen.add(holdName(id, BIRTH_EPOCH))
      for (const { work } of running) seen.add(holdName(work.id, work.epoch))
      watchers.add(seen)
      return {
        holds: ({ id, epoch }) => seen.has(holdName(id, epoch)),
        stop: () => void watchers.delete(seen),
      }
    },
    start(item) {
      running.add(item)
      const bytes = bytesOf(item)
      runningBytes += bytes
      // It halves with every job that is lighter, so that one large event does not slow the claims for long.
      expectedBytes = Math.max(bytes, expectedBytes / 2)
      const counted = expected.get(item.work.id) ?? null
      expected.delete(item.work.id)
      if (counted === null) count(item.work.tenant, 1)
      note(item.work.id, item.work.epoch)
      if (isIsolated(item.work)) isolatedRunning += 1
      config.run(item).then(
        () => finish(item),
        () => finish(item),
      )
    },
    idle: () => (running.size === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve))),
    running: () => running.size,
    tenants: () => tenants,
  }
}

/** Of its event, as it came; what is made of it is a small multiple. */
function bytesOf({ event }: Item): number {
  return event.data.length + event.headers.length
}

function holdName(id: WorkId, epoch: number): string {
  return `${id} ${epoch}`
}
