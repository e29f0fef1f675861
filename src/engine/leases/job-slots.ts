// The jobs leased to this node, and the slots they run in: how many run at once, and what happens when a slot becomes free.
//
// A job holds a slot from its start until its settling commit is under way. A job that waits for the commit that inserts it, or for
// the one that settles it, needs none: only bytes and `AHEAD_MAX` limit those.
//
// Invariants: O1 no more jobs are claimed while the slots are full. O2 at most one isolated job (interrupted by two
// crashes) runs at a time, so that a crash is attributed to the job that caused it; jobs interrupted once run in
// parallel. O3 a job leased on insert starts in a free slot of its tenant's share, or waits here for one. O4 while the events of
// the leased jobs exceed the node's byte limit, no further job is leased.

import type { StoredEvent } from '../../core/events/event/index.ts'
import type { TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import { isIsolated, type WorkRow } from '../../core/queue/work/index.ts'
import type { Item } from './leased-job.ts'

export interface JobSlots {
  /** Registers, once, who runs the jobs. */
  serve(worker: SlotWorker): void
  /**
   * Whether a job about to be inserted may be leased: its tenant has a free slot now. It takes the slot when it starts.
   * `beside`: how many jobs of the same event are leased with it. They start together, so each needs a slot of its own; what
   * this node has none for, another node may run at once. `bytes`: the size of its event.
   */
  take(id: WorkId, tenant: TenantId, bytes: number, beside: number): boolean
  /**
   * Takes a slot for a job already leased to this node, even beyond the concurrency; or, by its id, for a job
   * that such a job is about to insert.
   */
  takeAnyway(id?: WorkId): void
  /** A job that only waits gives its slot to others. Returns a function that takes the slot back. */
  lend(tenant: TenantId): () => void
  /** The settling commit of the job is under way: its slot is free for others. */
  settling(item: Item): void
  free(): number
  /** How many jobs a claim may take within the remaining bytes: at least one while there is a slot. */
  roomForBytes(): number
  canRunIsolated(): boolean
  /** A job that `take` or `takeAnyway` expected is not leased to this node. */
  giveBack(id: WorkId): void
  /** Runs a job. One that was leased on insert waits for a slot if none is free. */
  start(item: Item): void
  /** Jobs that wait for a slot are not started any more; they stay leased until the node leaves. */
  stop(): void
  /** Which jobs are leased to this node, or were at any time from now until `stop`. */
  watch(): { holds(row: Pick<WorkRow, 'id' | 'epoch'>): boolean; stop(): void }
  /** Resolves when nothing runs. */
  idle(): Promise<void>
  running(): number
  /** Slots in use or waited for, per tenant; tenants without any are not listed. */
  tenants(): ReadonlyMap<TenantId, number>
}

const LARGE_BYTES = 1_048_576
/** How many jobs beyond the slots may be leased: those that wait for a commit or for a slot. */
const AHEAD_MAX = 2_048
/** The epoch of jobs leased on insert. */
const FIRST_EPOCH = 1

/** A job whose lease on insert was requested and is not confirmed yet. */
interface Expected {
  readonly tenant: TenantId
  readonly bytes: number
}

/** Who runs the jobs. It is made after the slots, which everything that starts jobs needs. */
export interface SlotWorker {
  /**
   * Calls `over` once, whatever happens, and never throws. `hasWaited`: the job waited here for a slot, so what allowed its
   * lease may have changed.
   */
  run(item: Item, hasWaited: boolean, over: () => void): void
  /** How many slots of this node a tenant's jobs leased on insert may take. */
  share(tenant: TenantId): number
  /** A job has left this node. null: a slot is free, or was not used. */
  onFree(item: Item | null): void
}

const NO_WORKER: SlotWorker = {
  run: () => {
    throw new Error('assertion failed: a job started before the slots had a worker')
  },
  share: () => 0,
  onFree() {},
}

export function makeJobSlots(config: {
  readonly concurrency: number
  /** The limit for the events of all leased jobs. */
  readonly runningBytesMax: number
}): JobSlots {
  let worker = NO_WORKER
  const { concurrency } = config
  let taken = 0
  let isStopped = false
  const running = new Set<Item>()
  /** Jobs leased on insert for which there was no slot, oldest first. */
  const waiting = new Map<TenantId, Item[]>()
  /** null: it has a slot already. */
  const expected = new Map<WorkId, Expected | null>()
  const tenants = new Map<TenantId, number>()
  /** All jobs leased by tenant: running, waiting and expected ones, and the bytes of their events. */
  const held = new Map<TenantId, { jobs: number; bytes: number }>()
  const watchers = new Set<Set<string>>()
  let isolatedRunning = 0
  /** Of the events of running and expected jobs. */
  let heldBytes = 0
  /** The expected size of a job: the largest seen recently. Before any was seen, the size of a large one. */
  let expectedBytes = Math.min(LARGE_BYTES, config.runningBytesMax / 8)
  let idlers: (() => void)[] = []

  const count = (tenant: TenantId, by: 1 | -1) => {
    const now = (tenants.get(tenant) ?? 0) + by
    if (now > 0) tenants.set(tenant, now)
    else tenants.delete(tenant)
  }

  const hold = (tenant: TenantId, jobs: 1 | -1, bytes: number) => {
    const one = held.get(tenant) ?? { jobs: 0, bytes: 0 }
    one.jobs += jobs
    one.bytes += jobs * bytes
    heldBytes += jobs * bytes
    if (one.jobs > 0) held.set(tenant, one)
    else held.delete(tenant)
  }

  /** Where other tenants have jobs or may get some, half of what is leased beyond the slots is left to them. */
  const hasItsHalf = (tenant: TenantId): boolean => {
    if (worker.share(tenant) >= concurrency) return false
    const { jobs, bytes } = held.get(tenant) ?? { jobs: 0, bytes: 0 }
    return jobs >= concurrency + AHEAD_MAX / 2 || bytes >= config.runningBytesMax / 2
  }

  const aheadLeft = () => concurrency + AHEAD_MAX - running.size - expected.size

  const note = (id: WorkId, epoch: number) => {
    for (const seen of watchers) seen.add(holdName(id, epoch))
  }

  const forget = (item: Item) => {
    running.delete(item)
    hold(item.work.tenant, -1, bytesOf(item))
  }

  const wakeIdlers = () => {
    if (running.size > 0) return
    const woken = idlers
    idlers = []
    for (const wake of woken) wake()
  }

  const leaveSlot = (item: Item) => {
    if (!item.slot.isHeld) return false
    item.slot.isHeld = false
    taken -= 1
    count(item.work.tenant, -1)
    return true
  }

  const finish = (item: Item) => {
    const wasSlotted = leaveSlot(item)
    forget(item)
    if (isIsolated(item.work)) isolatedRunning -= 1
    if (wasSlotted) serveWaiting()
    worker.onFree(item)
    wakeIdlers()
  }

  const run = (item: Item, hasWaited: boolean) => {
    item.slot.isHeld = true
    worker.run(item, hasWaited, () => finish(item))
  }

  /** The first tenant with a waiting job whose share has room goes to the end of the line. */
  const nextWaiting = (): Item | null => {
    for (const [tenant, items] of waiting) {
      const inUse = (tenants.get(tenant) ?? 0) - items.length
      if (inUse >= worker.share(tenant)) continue
      const item = items.shift() as Item
      waiting.delete(tenant)
      if (items.length > 0) waiting.set(tenant, items)
      return item
    }
    return null
  }

  let isServing = false
  /** Free slots go to waiting jobs first: they are older than what is still in the store. */
  const serveWaiting = () => {
    // A job may end while it starts: the loop goes on, and does not nest.
    if (isServing || waiting.size === 0) return
    isServing = true
    try {
      for (;;) {
        const item = taken < concurrency ? nextWaiting() : null
        if (item === null) break
        taken += 1
        run(item, true)
      }
    } finally {
      isServing = false
    }
  }

  /** A job leased on insert: its place is counted from now on. */
  const startInserted = (item: Item) => {
    const { tenant } = item.work
    const canStart = taken < concurrency && (tenants.get(tenant) ?? 0) < worker.share(tenant)
    if (!canStart && isStopped) return drop(item)
    count(tenant, 1)
    if (canStart) {
      taken += 1
      return run(item, false)
    }
    const line = waiting.get(tenant)
    if (line === undefined) waiting.set(tenant, [item])
    else line.push(item)
  }

  const drop = (item: Item) => {
    forget(item)
    worker.onFree(item)
    wakeIdlers()
  }

  return {
    serve(given) {
      worker = given
    },
    take(id, tenant, bytes, beside) {
      if (heldBytes >= config.runningBytesMax || aheadLeft() <= 0) return false
      if (taken + beside >= concurrency) return false
      if ((tenants.get(tenant) ?? 0) + beside >= worker.share(tenant) || hasItsHalf(tenant)) return false
      expected.set(id, { tenant, bytes })
      hold(tenant, 1, bytes)
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
      taken -= 1
      serveWaiting()
      worker.onFree(null)
      return () => {
        taken += 1
        count(tenant, 1)
      }
    },
    settling(item) {
      if (!leaveSlot(item)) return
      serveWaiting()
      worker.onFree(null)
    },
    free: () =>
      heldBytes >= config.runningBytesMax ? 0 : Math.min(concurrency - taken, Math.max(0, aheadLeft())),
    roomForBytes: () =>
      Math.max(1, Math.floor((config.runningBytesMax - heldBytes) / Math.max(1, expectedBytes))),
    canRunIsolated: () => isolatedRunning === 0,
    giveBack(id) {
      const one = expected.get(id)
      if (!expected.delete(id)) return
      if (one == null) {
        taken -= 1
        serveWaiting()
      } else hold(one.tenant, -1, one.bytes)
      worker.onFree(null)
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
      const { id, epoch, tenant } = item.work
      // A later epoch is a claim: the response to the insert is still missing, and gives back what was taken for it.
      const isInserted = epoch === FIRST_EPOCH && expected.has(id)
      const inserted = isInserted ? (expected.get(id) ?? null) : null
      if (isInserted) expected.delete(id)
      if (inserted !== null) hold(tenant, -1, inserted.bytes)
      running.add(item)
      const bytes = bytesOf(item)
      hold(tenant, 1, bytes)
      // It halves with every smaller job, so that one large event does not slow the claims for long.
      expectedBytes = Math.max(bytes, expectedBytes / 2)
      note(id, epoch)
      if (isIsolated(item.work)) isolatedRunning += 1
      if (inserted !== null) return startInserted(item)
      count(tenant, 1)
      run(item, false)
    },
    stop() {
      isStopped = true
      const left = [...waiting.values()].flat()
      waiting.clear()
      for (const item of left) {
        count(item.work.tenant, -1)
        drop(item)
      }
    },
    idle: () => (running.size === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve))),
    running: () => running.size,
    tenants: () => tenants,
  }
}

/** The size of its event as received; what is derived from it is a small multiple. */
function bytesOf({ event }: Item): number {
  return sizeOf(event)
}

export function sizeOf({ data, headers }: Pick<StoredEvent, 'data' | 'headers'>): number {
  return data.length + headers.length
}

function holdName(id: WorkId, epoch: number): string {
  return `${id} ${epoch}`
}
