// The sweep: changes that no decision about a job makes. It announces escalations, and ends failures that have been open for
// too long, a bounded number at a time. Every node sweeps; guards let one of them do each change.
//
// Invariants: ES4 an escalation is announced once, in the commit that records the announcement. FL11 a failure that is open for
// too long is escalated, and one that is open although its job is over is ended.

import { type ConnectionState, connectionFailureId } from '../../core/connections/connection/index.ts'
import { isCanonical } from '../../core/events/canonical/index.ts'
import { causeHash, type Escalation } from '../../core/failures/escalation/index.ts'
import { type Failure, type FailureEvent, stepFailure } from '../../core/failures/failure/index.ts'
import { messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { SECOND } from '../../core/foundation/time/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import type { Guard, Write } from '../../ports/store.ts'
import type { EngineBase, EventPlan, StoreTime, UnitOfWork } from '../commit/index.ts'
import type { Registry } from '../definitions/index.ts'
import { planEscalationEvent } from './escalation-events.ts'
import { PARKED_REASON, raise, toNew } from './failures.ts'

export interface FailureSweep {
  start(): void
  /** An escalation was raised: it is announced soon, without waiting for the next pass. */
  wake(): void
  /** Resolves when the pass in progress is done. */
  stop(): Promise<void>
}

export interface SweepConfig {
  /** From the end of one pass to the next; 0: never. */
  readonly sweepEveryMs: number
  /** How long a failure may be open before it is escalated. */
  readonly escalateAfterMs: number
}

/** How soon an escalation that this node raised is announced: failures of one cause come in bursts, and are counted first. */
const ANNOUNCE_AFTER_MS = 1 * SECOND
const PAGE = 100
/** Pages of open failures that one pass reads, per tenant; the next pass continues after them. */
const PAGES_MAX = 10

/** Why a failure is escalated while its job is still retried. */
const LINGERING_REASON = 'open_too_long'

export function makeFailureSweep(
  deps: Pick<EngineBase, 'store' | 'clock' | 'log' | 'ids' | 'plan'> & {
    readonly time: Pick<StoreTime, 'now'>
    readonly unitOfWork: Pick<UnitOfWork, 'once'>
    tenants(): readonly TenantId[]
    readonly registry: Pick<Registry, 'connection'>
  },
  config: SweepConfig,
): FailureSweep {
  const { store, clock, log, time, ids } = deps
  let isStopped = config.sweepEveryMs <= 0
  let cancel: () => void = () => {}
  let cancelSoon: (() => void) | null = null
  let sweeping: Promise<void> = Promise.resolve()
  /** Where the scan of a tenant's open failures continues. */
  const cursors = new Map<TenantId, string>()

  const commit = async (
    tenant: TenantId,
    guards: readonly Guard[],
    writes: readonly Write[],
    plan: EventPlan | null,
  ): Promise<boolean> => {
    const unit = { guards, writes: [...writes, ...(plan?.writes ?? [])], plans: plan === null ? [] : [plan] }
    return (await deps.unitOfWork.once(tenant, unit)).ok
  }

  const announce = async (escalation: Escalation): Promise<boolean> => {
    const { tenant, id, version, consumer, class: failureClass, reason, severity, count } = escalation
    const plan = await planEscalationEvent(deps, escalation, 'integration.escalation.raised', {})
    const guard: Guard = { g: 'version', of: 'escalation', key: id, version }
    const isDone = await commit(tenant, [guard], [{ w: 'escalation.change', id, announced: true }], plan)
    if (isDone) {
      const about = { tenant, escalation: id, consumer, class: failureClass, reason, severity, count }
      log.warn('escalation.raised', about)
    }
    return isDone
  }

  const announceAll = async (tenant: TenantId): Promise<void> => {
    for (let pages = 0; pages < PAGES_MAX && !isStopped; pages += 1) {
      const query = { unannounced: true, cursor: null, limit: PAGE } as const
      const { items, nextCursor } = await store.forTenant(tenant).escalations(query)
      let announced = 0
      for (const one of items) if (!isStopped && (await announce(one))) announced += 1
      // Escalations that another node announces at the same time are gone from the next page; if none is, the next pass reads
      // again.
      if (nextCursor === null || announced === 0) return
    }
  }

  /** What happens to a failure that is open for too long; null: a node runs its job right now. */
  const decide = (failure: Failure, work: WorkRow | null, isTold: boolean): FailureEvent | null => {
    if (work === null) return { type: 'closed', reason: 'gone' }
    const cause = (reason: string) =>
      causeHash({
        consumer: failure.consumer,
        class: failure.class,
        reason,
        error: failure.lastError,
        isCanonical: !isTold,
      })
    const { workId, eventId, class: failureClass, key, attempts, lastError } = failure
    const tried = { workId, eventId, class: failureClass, key, attempts, lastError }
    switch (work.state) {
      case 'leased':
        return null
      case 'done':
      case 'skipped':
        return { type: 'succeeded' }
      case 'cancelled':
        return { type: 'closed', reason: 'cancelled' }
      case 'dead':
      case 'parked': {
        const reason = work.state === 'parked' ? PARKED_REASON : 'rejected'
        return { type: 'ended', tried, reason, cause: cause(reason) }
      }
      default:
        return {
          type: 'lingered',
          cause: cause(LINGERING_REASON),
          retryInMs: Math.max(0, work.dueAt - time.now()),
        }
    }
  }

  /** A connection that fails goes on until it recovers; one that is gone, or that was retired by its document, never does. */
  const endOfConnection = async (failure: Failure): Promise<void> => {
    const { tenant, consumer, class: failureClass, lastError: error, willRetryAt } = failure
    const name = consumer.slice(consumer.indexOf(':') + 1)
    const record = await store.forTenant(tenant).record('connection', name)
    const state = record === null ? null : (JSON.parse(record.body) as ConnectionState)
    const deployed = deps.registry.connection(tenant, name)?.document
    const isItself =
      state?.failing !== undefined && connectionFailureId(tenant, name, state.failing) === failure.id
    const isGone = !isItself || deployed === undefined || deployed.status === 'retired'
    const of = { consumer, class: failureClass, reason: LINGERING_REASON, error, isCanonical: false }
    const retryInMs = willRetryAt === null ? null : Math.max(0, willRetryAt - time.now())
    const happened: FailureEvent = isGone
      ? { type: 'closed', reason: 'gone' }
      : { type: 'lingered', cause: causeHash(of), retryInMs }
    const { version = 0 } = record ?? {}
    await change(failure, happened, [{ g: 'version', of: 'connection', key: name, version }])
  }

  const end = async (failure: Failure): Promise<void> => {
    if (failure.workId === '') return endOfConnection(failure)
    const { tenant } = failure
    const reads = store.forTenant(tenant)
    const work = await reads.work(failure.workId)
    const event = work === null ? null : await reads.event(work.eventId)
    const happened = decide(failure, work, event === null || !isCanonical(event))
    if (happened === null) return
    // A concurrent settlement of the job knows better.
    const guards: Guard[] =
      work === null ? [] : [{ g: 'work', work: work.id, state: work.state, epoch: work.epoch }]
    await change(failure, happened, guards)
  }

  const change = async (
    failure: Failure,
    happened: FailureEvent,
    guards: readonly Guard[],
  ): Promise<void> => {
    const { tenant } = failure
    const row = stepFailure(toNew(failure, time.now()), happened)
    if (row === null) return
    const writes: Write[] = [{ w: 'failure.put', row }]
    if (row.state === 'escalated') writes.push(raise(ids, row, null, row.reason ?? LINGERING_REASON))
    if (!(await commit(tenant, guards, writes, null))) return
    const { id, consumer, class: failureClass, state } = row
    log.info('failure.swept', { tenant, failure: id, consumer, class: failureClass, state })
  }

  const endLingering = async (tenant: TenantId): Promise<void> => {
    const before = time.now() - config.escalateAfterMs
    for (let pages = 0; pages < PAGES_MAX && !isStopped; pages += 1) {
      const cursor = cursors.get(tenant) ?? null
      const page = await store.forTenant(tenant).failures({ state: 'open', cursor, limit: PAGE })
      for (const one of page.items) if (!isStopped && one.createdAt <= before) await end(one)
      if (page.nextCursor === null) {
        cursors.delete(tenant)
        return
      }
      cursors.set(tenant, page.nextCursor)
    }
  }

  const run = async (isWhole: boolean): Promise<void> => {
    for (const tenant of deps.tenants()) {
      if (isStopped) return
      try {
        if (isWhole) await endLingering(tenant)
        await announceAll(tenant)
      } catch (error) {
        cursors.delete(tenant)
        log.warn('failure.sweep-failed', { tenant, error: messageOf(error) })
      }
    }
  }

  /** One after another, so that a node does not race with itself. */
  const after = (isWhole: boolean): Promise<void> => {
    sweeping = sweeping.then(() => run(isWhole))
    return sweeping
  }

  const schedule = () => {
    if (isStopped) return
    cancel = clock.after(config.sweepEveryMs, () => void after(true).then(schedule))
  }

  return {
    start() {
      if (isStopped) return
      schedule()
      // Escalations raised before a crash are announced by the next node that starts.
      this.wake()
    },
    wake() {
      if (isStopped || cancelSoon !== null) return
      cancelSoon = clock.after(ANNOUNCE_AFTER_MS, () => {
        cancelSoon = null
        void after(false)
      })
    },
    async stop() {
      isStopped = true
      cancel()
      cancelSoon?.()
      await sweeping
    },
  }
}
