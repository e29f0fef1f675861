// Secrets by reference: values are resolved when they are needed and stored nowhere else.

import type { SecretRef } from '../core/definitions/documents/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import type { Instant } from '../core/foundation/time/index.ts'
import type { Page, PageRequest } from './store.ts'

export interface Vault {
  /**
   * The values of a reference, the preferred one first; more than one while a secret is being rotated. Empty: not set. At once
   * where nothing has to be asked: every signed webhook needs them.
   */
  resolve(tenant: TenantId, refs: readonly SecretRef[]): readonly string[] | Promise<readonly string[]>
}

export interface SecretRow {
  readonly name: string
  /** null: there is only a pending value. */
  readonly version: number | null
  /** Of the value in use: distinguishes values and reveals nothing of them. null: there is none, or it cannot be decrypted. */
  readonly fingerprint: string | null
  readonly hasPending: boolean
  readonly pendingFingerprint: string | null
  /** Until when each former value is resolved beside the one in use, the latest one first. */
  readonly oldUntil: readonly Instant[]
  readonly updatedAt: Instant
  readonly updatedBy: string
}

/** One value, for a call that is about to be made: it is not stored. */
export interface SecretValue {
  readonly version: number
  readonly value: string
  readonly fingerprint: string
}

/** A vault whose secrets can be set here. Values are returned by `resolve`, `current` and `pending` alone. */
export interface SecretVault extends Vault {
  resolve(tenant: TenantId, refs: readonly SecretRef[]): Promise<readonly string[]>
  /** By name. */
  list(tenant: TenantId, page: PageRequest): Promise<Page<SecretRow>>
  find(tenant: TenantId, name: string): Promise<SecretRow | null>
  /** Those that `resolve` would find. */
  names(tenant: TenantId): Promise<ReadonlySet<string>>
  /**
   * The value in use; null: none is set. Like `resolve` it may be cached for seconds. `atLeast`: an older version than this is
   * known to be replaced, so a cached older one is not used.
   */
  current(
    tenant: TenantId,
    name: string,
    options?: { readonly atLeast?: number },
  ): Promise<SecretValue | null>
  /** The value that waits to be promoted, as it is now. */
  pending(tenant: TenantId, name: string): Promise<SecretValue | null>
  /**
   * A pending value waits beside the one in use; any other replaces that at once, and a pending one. `overlapMs`: for this long
   * the former value is resolved too, after it, and so are earlier ones while their own time lasts: the five latest. Omitted or
   * 0: the new value is the only one from now on. A pending value changes none of this. `expectedVersion`: the one that must be
   * in use, null for none; otherwise nothing changes and it throws `conflict`, as it does if another node changes it at the
   * same moment.
   */
  set(
    tenant: TenantId,
    name: string,
    value: string,
    options: {
      readonly isPending: boolean
      readonly by: string
      readonly overlapMs?: number
      readonly expectedVersion?: number | null
    },
  ): Promise<{ readonly version: number }>
  /**
   * The pending value replaces the one in use; `overlapMs` as when it is set. Without one it throws `not_found`.
   * `expectedPendingFingerprint`: of the value that was verified; if that one is no longer pending nothing changes and it
   * throws `conflict`, so that of any number of callers one succeeds.
   */
  promote(
    tenant: TenantId,
    name: string,
    by: string,
    overlapMs?: number,
    options?: { readonly expectedPendingFingerprint?: string },
  ): Promise<{ readonly version: number }>
  remove(tenant: TenantId, name: string, by: string): Promise<void>
  /** Encrypts everything with the current master key; a value that cannot be decrypted is left unchanged and named. */
  rewrap(tenants: readonly TenantId[]): Promise<{
    readonly rewrapped: number
    readonly unreadable: readonly { readonly tenant: TenantId; readonly name: string }[]
  }>
}
