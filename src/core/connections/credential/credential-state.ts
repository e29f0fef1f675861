// core/connections/credential/credential-state.ts — what became of a credential: which version of its secret is in use, which one is being verified, and what
// its rotations came to. It is kept as a record by the credential's name. Values are in the vault alone.
//
// Invariants: CD1 the prior version stays in use until the new one is verified. CD2 one rotation at a time, known by its token; asking
// again with the same token changes nothing. CD3 one rotation per refused version, and none within the cool-down after the last one.

import type { WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

export const CREDENTIAL_STATUSES = ['active', 'rotating', 'waiting', 'missing'] as const
/** `waiting`: a rotation waits for a person to bring the new value. `missing`: the vault has no value. */
export type CredentialStatus = (typeof CREDENTIAL_STATUSES)[number]

export const ROTATION_REASONS = ['policy', 'request', 'auth-failure', 'supplied'] as const
export type RotationReason = (typeof ROTATION_REASONS)[number]

export interface CredentialVersion {
  readonly version: number
  /** The beginning of a hash of the value, under a name of its own: tells values apart and says nothing of them. */
  readonly fingerprint: string
  readonly since: Instant
  readonly by: string
  readonly state: 'active' | 'pending' | 'former' | 'refused'
  /** What it is called at the vendor, where it was made there; left out: nobody knows. */
  readonly ref?: string
}

export interface Rotation {
  /** The same for the same cause: what is asked twice is done once. */
  readonly token: string
  readonly reason: RotationReason
  /** In a person's words, where one asked. */
  readonly note: string | null
  readonly by: string
  readonly begunAt: Instant
  readonly workId: WorkId
  /** The version that is to be replaced; null: there was none. */
  readonly from: number | null
  /** What the vendor calls the secret that it made for this, written down before the value is kept. */
  readonly made?: { readonly fingerprint: string; readonly ref: string }
}

export interface CredentialState {
  readonly form: 1
  readonly status: CredentialStatus
  /** In use; null: none yet. */
  readonly current: CredentialVersion | null
  /** The latest first, the current and the pending one among them; ten at most. */
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
  /** Of what is derived from the secret (access tokens): until when, and who is about to get the next. Tokens are in the vault. */
  readonly token: {
    readonly expiresAt: Instant | null
    readonly version: number
    /** Since when it is in use. */
    readonly since?: Instant
  } | null
  /** Of the secret: the version that the vendor refused last. While it is in use and a rotation is under way, calls wait. */
  readonly refused?: { readonly version: number; readonly at: Instant } | null
  readonly refresh: { readonly by: string; readonly until: Instant } | null
  readonly updatedAt: Instant
}
