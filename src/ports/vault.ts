// Secrets by reference: values are resolved when they are needed and kept nowhere else.

import type { SecretRef } from '../core/definition/index.ts'
import type { TenantId } from '../core/ids/index.ts'
import type { Instant } from '../core/time/index.ts'
import type { Page, PageRequest } from './store.ts'

export interface Vault {
  /** The values of a reference, the preferred one first; more than one while a secret is being rotated. Empty: not set. */
  resolve(tenant: TenantId, refs: readonly SecretRef[]): Promise<readonly string[]>
}

export interface SecretRow {
  readonly name: string
  /** null: there is only a pending value. */
  readonly version: number | null
  readonly hasPending: boolean
  /** Until when each former value is resolved beside the one in use, the latest one first. */
  readonly oldUntil: readonly Instant[]
  readonly updatedAt: Instant
  readonly updatedBy: string
}

/** A vault whose secrets can be set here. Values go in and come out by `resolve` alone. */
export interface SecretVault extends Vault {
  /** By name. */
  list(tenant: TenantId, page: PageRequest): Promise<Page<SecretRow>>
  find(tenant: TenantId, name: string): Promise<SecretRow | null>
  /** Those that `resolve` would find. */
  names(tenant: TenantId): Promise<ReadonlySet<string>>
  /**
   * A pending value waits beside the one in use; any other takes its place at once, and that of a pending one. `overlapMs`: for so long
   * the former value is resolved too, behind it, and so are those before while their own time lasts: the five latest. Left out or 0:
   * the new value is the only one from now on. A pending value changes none of this.
   */
  set(
    tenant: TenantId,
    name: string,
    value: string,
    options: { readonly isPending: boolean; readonly by: string; readonly overlapMs?: number },
  ): Promise<{ readonly version: number }>
  /** The pending value takes the place of the one in use; `overlapMs` as when it is set. */
  promote(
    tenant: TenantId,
    name: string,
    by: string,
    overlapMs?: number,
  ): Promise<{ readonly version: number }>
  remove(tenant: TenantId, name: string, by: string): Promise<void>
  /** Seals everything with the current master key; what cannot be opened is left as it is and named. */
  rewrap(tenants: readonly TenantId[]): Promise<{
    readonly rewrapped: number
    readonly unreadable: readonly { readonly tenant: TenantId; readonly name: string }[]
  }>
}
