// Composes workflows: how instances start, and the jobs that change them.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { EngineBase } from '../commit/index.ts'
import type { Registry } from '../definitions/index.ts'
import type { DeadLetterRouteJob, InternalActions, JobFailures } from '../effects/index.ts'
import type { FlowControl, SharedPermits } from '../flow-control/index.ts'
import type { BeginJob } from '../leases/index.ts'
import type { InlineStart, PlanDeps } from '../planning/index.ts'
import type { Decisions, Settler } from '../settlement/index.ts'
import type { Instances } from './instances/index.ts'
import { makeWorkflowItems, type WorkflowItems } from './run-workflow-job.ts'
import { makeInlineStart, makeStartAction, makeStarter, type RunStart, type Starter } from './starts/index.ts'
import { makeSignals, makeSteps, type StepActions, type Steps } from './steps/index.ts'
import {
  makeOrphans,
  makeScheduledTriggers,
  makeTriggerRates,
  makeTriggers,
  type Orphans,
  type ScheduledTriggers,
} from './triggers/index.ts'

export interface WorkflowStarts {
  readonly starter: Starter
  /** The action `start`. */
  readonly start: RunStart
  /** In the commit that stores the event. */
  readonly inline: InlineStart
  readonly scheduled: ScheduledTriggers
}

export function composeStarts(
  deps: EngineBase &
    Pick<JobFailures, 'fail'> & {
      readonly registry: Registry
      readonly instances: Instances
      readonly planning: PlanDeps
      readonly internal: InternalActions
      /** Loads definitions that another node changed. */
      refresh(tenant: TenantId): Promise<void>
    },
): WorkflowStarts {
  const starter = makeStarter(deps)
  return {
    starter,
    start: makeStartAction({ ...deps, starter }),
    inline: makeInlineStart(deps),
    scheduled: makeScheduledTriggers(deps),
  }
}

export interface WorkflowJobs {
  readonly items: WorkflowItems
  readonly steps: Steps
  readonly orphans: Orphans
}

export function composeWorkflowJobs(
  deps: EngineBase & {
    readonly registry: Registry
    readonly instances: Instances
    readonly settler: Settler
    readonly decisions: Decisions
    readonly sharedPermits: SharedPermits | null
    readonly flowControl: Pick<FlowControl, 'enterCircuit' | 'reportTrigger' | 'reportRetried'>
    readonly actions: StepActions
    readonly begin: BeginJob
    readonly deadLetterJob: DeadLetterRouteJob
  },
): WorkflowJobs {
  const steps = makeSteps(deps)
  const signals = makeSignals(deps)
  const triggers = makeTriggers({ ...deps, rates: makeTriggerRates(deps) })
  return { steps, items: makeWorkflowItems({ steps, signals, triggers }), orphans: makeOrphans(deps) }
}
