// The dependencies of running and ending a delivery.

import type { Ids, TenantId } from '../../../core/foundation/ids/index.ts'
import type { Route } from '../../../core/routing/index.ts'
import type { PlanEvent, StoreTime, UnitOfWork } from '../../commit/index.ts'
import type { EngineDeps } from '../../config.ts'
import type { Registry } from '../../definitions/index.ts'
import type { FlowControl } from '../../flow-control/index.ts'
import type { Item, Lease } from '../../leases/index.ts'
import type { Decisions, Settler } from '../../settlement/index.ts'
import type { DeliveryWatch } from './endpoint-reports.ts'
import type { SlotLending } from './slot-lending.ts'

export interface DeliveryDeps
  extends Pick<EngineDeps, 'store' | 'clock' | 'random' | 'http' | 'vault' | 'log'> {
  readonly ids: Ids
  readonly time: StoreTime
  readonly registry: Registry
  readonly lease: Lease
  readonly settler: Settler
  readonly decisions: Pick<Decisions, 'decideFailure'>
  readonly flowControl: Pick<
    FlowControl,
    'called' | 'mayCall' | 'prepare' | 'reportResult' | 'endpointConcurrency'
  >
  readonly slotLending: SlotLending
  readonly watch: DeliveryWatch
  readonly plan: PlanEvent
  /** Prepares a job to run: its expiry, and the dead letter that it replays. */
  begin(item: Item, route: Route): Promise<Item>
  /** Whether the API or definitions have it, deployed on this node or not. */
  isStored(tenant: TenantId, name: string): boolean
  /** Checks whether another node changed the subscriptions. */
  refresh(tenant: TenantId): Promise<void>
  readonly unitOfWork: Pick<UnitOfWork, 'release'>
}
