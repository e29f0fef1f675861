// The stored records of access: each body has a version of its form.
//
// Keys and sessions are stored in their tenant's scope, tenants in that of the first one. No record grants access: only the
// hash of every secret is stored.

import type { Role } from '../../core/access/callers/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'

/** Whose permissions a session or a link carries: the node's own admin key, or a key of the tenant. */
export type Credential = { readonly kind: 'node' } | { readonly kind: 'key'; readonly id: string }

export interface KeyRecord {
  readonly form: 1
  readonly name: string
  readonly role: Role
  /** Omitted: it was made before permissions existed. */
  readonly permissions?: readonly string[]
  readonly hash: string
  readonly createdAt: Instant
  readonly createdBy: string
  /** null: never. */
  readonly expiresAt: Instant | null
  /** To the minute. */
  readonly lastUsedAt: Instant | null
}

/** A session, or a link that becomes one. */
export interface GrantRecord {
  readonly form: 1
  readonly hash: string
  readonly credential: Credential
  readonly createdAt: Instant
  readonly expiresAt: Instant
  /** When sessions that come of it must end. */
  readonly endsAt?: Instant | null
}

export interface TenantRecord {
  readonly form: 1
  readonly description: string | null
  readonly createdAt: Instant
  readonly createdBy: string
}

export function isExpired(expiresAt: Instant | null, now: Instant): boolean {
  return expiresAt !== null && now >= expiresAt
}
