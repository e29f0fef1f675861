// The slots of this node: how many jobs run at once, and what happens when one becomes free.
//
// Invariants: O1 no more jobs are taken while the slots are full. O2 at most one isolated job (interrupted by two
// crashes) runs at a time, so that a crash is attributed to the job that caused it; jobs interrupted once run in
// parallel. O3 a job leased on insert takes no slot beyond its tenant's share. O4 while the events of running jobs
// exceed the node's byte limit, no further job starts.

import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { isIsolated, type WorkRow } from '../../core/queue/work/index.ts'
import type { Item } from './leased-job.ts'

export interface Pool {
  /** Takes a slot for a job about to be inserted; false if none is free for its tenant. */
  take(id: WorkId, tenant: TenantId): boolean
  /**
   * Takes a slot for a job already leased to this node, even beyond the concurrency; or, by its id, for a job
   * that such a job is about to insert.
   */
  takeAnyway(id?: WorkId): void
  /** A job that only waits gives its slot to others. Returns a function that takes the slot back. */
  lend(tenant: TenantId): () => void
  free(): number
  /** How many jobs a claim may take within the remaining bytes: at least one while there is a slot. */
  roomForBytes(): number
  canRunIsolated(): boolean
  /** Releases a slot that was reserved for a lease on insert and not used. */
  giveBack(id: WorkId): void
  /** Runs a job in a slot taken before. */
  start(item: Item): void
  /** Which jobs are leased to this node, or were at any time from now until `stop`. */
  watch(): { holds(row: Pick<WorkRow, 'id' | 'epoch'>): boolean; stop(): void }
  /** Resolves when nothing runs. */
  idle(): Promise<void>
  running(): number
  /** Slots in use per tenant; tenants without any are not listed. */
  tenants(): ReadonlyMap<TenantId, number>
}

const LARGE_BYTES = 1_048_576

/** The epoch of jobs leased on insert. */
const FIRST_EPOCH = 1

export function makePool(config: {
  readonly concurrency: number
  /** The limit for the events of all running jobs. */
  readonly runningBytesMax: number
  run(item: Item): Promise<void>
  /** How many slots of this node a tenant's jobs leased on insert may take. */
  share(tenant: TenantId): number
  /** A slot is free again. null: it was lent, or not used. */
  onFree(item: Item | null): void
}): Pool {
  let taken = 0
  const running = new Set<Item>()
  /** Jobs whose lease on insert was requested and is not confirmed yet. */
  const expected = new Map<WorkId, TenantId | null>()
  const tenants = new Map<TenantId, number>()
  const watchers = new Set<Set<string>>()
  let isolatedRunning = 0
  let runningBytes = 0
  /** The expected size of a job: the largest seen recently. Before any was seen, the size of a large one. */
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
      note(id, FIRST_EPOCH)
      return true
    },
    takeAnyway(id) {
      taken += 1
      if (id === undefined) return
      expected.set(id, null)
      note(id, FIRST_EPOCH)
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
      for (const id of expected.keys()) seen.add(holdName(id, FIRST_EPOCH))
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
      // It halves with every smaller job, so that one large event does not slow the claims for long.
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

/** The size of its event as received; what is derived from it is a small multiple. */
function bytesOf({ event }: Item): number {
  return event.data.length + event.headers.length
}

function holdName(id: WorkId, epoch: number): string {
  return `${id} ${epoch}`
}
