// The dependencies of running and ending a delivery.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { EngineBase, UnitOfWork } from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import type { FlowControl } from '../../flow-control/index.ts'
import type { BeginJob, Lease } from '../../leases/index.ts'
import type { Decisions, Settler } from '../../settlement/index.ts'
import type { DeliveryWatch } from './endpoint-reports.ts'
import type { SlotLending } from './slot-lending.ts'

export interface DeliveryDeps
  extends Pick<
    EngineBase,
    'store' | 'clock' | 'random' | 'http' | 'vault' | 'log' | 'ids' | 'time' | 'plan' | 'systemEvents' | 'now'
  > {
  readonly registry: Registry
  readonly lease: Lease
  readonly settler: Settler
  readonly decisions: Pick<Decisions, 'decideFailure'>
  readonly flowControl: Pick<
    FlowControl,
    'answered' | 'called' | 'mayCall' | 'prepare' | 'reportResult' | 'endpointConcurrency'
  >
  readonly slotLending: SlotLending
  /** Frees the slot of a job that only waits. The result takes it back. */
  lendSlot(tenant: TenantId): () => void
  readonly watch: DeliveryWatch
  /** Prepares a job to run: its expiry, and the dead letter that it replays. */
  readonly begin: BeginJob
  /** Whether the API or definitions have it, deployed on this node or not. */
  isStored(tenant: TenantId, name: string): boolean
  /** Checks whether another node changed the subscriptions. */
  refresh(tenant: TenantId): Promise<void>
  readonly unitOfWork: Pick<UnitOfWork, 'release'>
}
