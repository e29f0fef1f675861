// Inline auth in its stored form: how a request authenticates where a connection would be too much.

import type { SecretRef } from './verify-document.ts'

export type AuthDocument =
  | { readonly bearer: SecretRef }
  | { readonly basic: { readonly user: string; readonly password: SecretRef } }
  /** `name`: lower case. */
  | { readonly header: { readonly name: string; readonly value: SecretRef } }

/** The header that it sets. */
export function authHeaderOf(auth: AuthDocument): string {
  return 'header' in auth ? auth.header.name : 'authorization'
}

export function authSecretOf(auth: AuthDocument): SecretRef {
  if ('bearer' in auth) return auth.bearer
  return 'basic' in auth ? auth.basic.password : auth.header.value
}
