// Resolves the name of a connection now: its document, its provider, its addresses. Looked up when a call is made, never
// pinned.

import { type Addresses, resolveAddresses } from '../../core/connections/connection/index.ts'
import type {
  ConnectionDocument,
  CredentialDocument,
  ProviderDocument,
  VarValues,
} from '../../core/definitions/documents/index.ts'
import { describeError as describe, ExpressionError } from '../../core/expression/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Vars } from '../../core/routing/index.ts'
import type { Deployed, Registry } from './registry.ts'

export interface Account {
  readonly name: string
  readonly hash: string
  readonly connection: ConnectionDocument
  readonly provider: ProviderDocument
  /** null: the provider needs none. */
  readonly credential: CredentialDocument | null
  readonly addresses: Addresses
}

export type Lookup =
  | { readonly ok: true; readonly account: Account }
  /** With what to do next. */
  | { readonly ok: false; readonly code: string; readonly why: string }

export interface Lookups {
  find(tenant: TenantId, connection: string): Lookup
}

export function makeLookups(deps: { readonly registry: Registry; readonly vars: Vars }): Lookups {
  const { registry, vars } = deps
  const known = new WeakMap<
    Deployed<ConnectionDocument>,
    {
      readonly provider: string
      readonly credential: CredentialDocument | null
      readonly values: VarValues
      readonly found: Lookup
    }
  >()

  const resolve = (
    { document, hash }: Deployed<ConnectionDocument>,
    provider: ProviderDocument,
    credential: CredentialDocument | null,
    values: VarValues,
  ): Lookup => {
    const { name } = document
    try {
      const addresses = resolveAddresses(provider, document, values)
      return {
        ok: true,
        account: { name, hash, connection: document, provider, credential, addresses },
      }
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      const why = `the address of the connection ${name} cannot be made: ${describe(error)}; mend its config or the variable`
      return { ok: false, code: 'connection_address', why }
    }
  }

  return {
    find(tenant, name) {
      const connection = registry.connection(tenant, name)
      if (connection === null) {
        const why = `there is no connection ${name}; apply its document, or name another`
        return { ok: false, code: 'connection_unknown', why }
      }
      const { document } = connection
      const provider = registry.provider(tenant, document.provider)
      if (provider === null) {
        const why = `the connection ${name} is to ${document.provider}, which is no provider; apply one of that name`
        return { ok: false, code: 'provider_unknown', why }
      }
      const credential =
        document.credential === null
          ? null
          : (registry.credential(tenant, document.credential)?.document ?? null)
      if (document.credential !== null && credential === null) {
        const why = `the connection ${name} names the credential ${document.credential}, which is not there; apply it`
        return { ok: false, code: 'credential_unknown', why }
      }
      const before = known.get(connection)
      const values = vars(tenant)
      if (before?.provider === provider.hash && before.credential === credential && before.values === values)
        return before.found
      const found = resolve(connection, provider.document, credential, values)
      known.set(connection, { provider: provider.hash, credential, values, found })
      return found
    },
  }
}
