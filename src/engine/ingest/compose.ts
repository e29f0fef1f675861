// Composes the ways in: requests, published events, bus messages and the clock, all through one acceptor.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import { type EngineBase, makeSignal } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import type { Registry } from '../definitions/index.ts'
import type { DeadLetterRouteJob, InternalActions, JobFailures } from '../effects/index.ts'
import type { SharedPermits } from '../flow-control/index.ts'
import type { InlineStart, PlanDeps } from '../planning/index.ts'
import type { Settler } from '../settlement/index.ts'
import { type Acceptor, makeAcceptor } from './accept-event.ts'
import { makeAdmission } from './admission.ts'
import { type BusConsumers, makeBusConsumers } from './bus-consumers.ts'
import { makeMessages } from './bus-messages.ts'
import { type Duplicates, makeDuplicates } from './duplicate-counts.ts'
import { makeStoredHeaders } from './headers-and-trace.ts'
import { makePublisher, type Publisher } from './publish.ts'
import { type Intake, makeIntake } from './receive-request.ts'
import { makeRefusalLines } from './rejection-log.ts'
import { makeRejections, type Rejections } from './rejections.ts'
import { type IntakeItems, makeIntakeItems } from './run-intake-job.ts'
import { makeSchedules, type Schedules, type TimedList } from './schedules.ts'
import { makeTenantBacklog, type TenantBacklog } from './tenant-backlog.ts'
import { makeTimetables, type Timetables } from './timetables.ts'

export interface Ingest {
  readonly intake: Intake
  readonly acceptor: Acceptor
  readonly publisher: Publisher
  readonly busConsumers: BusConsumers
  readonly schedules: Schedules
  readonly timetables: Timetables
  readonly intakeItems: IntakeItems
  readonly rejections: Rejections
  readonly duplicates: Duplicates
  readonly backlog: TenantBacklog
}

export function composeIngest(
  given: EngineBase &
    Pick<JobFailures, 'fail'> & {
      readonly registry: Registry
      readonly planning: PlanDeps
      readonly settler: Settler
      readonly internal: InternalActions
      readonly deadLetterJob: DeadLetterRouteJob
      readonly sharedPermits: SharedPermits | null
      /** Workflow instances that start with their event. */
      readonly inlineStart: InlineStart
      /** Workflow triggers that fire by the clock. */
      readonly triggers: TimedList
      /** Pollers, which poll by the clock. */
      readonly pollers: TimedList
      /** Loads definitions that another node changed. */
      refresh(tenant: TenantId): Promise<void>
      /** Whether the node accepts events. */
      isOpen(): boolean
    },
  config: Pick<
    EngineConfig,
    | 'isShared'
    | 'roles'
    | 'keptHeaders'
    | 'openJobsMax'
    | 'acceptsMax'
    | 'busPrefix'
    | 'natsStreams'
    | 'messageBytesMax'
  >,
): Ingest {
  const deps = { ...given, isShared: config.isShared }
  const { registry } = deps
  const backlog = makeTenantBacklog(deps, config.openJobsMax)
  const keptHeaders = makeStoredHeaders(registry, config.keptHeaders)
  const duplicates = makeDuplicates(deps)
  const acceptor = makeAcceptor({ ...deps, duplicates })

  const timetablesChanged = makeSignal<[]>()
  const timetables = makeTimetables({ ...deps, changed: () => timetablesChanged.send() })
  const schedules = makeSchedules({ ...deps, acceptor, others: [deps.triggers, deps.pollers, timetables] })
  timetablesChanged.listen(schedules.look)

  const refusalLines = makeRefusalLines(deps)
  const rejections = makeRejections({
    ...deps,
    onFlush: refusalLines.flush,
    isTenant: (tenant) => registry.isTenant(tenant),
    isSource: (tenant, source) => registry.source(tenant, source) !== null,
  })
  const admission = makeAdmission({ ...deps, backlog })
  const messages = makeMessages({ ...deps, acceptor, keptHeaders, backlog }, config)
  return {
    intake: makeIntake({ ...deps, admission, keptHeaders, rejections, refusalLines, acceptor }, config),
    acceptor,
    publisher: makePublisher({ ...deps, acceptor, backlog }, config),
    busConsumers: makeBusConsumers({ ...deps, messages }, config),
    intakeItems: makeIntakeItems(deps),
    schedules,
    timetables,
    rejections,
    duplicates,
    backlog,
  }
}
