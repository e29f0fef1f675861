// A credential as data: which secret of the vault authenticates a tenant's account at a provider, and how. Values are in the
// vault alone.

import type { CarriedCredential } from './carried-fields.generated.ts'
import type { AuthModel } from './provider-document.ts'
import type { SecretRef } from './verify-document.ts'

export interface CredentialDocument extends CarriedCredential {
  readonly kind: 'Credential'
  readonly name: string
  readonly description: string | null
  readonly provider: string
  readonly auth: AuthModel
  /**
   * apiKey, bearer, hmac: the value. basic: the password. oauth2: the client's secret. githubApp: the private key (PEM).
   * serviceAccount: the key file (JSON).
   */
  readonly secret: SecretRef
  /** Of `basic`. */
  readonly username: string | null
  readonly oauth2: {
    readonly grant: 'clientCredentials' | 'authorizationCode'
    readonly clientId: string
    /** In place of the provider's. */
    readonly scopes: readonly string[] | null
    readonly audience: string | null
  } | null
  readonly githubApp: { readonly appId: string; readonly installationId: string } | null
  /** The requested scopes, and the user on whose behalf. */
  readonly serviceAccount: { readonly scopes: readonly string[]; readonly subject: string | null } | null
  readonly hmac: { readonly algorithm: 'sha256' | 'sha512' } | null
  readonly rotation: {
    /** null: only on request, or when it is refused. */
    readonly everyMs: number | null
    /**
     * How long after a rotation, whatever its result, a refusal starts no other: what one rotation did not fix, the next would
     * not either.
     */
    readonly coolDownMs: number
    /** How long the former value stays valid beside the new one. */
    readonly overlapMs: number
  }
}

export const ROTATION_COOL_DOWN_MS = 10 * 60_000
export const ROTATION_OVERLAP_MS = 60_000
