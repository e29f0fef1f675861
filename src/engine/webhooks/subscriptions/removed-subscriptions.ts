// Cancels what is left of the deliveries of subscriptions that are gone: in the background, a bounded piece at a time.
//
// Of one that the API removed a marker stays until nothing is left, so that whoever starts next goes on, and nobody makes another of
// the same name whose endpoint would get what was meant for the former one. Of a folder's, its record is what a start goes by.
//
// Invariants: SU7 no delivery of a subscription that is gone stays open. SU8 a crash loses none of it: every cancellation is a commit
// of its own, and the marker goes last. SU25 what belongs to another of the same name is left alone: while the marker is there nobody
// makes one, so nothing is cancelled or forgotten that was not looked at before it was seen to be there still.

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
  /** `isKeeper`: goes on with what others left. */
  start(isKeeper: boolean): void
  /** `isMarked`: the API removed it, and its generated secret goes too. */
  begin(tenant: TenantId, name: string, isMarked: boolean): void
  /** Settles when the piece under way is done. */
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
/** Other nodes hear of it by their next look, and may add deliveries until then. */
const OTHERS_HEAR_MS = 12 * SECOND
/** While somebody's call is under way. */
const AGAIN_MS = 2 * SECOND
/** What a node left that crashed, while others go on. */
const LOOK_MS = 5 * MINUTE
const MARKERS_MAX = 500

export function makeRemovals(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'log'> & {
    readonly registry: Pick<Registry, 'subscription'>
    readonly commits: Pick<Commits, 'once'>
    readonly settler: Pick<Settler, 'settleUnheld'>
    readonly signing: Pick<SigningSecrets, 'forget'>
    tenants(): Promise<readonly TenantId[]>
    /** Looks whether another node applied definitions. */
    refresh(tenant: TenantId): Promise<void>
    /** Of definitions that are gone, by the records that they left. */
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
    // Refused: somebody has it in hand, or it is over; the next look tells.
    await deps.settler.settleUnheld({ work, event }, null, cancelled({ counters, note }), {
      g: 'work',
      work: work.id,
      state: work.state,
      epoch: work.epoch,
    })
  }

  /** Of definitions: it has not come back. Of the API: its marker is there still, so that nobody has made another of its name. */
  const isGoneStill = async ({ tenant, name }: Removal, mark: RemovalMark | null): Promise<boolean> => {
    if (mark === null) return registry.subscription(tenant, name) === null
    return (await readRemoval(store.forTenant(tenant), name))?.version === mark.version
  }

  /**
   * Once over all that is open: a page may hold nothing while more is behind it. What is in somebody's hands is met when it is put back.
   * False: what was met is another's.
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
    // It may have come back with definitions that another node applied: what waits is for it then.
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
    start(isKeeper) {
      isStarted = true
      if (!isKeeper) return go()
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
