// The claim loop: takes due work from the store while slots are free.
//
// It sleeps until something is known to be due, until somebody wakes it, or for `pollMs`, whichever is first. One claim
// is under way at a time.

import { messageOf } from '../core/errors/index.ts'
import type { Incarnation, TenantId } from '../core/ids/index.ts'
import type { Instant } from '../core/time/index.ts'
import { StoreError } from '../ports/store.ts'
import type { EngineConfig, EngineDeps } from './deps.ts'
import { type Item, makeItem } from './item.ts'
import type { Pool } from './pool.ts'
import type { Registry } from './registry.ts'
import type { StoreTime } from './store-time.ts'
import type { Strays } from './strays.ts'

export interface Claims {
  start(): void
  /** Something may be due now, or will be after `delayMs`. */
  wake(delayMs?: number): void
  /** Work of this consumer was added here: one that nobody defines is looked for at once. */
  expect(tenant: TenantId, consumer: string): void
  /** A slot is free again: what was left for want of it can be claimed. */
  freed(alone: boolean): void
  /** Whether work was due, when it last looked, that this node had no slot for. */
  isBehind(): boolean
  /** No further claims; settles when the one under way is over. */
  stop(): Promise<void>
}

const CLAIM_MAX = 64
/** How often the store is asked for work of consumers that are no longer defined. */
const LEFTOVERS_EVERY_MS = 30_000

export function makeClaims(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'code' | 'log'> & {
    readonly registry: Registry
    readonly pool: Pool
    readonly time: StoreTime
    readonly strays: Strays
    owner(): Incarnation | null
    /** Looks whether another node changed the definitions of a tenant. */
    refresh(tenant: TenantId): Promise<void>
  },
  config: Pick<EngineConfig, 'pollMs'>,
): Claims {
  const { store, clock, code, log, registry, pool, time, strays } = deps
  let started = false
  let stopped = false
  let active: Promise<void> | null = null
  let again = false
  let turn = 0
  let cancel: () => void = () => {}
  let wakeAt = Number.POSITIVE_INFINITY
  /** Why due work was left at the last claim. */
  let left: 'nothing' | 'no-slot' | 'runs-alone' = 'nothing'
  let leftovers: readonly { readonly tenant: TenantId; readonly consumer: string }[] = []
  let leftoversAt = Number.NEGATIVE_INFINITY

  const schedule = (delayMs: number) => {
    if (stopped || !started) return
    const at = clock.monotonic() + delayMs
    if (at >= wakeAt) return
    cancel()
    wakeAt = at
    cancel = clock.after(delayMs, () => {
      wakeAt = Number.POSITIVE_INFINITY
      kick()
    })
  }

  const kick = () => {
    if (stopped || !started) return
    if (active !== null) {
      again = true
      return
    }
    active = claimOnce().then((delayMs) => {
      active = null
      if (again) {
        again = false
        schedule(0)
      } else {
        schedule(delayMs)
      }
    })
  }

  const isUnknown = ({ tenant, consumer }: (typeof leftovers)[number]) => !registry.knows(tenant, consumer)

  const slots = async () => {
    if (clock.monotonic() - leftoversAt >= LEFTOVERS_EVERY_MS) {
      leftoversAt = clock.monotonic()
      leftovers = (await store.system('recovery').readyConsumers()).filter(isUnknown)
    }
    // One that another node defined meanwhile is no leftover: it may be paused.
    const tenants = new Set(leftovers.filter(isUnknown).map(({ tenant }) => tenant))
    for (const tenant of tenants) await deps.refresh(tenant)
    const active = registry.consumers().filter((consumer) => !consumer.paused)
    return [...active, ...leftovers.filter(isUnknown)]
  }

  /** Another consumer is first each time, so that nobody's backlog keeps the others waiting. */
  const inTurn = <Consumer>(consumers: readonly Consumer[]): readonly Consumer[] => {
    turn = consumers.length === 0 ? 0 : (turn + 1) % consumers.length
    return [...consumers.slice(turn), ...consumers.slice(0, turn)]
  }

  /** Answers how long to sleep. */
  const claimOnce = async (): Promise<number> => {
    const owner = deps.owner()
    const free = Math.min(CLAIM_MAX, pool.free())
    if (free <= 0) left = 'no-slot'
    if (owner === null || free <= 0) return config.pollMs
    try {
      for (const item of await strays.collect(owner)) {
        if (!item.work.alone || pool.canRunAlone()) launch(item)
        else strays.suspect()
      }
      const consumers = await slots()
      const result = await store.claim({
        owner,
        slots: inTurn(consumers).map(({ tenant, consumer }) => ({ tenant, consumer, max: free })),
        max: free,
        maxAlone: pool.canRunAlone() ? 1 : 0,
        codeHashes: code.hashes(),
      })
      time.heard(result.now)
      for (const { work, event } of result.items) launch(makeItem(owner, work, event))
      const due = result.nextDueAt !== null && result.nextDueAt <= result.now
      left = !due ? 'nothing' : result.items.length >= free ? 'no-slot' : 'runs-alone'
      return sleepFor(result.nextDueAt, result.now)
    } catch (error) {
      if (error instanceof StoreError && error.applied === 'indeterminate') strays.suspect()
      log.warn('claims.failed', { error: messageOf(error) })
      return config.pollMs
    }
  }

  const launch = (item: Item) => {
    // Births may have taken the slots meanwhile: claimed work runs all the same, and the next claim waits.
    pool.takeAnyway()
    pool.start(item)
  }

  const sleepFor = (nextDueAt: Instant | null, now: Instant): number => {
    if (nextDueAt === null || nextDueAt <= now)
      return left === 'no-slot' && pool.free() > 0 ? 0 : config.pollMs
    return Math.min(config.pollMs, nextDueAt - now)
  }

  return {
    start() {
      started = true
      schedule(0)
    },
    wake: (delayMs = 0) => schedule(delayMs),
    isBehind: () => left === 'no-slot',
    expect(tenant, consumer) {
      const expected = { tenant, consumer }
      const isListed = leftovers.some((one) => one.tenant === tenant && one.consumer === consumer)
      if (!isListed && isUnknown(expected)) leftovers = [...leftovers, expected]
      schedule(0)
    },
    freed(alone) {
      if (left === 'no-slot' || (left === 'runs-alone' && alone)) schedule(0)
    },
    async stop() {
      stopped = true
      cancel()
      await active
    },
  }
}
