// Composes the queue: it runs every job in the node's slots, claims what is due, and exchanges wake-up signals with other nodes.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Followed } from '../../ports/wakes.ts'
import { type EngineBase, type EngineSignals, makeSignal, tenantsInStore } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import type { Rotations } from '../connections/index.ts'
import type { Registry } from '../definitions/index.ts'
import type { DeadLetterRouteJob } from '../effects/index.ts'
import type { FlowControl } from '../flow-control/index.ts'
import type { IntakeItems } from '../ingest/index.ts'
import type { BeginJob, JobSlots, Lease } from '../leases/index.ts'
import type { PollRunner } from '../pollers/index.ts'
import type { Decisions, Settler } from '../settlement/index.ts'
import type { DeliveryRunner } from '../webhooks/index.ts'
import type { WorkflowItems } from '../workflows/index.ts'
import { type BacklogAges, makeBacklog } from './backlog.ts'
import { type Claims, makeClaims } from './claims.ts'
import { makeExpandEach } from './expand-each.ts'
import { type LaneActions, makeLaneActions } from './lane-actions.ts'
import { makeDebouncer } from './lane-debounce.ts'
import { makeLostClaims } from './lost-claims.ts'
import type { Actions } from './run-action.ts'
import { makeRunner } from './run-job.ts'
import { makeNodeWakes, type NodeWakes } from './wake-signals.ts'

export interface Queue {
  readonly claims: Claims
  /** null: this node is alone. */
  readonly nodeWakes: NodeWakes | null
  readonly lanes: LaneActions
  backlog(): Promise<BacklogAges | null>
}

export function composeQueue(
  given: EngineBase & {
    readonly signals: EngineSignals
    readonly registry: Registry
    readonly settler: Settler
    readonly decisions: Decisions
    readonly lease: Lease
    readonly jobSlots: JobSlots
    readonly flowControl: FlowControl
    readonly begin: BeginJob
    readonly deadLetterJob: DeadLetterRouteJob
    readonly actions: Actions
    readonly intakeItems: IntakeItems
    readonly workflowItems: WorkflowItems
    readonly deliveries: DeliveryRunner
    readonly rotations: Rotations
    readonly polls: PollRunner
    /** Whether this node runs jobs of the consumer at all. */
    runs(consumer: string): boolean
    /** Loads definitions and subscriptions that another node changed. */
    refresh(tenant: TenantId): Promise<void>
    /** Reads what other nodes may have changed; null: anything. */
    learn(tenant: TenantId, kinds: ReadonlySet<Followed> | null): Promise<void>
  },
  config: Pick<EngineConfig, 'pollMs' | 'concurrency' | 'isShared'>,
): Queue {
  const { store, signals, jobSlots, lease, wake } = given
  const deps = { ...given, owner: lease.owner, holds: lease.holds }
  const lostClaims = makeLostClaims({ ...deps, tenants: () => tenantsInStore(store) })
  const suspect = () => {
    lostClaims.suspect()
    wake()
  }
  signals.lost.listen(suspect)
  const runner = makeRunner({
    ...deps,
    suspect,
    debouncer: makeDebouncer(deps),
    expandEach: makeExpandEach(deps),
  })

  const workLeft = makeSignal<[]>()
  const claims = makeClaims({ ...deps, lostClaims, leaveWork: workLeft.send }, config)
  signals.wake.listen(claims.wake)
  signals.room.listen(claims.room)
  jobSlots.serve({
    run: runner.run,
    share: claims.shareOnInsert,
    onFree: claims.freed,
  })

  const nodeWakes = config.isShared ? makeNodeWakes({ ...deps, takes: claims.takes }) : null
  if (nodeWakes !== null) {
    workLeft.listen(nodeWakes.leaveWork)
    signals.applied.listen(nodeWakes.applied)
    signals.changed.listen(nodeWakes.changed)
  }
  return { claims, nodeWakes, lanes: makeLaneActions(deps), backlog: makeBacklog(deps) }
}
