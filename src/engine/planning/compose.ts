// Composes planning: how events become commits with jobs, and what happens to jobs leased on insert once their commit is over.

import type { Incarnation, TenantId } from '../../core/foundation/ids/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { EngineBase, LeasedOnInsert, PlanEvent } from '../commit/index.ts'
import type { Registry } from '../definitions/index.ts'
import { type JobSlots, makeLeasedOnInsert } from '../leases/index.ts'
import { type MayBegin, type PlanDeps, planAlone, planEvent } from './plan.ts'
import { logPlan } from './plan-log.ts'

/** What flow control says about leases on insert. */
export interface InsertLimits extends Pick<PlanDeps, 'mayLeaseOnInsert' | 'noteLeased'> {
  /** A job of the route is not leased after all. */
  forgetLeased(tenant: TenantId, route: Route | null): void
}

export interface Planning {
  /** For callers that plan with more than `plan` offers. */
  readonly planning: PlanDeps
  plan(...args: [...Parameters<PlanEvent>, begins?: MayBegin]): ReturnType<PlanEvent>
  /** Plans an event for one route alone, whatever else would match it. */
  planFor(route: Route): PlanEvent
  readonly leasedOnInsert: LeasedOnInsert
  /** Registers, once, what limits leases on insert. */
  limitBy(limits: InsertLimits): void
}

export function composePlanning(
  deps: Pick<EngineBase, 'log' | 'time' | 'ids' | 'code' | 'vars' | 'wake'> & {
    readonly registry: Registry
    readonly jobSlots: JobSlots
    runs(consumer: string): boolean
    /** null: nothing is leased on insert now. */
    owner(): Incarnation | null
    suspect(): void
  },
): Planning {
  const { jobSlots } = deps
  // Flow control limits what is leased on insert, and plans events itself: `limitBy` registers it once both are made.
  let limits: InsertLimits
  const planning: PlanDeps = {
    ...deps,
    mayLeaseOnInsert: (tenant, route) => limits.mayLeaseOnInsert(tenant, route),
    noteLeased: (tenant, route) => limits.noteLeased(tenant, route),
  }
  return {
    planning,
    plan: (...args) => planEvent(planning, ...args),
    planFor: (route) => (draft, payload, header, dedupForMs) =>
      planAlone(planning, route, { ...draft, matched: 1 }, payload, header, dedupForMs),
    leasedOnInsert: makeLeasedOnInsert({
      ...deps,
      start: jobSlots.start,
      giveBack: jobSlots.giveBack,
      forgetLeased: (tenant, route) => limits.forgetLeased(tenant, route),
      logStored: (plan) => logPlan(deps.log, plan),
    }),
    limitBy(given) {
      limits = given
    },
  }
}
