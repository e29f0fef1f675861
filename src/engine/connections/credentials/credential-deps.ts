// The dependencies of credentials on the engine.

import type {
  ConnectionDocument,
  CredentialDocument,
  ProviderDocument,
} from '../../../core/definitions/documents/index.ts'
import type { Ids, TenantId } from '../../../core/foundation/ids/index.ts'
import type { Vars } from '../../../core/routing/index.ts'
import type { Commits, PlanEvent, StoreTime, UnitOfWork } from '../../commit/index.ts'
import type { EngineDeps } from '../../config.ts'
import type { Lease } from '../../leases/index.ts'
import type { Decisions, Settler } from '../../settlement/index.ts'
import type { OutboundClient } from '../connection-types.ts'

interface Deployed<Document> {
  readonly document: Document
  readonly hash: string
}

/** What is deployed, by name. */
export interface Named {
  credential(tenant: TenantId, name: string): Deployed<CredentialDocument> | null
  credentials(tenant: TenantId): readonly Deployed<CredentialDocument>[]
  provider(tenant: TenantId, name: string): Deployed<ProviderDocument> | null
  connections(tenant: TenantId): readonly Deployed<ConnectionDocument>[]
  tenants(): readonly TenantId[]
}

export interface CredentialDeps
  extends Pick<
    EngineDeps,
    'store' | 'clock' | 'random' | 'http' | 'vault' | 'secrets' | 'encryption' | 'log'
  > {
  readonly time: StoreTime
  readonly ids: Ids
  readonly commits: Commits
  readonly registry: Named
  readonly settler: Settler
  readonly decisions: Decisions
  readonly lease: Pick<Lease, 'covers' | 'holds'>
  readonly vars: Vars
  readonly plan: PlanEvent
  outboundClient(): Pick<OutboundClient, 'send'>
  readonly unitOfWork: Pick<UnitOfWork, 'firmly' | 'release'>
  wake(delayMs?: number): void
}
