// Jobs leased on insert, once their commit is over: those that the store leased to this node start, the others give their slots
// back. Nothing else starts or releases them.

import { messageOf } from '../../core/foundation/errors/index.ts'
import type { Incarnation, WorkId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { NewWork, WorkRow } from '../../core/queue/work/index.ts'
import type { Log } from '../../ports/log.ts'
import type { CommitResult } from '../../ports/store.ts'
import {
  type EventPlan,
  type LeasedOnInsert,
  type Planned,
  receivedEvent,
  type StoreTime,
} from '../commit/index.ts'
import { type Item, makeItem } from './leased-job.ts'

export function makeLeasedOnInsert(deps: {
  readonly log: Pick<Log, 'error'>
  readonly time: StoreTime
  /** Runs a job in the slot that its plan took. */
  start(item: Item): void
  /** Gives that slot back. */
  giveBack(id: WorkId): void
  /** A job of the route does not start here after all. */
  forgetLeased(
    tenant: EventPlan['event']['tenant'],
    route: EventPlan['leasedOnInsert'][number]['route'],
  ): void
  /** The store may have leased jobs to this node that nothing here expects. */
  suspect(): void
  /** Jobs were added that a claim may take. */
  wake(): void
  /** Logs what was stored with the plan. */
  logStored(plan: EventPlan): void
}): LeasedOnInsert {
  const { time } = deps

  const settleEvent = (plan: EventPlan, isStored: boolean, result: CommitResult | null): void => {
    // A commit refused by its own first application says neither what was leased nor when it was stored: the store is asked.
    const leased = result?.ok === true ? result.leased : []
    const isRepeated = isStored && result?.ok !== true
    let started = 0
    for (const { work, route } of plan.leasedOnInsert) {
      if (!leased.includes(work.id) || plan.owner === null) {
        deps.forgetLeased(plan.event.tenant, route)
        deps.giveBack(work.id)
        continue
      }
      const at = result?.at ?? time.now()
      const row = leasedRow(plan, work, plan.owner, at)
      const event = plan.stored ?? receivedEvent(plan.event, at)
      const { payload, header } = plan
      started += 1
      deps.start(makeItem(plan.owner, row, event, { payload, header, route }))
    }
    if (isRepeated && plan.leasedOnInsert.length > 0) deps.suspect()
    if (isStored && plan.adds > started) deps.wake()
    for (const beside of plan.beside ?? []) settleEvent(beside, isStored, result)
    if (isStored) deps.logStored(plan)
  }

  const settle = (planned: Planned, isStored: boolean, result: CommitResult | null): void => {
    if (!('plans' in planned)) {
      settleEvent(planned, isStored, result)
      return
    }
    try {
      planned.ended?.(isStored)
    } finally {
      for (const one of planned.plans) settle(one, isStored, result)
    }
  }

  return {
    end(plans, isStored, result) {
      for (const plan of plans) {
        try {
          settle(plan, isStored, result)
        } catch (error) {
          // The result of the commit is certain: an error here must neither change it nor leave the other plans unended.
          deps.log.error('commit.watcher-failed', { error: messageOf(error) })
        }
      }
    },
  }
}

/** The row of a job leased on insert, as the store has written it. Lists every field, as `receivedEvent` does. */
function leasedRow(plan: EventPlan, work: NewWork, owner: Incarnation, at: Instant): WorkRow {
  return {
    id: work.id,
    tenant: plan.event.tenant,
    kind: work.kind,
    consumer: work.consumer,
    definition: work.definition,
    codeHash: work.codeHash,
    eventId: work.eventId,
    state: 'leased',
    dueAt: at,
    owner,
    epoch: 1,
    alone: false,
    attempts: 0,
    waits: 0,
    losses: 0,
    key: null,
    class: null,
    lastError: null,
    effectRef: null,
    httpStatus: null,
    durationMs: null,
    createdAt: at,
    expiresAt: at + work.expiresInMs,
    processedAt: null,
    replayOf: work.replayOf,
    element: work.element ?? null,
    lane: work.lane?.key ?? null,
    hasPlace: work.lane !== undefined,
    isFrozen: false,
    into: null,
    generation: work.generation ?? 1,
    instance: work.instance ?? null,
    step: work.step ?? null,
  }
}
