// The state of a credential: which version of its secret is in use, which one is being verified, and the results of its
// rotations. Stored as a record under the credential's name. Values are in the vault alone.
//
// Invariants: CD1 the prior version stays in use until the new one is verified. CD2 one rotation at a time, identified by its
// token; a repeated request with the same token changes nothing. CD3 one rotation per refused version, and none within the
// cool-down after the last one.

import type { WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

export const CREDENTIAL_STATUSES = ['active', 'rotating', 'waiting', 'missing'] as const
/** `waiting`: a rotation waits for a user to enter the new value. `missing`: the vault has no value. */
export type CredentialStatus = (typeof CREDENTIAL_STATUSES)[number]

export const ROTATION_REASONS = ['policy', 'request', 'auth-failure', 'supplied'] as const
export type RotationReason = (typeof ROTATION_REASONS)[number]

export interface CredentialVersion {
  readonly version: number
  /** A prefix of a domain-separated hash of the value: distinguishes values and reveals nothing about them. */
  readonly fingerprint: string
  readonly since: Instant
  readonly by: string
  readonly state: 'active' | 'pending' | 'former' | 'refused'
  /** The vendor's id of the secret, if it was created there; left out: unknown. */
  readonly ref?: string
}

export interface Rotation {
  /** The same for the same cause, so that a repeated request is done once. */
  readonly token: string
  readonly reason: RotationReason
  /** In the user's words, if a user requested it. */
  readonly note: string | null
  readonly by: string
  readonly begunAt: Instant
  readonly workId: WorkId
  /** The version to replace; null: there was none. */
  readonly from: number | null
  /** The vendor's id of the secret created for this rotation, recorded before the value is stored. */
  readonly made?: { readonly fingerprint: string; readonly ref: string }
}

export interface CredentialState {
  readonly form: 1
  readonly status: CredentialStatus
  /** In use; null: none yet. */
  readonly current: CredentialVersion | null
  /** Newest first, including the current and the pending one; ten at most. */
  readonly versions: readonly CredentialVersion[]
  readonly rotation: Rotation | null
  readonly lastRotatedAt: Instant | null
  readonly lastFailure: {
    readonly at: Instant
    readonly token: string
    /** The version that stays in use. */
    readonly version: number | null
    readonly error: string
  } | null
  /** State of tokens derived from the secret (access tokens): their expiry, and who is refreshing. Tokens are in the vault. */
  readonly token: {
    readonly expiresAt: Instant | null
    readonly version: number
    /** Since when it is in use. */
    readonly since?: Instant
  } | null
  /** The version of the secret that the vendor refused last. While it is in use and a rotation is under way, calls wait. */
  readonly refused?: { readonly version: number; readonly at: Instant } | null
  readonly refresh: { readonly by: string; readonly until: Instant } | null
  readonly updatedAt: Instant
}
