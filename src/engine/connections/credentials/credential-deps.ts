// The dependencies of credentials on the engine.

import type {
  ConnectionDocument,
  CredentialDocument,
  ProviderDocument,
} from '../../../core/definitions/documents/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { EngineBase, UnitOfWork } from '../../commit/index.ts'
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
    EngineBase,
    | 'store'
    | 'clock'
    | 'random'
    | 'http'
    | 'vault'
    | 'secrets'
    | 'encryption'
    | 'log'
    | 'time'
    | 'ids'
    | 'commits'
    | 'vars'
    | 'plan'
    | 'wake'
  > {
  readonly registry: Named
  readonly settler: Settler
  readonly decisions: Decisions
  readonly lease: Pick<Lease, 'covers' | 'holds'>
  readonly outboundClient: Pick<OutboundClient, 'send'>
  readonly unitOfWork: Pick<UnitOfWork, 'firmly' | 'release'>
}
