// Counts duplicates on the event that came first. The sender of a duplicate gets its response at once: counts collect
// in memory, one number per event, and are written a little later, many events in one commit.
//
// Counts not yet written are lost when the process dies: the number shows roughly how often an event was repeated, and
// no decision depends on it.

import { messageOf } from '../../core/foundation/errors/index.ts'
import type { EventId, TenantId } from '../../core/foundation/ids/index.ts'
import { SECOND } from '../../core/foundation/time/index.ts'
import { type Store, StoreError } from '../../ports/store.ts'
import type { EngineBase } from '../commit/index.ts'

export interface Duplicates {
  note(tenant: TenantId, event: EventId): void
  /** Writes the collected counts; those the store refused stay for the next time. */
  flush(): Promise<void>
  stop(): void
}

const FLUSH_AFTER_MS = SECOND
/** Events per commit: as many as a group of accepts writes. */
const WRITES_MAX = 100
/** Different events that may wait; beyond that, nothing is counted until these are written. */
const GATHERED_MAX = 20_000

export function makeDuplicates(
  deps: Pick<EngineBase, 'clock' | 'log'> & {
    readonly store: Pick<Store, 'commit'>
  },
): Duplicates {
  const { store, clock, log } = deps
  let gathered = new Map<TenantId, Map<EventId, number>>()
  let size = 0
  let missed = 0
  let cancel: (() => void) | null = null
  let isStopped = false
  let flushing: Promise<void> = Promise.resolve()

  const schedule = () => {
    if (!isStopped) cancel ??= clock.after(FLUSH_AFTER_MS, () => void flush())
  }

  const add = (tenant: TenantId, event: EventId, count: number) => {
    let counts = gathered.get(tenant)
    if (counts === undefined) {
      counts = new Map()
      gathered.set(tenant, counts)
    }
    const before = counts.get(event)
    if (before === undefined) {
      if (size >= GATHERED_MAX) {
        missed += count
        return
      }
      size += 1
    }
    counts.set(event, (before ?? 0) + count)
  }

  const write = async (tenant: TenantId, counts: readonly (readonly [EventId, number])[]) => {
    const writes = counts.map(([event, count]) => ({ w: 'event.repeat', event, count }) as const)
    try {
      await store.commit({ tenant, guards: [], writes })
    } catch (error) {
      log.warn('duplicates.not-written', { tenant, events: counts.length, error: messageOf(error) })
      // A count that may have been applied is not written twice.
      if (error instanceof StoreError && error.applied === 'indeterminate') return
      for (const [event, count] of counts) add(tenant, event, count)
      schedule()
    }
  }

  const flushNow = async () => {
    const all = gathered
    gathered = new Map()
    size = 0
    if (missed > 0) log.warn('duplicates.not-counted', { count: missed })
    missed = 0
    for (const [tenant, counts] of all) {
      const entries = [...counts]
      for (let at = 0; at < entries.length; at += WRITES_MAX) {
        await write(tenant, entries.slice(at, at + WRITES_MAX))
      }
    }
  }

  const flush = () => {
    cancel?.()
    cancel = null
    flushing = flushing.then(flushNow)
    return flushing
  }

  return {
    note(tenant, event) {
      add(tenant, event, 1)
      schedule()
    },
    flush,
    stop() {
      isStopped = true
      cancel?.()
      cancel = null
    },
  }
}
