// Cancels the remaining deliveries of removed subscriptions: in the background, a bounded number at a time.
//
// A subscription that the API removed leaves a marker until nothing is left. By the marker the next node that starts continues,
// and no other subscription of the same name can be created whose endpoint would get deliveries of the former one. For a
// subscription of definitions, a start goes by its record.
//
// Invariants: SU7 no delivery of a removed subscription stays open. SU8 a crash loses none of it: every cancellation is its own
// commit, and the marker is removed last. SU25 another subscription of the same name is left alone: none can be created while
// the marker exists, so only what was read before the marker was seen to exist is cancelled or deleted.

import { messageOf } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { MINUTE, SECOND } from '../../../core/foundation/time/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'
import { SUBSCRIPTION_PREFIX } from '../../../core/webhooks/subscription/index.ts'
import { type Page, StoreError } from '../../../ports/store.ts'
import type { Commits } from '../../commit/index.ts'
import type { EngineDeps } from '../../config.ts'
import type { Registry } from '../../definitions/index.ts'
import { cancelled, type Settler } from '../../settlement/index.ts'
import { SUBSCRIPTION_GONE } from '../deliveries/index.ts'
import type { SigningSecrets } from './signing-secrets.ts'
import { endRemoval, type RemovalMark, readRemoval, readRemovals } from './subscription-records.ts'

export interface Removals {
  /** `isKeeper`: continues what other nodes left. */
  start(hasScheduleRole: boolean): void
  /** `isMarked`: the API removed it, and its generated secret is deleted too. */
  begin(tenant: TenantId, name: string, isMarked: boolean): void
  /** Resolves when the step in progress is done. */
  stop(): Promise<void>
}

interface Removal {
  readonly tenant: TenantId
  readonly name: string
  readonly isMarked: boolean
  /** By the monotonic clock. */
  readonly since: number
}

const PIECE = 100
/** Other nodes learn of it by their next check, and may add deliveries until then. */
const OTHERS_HEAR_MS = 12 * SECOND
/** While a call is in progress. */
const AGAIN_MS = 2 * SECOND
/** What a crashed node left, while others are running. */
const LOOK_MS = 5 * MINUTE
const MARKERS_MAX = 500

export function makeRemovals(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'log'> & {
    readonly registry: Pick<Registry, 'subscription'>
    readonly commits: Pick<Commits, 'once'>
    readonly settler: Pick<Settler, 'settleUnheld'>
    readonly signing: Pick<SigningSecrets, 'forget'>
    tenants(): Promise<readonly TenantId[]>
    /** Checks whether another node applied definitions. */
    refresh(tenant: TenantId): Promise<void>
    /** Subscriptions removed from definitions, by the records that they left. */
    left(tenant: TenantId): readonly string[]
  },
): Removals {
  const { store, clock, log, registry } = deps
  const removals = new Map<string, Removal>()
  let isStarted = false
  let isStopped = false
  let working: Promise<void> = Promise.resolve()
  let isWorking = false
  let cancelNext = () => {}
  let cancelLook = () => {}

  const cancel = async (tenant: TenantId, work: WorkRow): Promise<void> => {
    const event = await store.forTenant(tenant).event(work.eventId)
    if (event === null) return
    const { attempts, waits, losses, key, effectRef, httpStatus, durationMs } = work
    const note = { key, class: null, lastError: SUBSCRIPTION_GONE, effectRef, httpStatus, durationMs }
    const counters = { attempts, waits, losses }
    // Refused: a node has leased it, or it is over; the next check shows which.
    await deps.settler.settleUnheld({ work, event }, null, cancelled({ counters, note }), {
      g: 'work',
      work: work.id,
      state: work.state,
      epoch: work.epoch,
    })
  }

  /** Of definitions: it was not added again. Of the API: its marker still exists, so no other one of its name was created. */
  const isGoneStill = async ({ tenant, name }: Removal, mark: RemovalMark | null): Promise<boolean> => {
    if (mark === null) return registry.subscription(tenant, name) === null
    return (await readRemoval(store.forTenant(tenant), name))?.version === mark.version
  }

  /**
   * One pass over all open deliveries: a page may be empty while more follow. Leased ones are met when they are put back.
   * False: the deliveries belong to another subscription.
   */
  const sweep = async (removal: Removal, mark: RemovalMark | null, consumer: string): Promise<boolean> => {
    const { tenant } = removal
    const reads = store.forTenant(tenant)
    for (const state of ['waiting', 'ready'] as const) {
      let cursor: string | null = null
      do {
        const page: Page<WorkRow> = await reads.workList({ consumer, state, cursor, limit: PIECE })
        if (!(await isGoneStill(removal, mark))) return false
        await Promise.all(page.items.map((work) => cancel(tenant, work)))
        cursor = page.nextCursor
      } while (cursor !== null && !isStopped)
    }
    return true
  }

  const isLeft = async ({ tenant }: Removal, consumer: string): Promise<boolean> => {
    const [open] = await store.forTenant(tenant).openCounts([consumer], 1)
    return open === undefined || open.ready + open.waiting + open.leased > 0
  }

  const step = async (removal: Removal): Promise<boolean> => {
    const { tenant, name, isMarked, since } = removal
    const consumer = `${SUBSCRIPTION_PREFIX}${name}`
    // Another node may have applied definitions that have it again: then the waiting deliveries are for it.
    if (!isMarked) await deps.refresh(tenant)
    const mark = isMarked ? await readRemoval(store.forTenant(tenant), name) : null
    if (isMarked ? mark === null : registry.subscription(tenant, name) !== null) return true
    if (mark !== null)
      await deps.signing.forget(tenant, name, 'the removal of its subscription', mark.at + OTHERS_HEAR_MS / 2)
    if (!(await sweep(removal, mark, consumer))) return true
    if ((await isLeft(removal, consumer)) || clock.monotonic() - since < OTHERS_HEAR_MS) return false
    if (mark !== null) {
      const { guard, write } = endRemoval(name, mark)
      await deps.commits.once(tenant, [guard], [write])
    }
    log.info('subscription.deliveries-cancelled', { tenant, subscription: name })
    return true
  }

  const work = async () => {
    for (const [key, removal] of removals) {
      if (isStopped) return
      try {
        if (await step(removal)) removals.delete(key)
      } catch (error) {
        if (error instanceof StoreError && error.code === 'closed') return
        const { tenant, name } = removal
        log.warn('subscription.not-cancelled', { tenant, subscription: name, error: messageOf(error) })
      }
    }
  }

  const go = () => {
    if (!isStarted || isStopped || isWorking || removals.size === 0) return
    cancelNext()
    isWorking = true
    working = work().finally(() => {
      isWorking = false
      if (removals.size > 0 && !isStopped) cancelNext = clock.after(AGAIN_MS, go)
    })
  }

  const add = (tenant: TenantId, name: string, isMarked: boolean) => {
    const key = `${tenant}/${name}`
    const known = removals.get(key)
    if (known?.isMarked === true || (known !== undefined && !isMarked)) return
    removals.set(key, { tenant, name, isMarked, since: clock.monotonic() })
  }

  const look = async () => {
    try {
      for (const tenant of await deps.tenants()) {
        for (const name of await readRemovals(store.forTenant(tenant), MARKERS_MAX)) add(tenant, name, true)
      }
    } catch (error) {
      if (error instanceof StoreError && error.code === 'closed') return
      log.warn('subscription.removals-not-read', { error: messageOf(error) })
    }
    go()
    if (!isStopped) cancelLook = clock.after(LOOK_MS, () => void look())
  }

  return {
    start(hasScheduleRole) {
      isStarted = true
      if (!hasScheduleRole) return go()
      void (async () => {
        for (const tenant of await deps.tenants().catch(() => []))
          for (const name of deps.left(tenant)) add(tenant, name, false)
        await look()
      })()
    },
    begin(tenant, name, isMarked) {
      add(tenant, name, isMarked)
      go()
    },
    async stop() {
      isStopped = true
      cancelNext()
      cancelLook()
      await working
    },
  }
}
