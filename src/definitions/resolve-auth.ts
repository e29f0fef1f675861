// The normal form of inline auth.

import type { AuthDocument } from '../core/definitions/documents/index.ts'
import { assert } from '../core/foundation/errors/index.ts'
import { resolveSecret, type SecretPlaceInput } from './resolve-secrets.ts'

export interface AuthInput {
  readonly bearer?: SecretPlaceInput | undefined
  readonly basic?: { readonly user: string; readonly password: SecretPlaceInput } | undefined
  readonly header?: { readonly name: string; readonly value: SecretPlaceInput } | undefined
}

/** As a field beside others: omitted if nothing was written. */
export function resolveAuth(input: AuthInput | undefined): { readonly auth?: AuthDocument } {
  return input === undefined ? {} : { auth: authOf(input) }
}

function authOf({ bearer, basic, header }: AuthInput): AuthDocument {
  if (bearer !== undefined) return { bearer: resolveSecret(bearer) }
  if (basic !== undefined) return { basic: { user: basic.user, password: resolveSecret(basic.password) } }
  assert(header !== undefined, 'auth has `bearer`, `basic` or `header`')
  return { header: { name: header.name.toLowerCase(), value: resolveSecret(header.value) } }
}
