// Before a job runs: its time limit starts, and the dead letter that it replays is loaded.

import type { Instant } from '../../core/foundation/time/index.ts'
import { deadLetterOf, isUntried } from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { StoreTime } from '../commit/index.ts'
import type { EngineDeps } from '../config.ts'
import type { Item } from './leased-job.ts'

export type BeginJob = (item: Item, route: Route) => Promise<Item>

/** A job that starts this soon after its insert did not wait. */
const AT_ONCE_MS = 1_000

/**
 * The time limit starts with the first attempt; a job that runs on insert has all of it anyway. Nothing else is needed
 * for a job that replays nothing.
 */
export function startTimeLimit(item: Item, route: Route, now: Instant): Item {
  const { work } = item
  // An operator's decision resets the counters but not the key: the time limit started long ago.
  if (now - work.createdAt < AT_ONCE_MS || work.key !== null || !isUntried(work)) return item
  return { ...item, work: { ...work, expiresAt: Math.max(work.expiresAt, now + route.expiresInMs) } }
}

export function makeBeginJob(deps: Pick<EngineDeps, 'store'> & { readonly time: StoreTime }): BeginJob {
  const { store, time } = deps

  /** The dead letter is read once: its key identifies the effect, and the end of the job ends the dead letter. */
  const withDeadLetter = async (item: Item): Promise<Item> => {
    const id = deadLetterOf(item.work)
    const deadLetter = id === null ? null : await store.forTenant(item.work.tenant).deadLetter(id)
    return deadLetter === null ? item : { ...item, deadLetter }
  }

  return async (claimed, route) => {
    const item = startTimeLimit(claimed, route, time.now())
    return item.work.replayOf === null ? item : withDeadLetter(item)
  }
}
