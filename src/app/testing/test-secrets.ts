// The secrets of a flow test: those that it gives, and a made-up value for every other one, so that a test lists only what matters to it.

import type { SecretRef } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { type NamedSecret, namedSecrets } from '../../core/secrets/index.ts'
import type { Vault } from '../../ports/vault.ts'

/** A value that most schemes can sign with: also those that ask for a prefix and base64. */
const MADE_UP = `whsec_${Buffer.from('a made-up secret of a flow test!').toString('base64')}`

export type GivenSecrets = Readonly<Record<string, string>>

export function secretValue(given: GivenSecrets, ref: SecretRef): string {
  const name = 'env' in ref ? ref.env : 'ref' in ref ? ref.ref : ref.file
  return Object.hasOwn(given, name) ? (given[name] as string) : MADE_UP
}

/** For `{ env }` and `{ file }`, which a node reads from its machine. */
export function makeGivenVault(given: GivenSecrets): Vault {
  return {
    resolve: (tenant, refs) => (tenant === DEFAULT_TENANT ? refs.map((ref) => secretValue(given, ref)) : []),
  }
}

/** The names that documents read from the node's own vault, with their values. */
export function vaultEntries(given: GivenSecrets, documents: readonly object[]): ReadonlyMap<string, string> {
  const named = documents.flatMap((document): readonly NamedSecret[] =>
    namedSecrets(document as unknown as JsonValue),
  )
  const refs = named.flatMap((one) => ('ref' in one ? [one.ref] : []))
  return new Map(refs.map((ref) => [ref, secretValue(given, { ref })]))
}
