// The interface to the definitions of a tenant, with its results.

import type {
  Authored,
  Change,
  ControlVerb,
  DefinitionDocument,
  DefinitionKind,
  DefinitionStatus,
  Entry,
  ManagedBy,
  SetVars,
  SubscriptionDocument,
  VarValues,
} from '../../core/definitions/documents/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Guard, Page } from '../../ports/store.ts'
import type { BundleEntry, BundleHead, Control } from './definition-records.ts'
import type { NewDefinition } from './record-batches.ts'
import type { VersionWarning } from './workflow-versions.ts'

export interface Said {
  readonly by: string
  readonly reason: string | null
}

export interface ApplyRequest extends Said {
  readonly definitions: readonly NewDefinition[]
  /** Deployed ones into which other values of `vars` are filled now: they stay with their owner. */
  readonly refilled?: readonly NewDefinition[]
  readonly managedBy: ManagedBy
  readonly prune: boolean
  /** The version that the caller saw; a different deployed one is a conflict. */
  readonly base?: number
  /** No node has a folder any more: its definitions are gone from there. */
  readonly isWithoutFolder?: boolean
}

export interface Applied {
  readonly version: number
  readonly hash: string
  readonly changes: readonly Change[]
  /** What the folder restored after a rollback had changed it. */
  readonly putBack: readonly string[]
  /** Instances that stay on older versions of their workflows. */
  readonly warnings: readonly VersionWarning[]
}

interface RolledBack extends Applied {
  /** What the folder defines differently, and restores when it is next applied. */
  readonly untilFolder: readonly { readonly id: string; readonly path: string | null }[]
}

export interface PlannedChange extends Change {
  /** null: there is none. */
  readonly before: NewDefinition | null
  readonly after: NewDefinition | null
}

export interface DefinitionItem extends BundleEntry {
  readonly document: DefinitionDocument
  /** null for what has none. */
  readonly status: DefinitionStatus | null
  readonly declaredStatus: DefinitionStatus | null
  readonly control: Control | null
}

export interface VersionItem extends BundleHead {
  readonly version: number
}

export interface HistoryItem {
  readonly hash: string
  readonly version: number
  readonly appliedAt: Instant
  readonly by: string
}

export interface DefinitionsChange {
  readonly tenant: TenantId
  readonly version: number
  readonly hash: string
  /** Bundles that the deployed routes name. */
  readonly codeHashes: readonly string[]
}

export interface Definitions {
  /** Throws AppError: `conflict` if another request was first, `managed_by_folder`. */
  apply(tenant: TenantId, request: ApplyRequest): Promise<Applied>
  /** What `apply` would do; writes nothing. */
  plan(
    tenant: TenantId,
    request: Pick<ApplyRequest, 'definitions' | 'refilled' | 'managedBy' | 'prune'>,
  ): Promise<{
    readonly base: number
    readonly changes: readonly PlannedChange[]
    readonly warnings: readonly VersionWarning[]
  }>
  /** Deploys the definitions of an earlier version as a new one. */
  rollback(tenant: TenantId, request: Said & { readonly to: number }): Promise<RolledBack>
  /** Newest first. */
  versions(
    tenant: TenantId,
    page: { readonly cursor: string | null; readonly limit: number },
  ): Promise<Page<VersionItem>>
  list(tenant: TenantId): Promise<readonly DefinitionItem[]>
  /** The version that introduced this document; null: it is no longer known, or its definition was removed. */
  versionOf(tenant: TenantId, kind: DefinitionKind, name: string, hash: string): Promise<number | null>
  one(
    tenant: TenantId,
    kind: DefinitionKind,
    name: string,
  ): Promise<{
    readonly item: DefinitionItem
    readonly authored: Authored | null
    readonly history: readonly HistoryItem[]
  }>
  control(
    tenant: TenantId,
    kind: DefinitionKind,
    name: string,
    verb: ControlVerb,
    said: Said,
  ): Promise<DefinitionItem>
  /** What `vars` will be for the tenant once these documents are deployed as well. */
  vars(tenant: TenantId, beside: readonly DefinitionDocument[]): VarValues
  /** The values of `vars` that hold on this node, and what its settings say of them. */
  setVars(tenant: TenantId): SetVars
  /** The folder's definitions that are deployed and no longer in the folder, whichever node has it. */
  goneFromFolder(tenant: TenantId): readonly Entry[]
  /** The owner of each deployed definition, by kind and name. */
  owners(tenant: TenantId): ReadonlyMap<string, ManagedBy>
  /** Deploys the stored definitions of every tenant. */
  load(): Promise<void>
  /** Checks whether another node changed something; cheap if not. */
  refresh(tenant: TenantId): Promise<void>
  /** Calls back when definitions, or operators' overrides of them, are deployed here. */
  onChange(listener: (change: DefinitionsChange) => void): () => void
}

/** The state of subscriptions: called before and after definitions deploy some. */
export interface DefinedSubscriptions {
  /** Guards for the commit that brings these names. Throws `name_taken` if the API has created one. */
  claim(tenant: TenantId, names: readonly string[]): Promise<readonly Guard[]>
  /** They are about to be deployed, all of the tenant's definitions. */
  prepare(tenant: TenantId, documents: readonly SubscriptionDocument[]): Promise<void>
  /** They are deployed now, and no others of the definitions. */
  put(tenant: TenantId, documents: readonly SubscriptionDocument[]): void
}
