// What the HTTP surface asks of the rest: the narrow part of the engine and the store that routes use.

import type { DeadLetterId, EventId, TenantId, WorkId } from '../core/ids/index.ts'
import type { Access } from '../engine/access/index.ts'
import type { TenantReads } from '../ports/store.ts'
import type { SecretVault } from '../ports/vault.ts'

export interface IngestRequest {
  readonly tenant: string
  readonly source: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Uint8Array
  readonly remoteAddress: string
}

export interface HttpApi {
  /** Settles when the event is durable; throws AppError on refusal. */
  accept(request: IngestRequest): Promise<{ readonly eventId: EventId; readonly duplicate: boolean }>
  reads(tenant: TenantId): TenantReads
  replayDeadLetter(
    tenant: TenantId,
    id: DeadLetterId,
    options: { readonly force: boolean; readonly reason: string | null; readonly actor: string },
  ): Promise<{ readonly workId: WorkId }>
  resolveWork(
    tenant: TenantId,
    id: WorkId,
    options: { readonly as: 'done' | 'released'; readonly reason: string; readonly actor: string },
  ): Promise<void>
  readonly access: Access
  readonly secrets: Pick<SecretVault, 'list' | 'set' | 'promote' | 'remove'>
  readonly about: { readonly environment: string; readonly version: string; readonly node: string }
  /** Whether the node can take and do work now, and if not, why. */
  health(): Promise<{ readonly ready: boolean; readonly reasons: readonly string[] }>
}
