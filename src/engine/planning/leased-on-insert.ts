// Jobs leased on insert, once their commit is over: those that the store leased to this node start, the others give their slots
// back. Nothing else starts or releases them.

import type { WorkId } from '../../core/foundation/ids/index.ts'
import type { Log } from '../../ports/log.ts'
import type { CommitResult } from '../../ports/store.ts'
import type { EventPlan, LeasedOnInsert, StoreTime } from '../commit/index.ts'
import { type Item, makeItem } from '../leases/index.ts'
import { leasedRow, receivedEvent } from './plan.ts'
import { logPlan } from './plan-log.ts'

export function makeLeasedOnInsert(deps: {
  readonly log: Pick<Log, 'control'>
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
}): LeasedOnInsert {
  const { log, time } = deps

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
    if (isStored) logPlan(log, plan)
  }

  const settle: LeasedOnInsert['settle'] = (planned, isStored, result) => {
    if (!('plans' in planned)) return settleEvent(planned, isStored, result)
    try {
      planned.ended?.(isStored)
    } finally {
      for (const one of planned.plans) settle(one, isStored, result)
    }
  }
  return { settle }
}
