// One vault of three: `{ env }` from the environment, `{ file }` from the folder of secrets, `{ ref }` from the vault that
// users fill.

import { type DefinitionDocument, type SecretRef, secretsOf } from '../../core/definitions/documents/index.ts'
import { AppError, type ErrorCode } from '../../core/foundation/errors/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { namedSecrets } from '../../core/secrets/index.ts'
import type { Vault } from '../../ports/vault.ts'

export function combineVaults(vaults: {
  readonly env: Vault
  readonly file: Vault
  readonly ref: Vault
}): Vault {
  const vaultOf = (ref: SecretRef) => ('ref' in ref ? vaults.ref : 'env' in ref ? vaults.env : vaults.file)
  return {
    resolve(tenant, refs) {
      const [first] = refs
      if (first === undefined) return []
      // Every webhook takes this path, and nearly every source has its secrets in one place.
      const vault = vaultOf(first)
      if (refs.every((ref) => vaultOf(ref) === vault)) return vault.resolve(tenant, refs)
      const each = refs.map((ref) => vaultOf(ref).resolve(tenant, [ref]))
      return Promise.all(each).then((values) => values.flat())
    },
  }
}

const VAULT_TROUBLE: ReadonlySet<ErrorCode> = new Set([
  'secret_unreadable',
  'vault_sealed',
  'vault_denied',
  'vault_unavailable',
])

/** The vault could not return what it may have: an operator must fix that, and the caller retries. */
export function isVaultTrouble(error: unknown): error is AppError {
  return error instanceof AppError && VAULT_TROUBLE.has(error.code)
}

/** Where a value is, for users: never the value itself. */
export function placeOfSecret(ref: SecretRef): string {
  if ('ref' in ref) return `the secret \`${ref.ref}\``
  return 'env' in ref ? `the environment variable \`${ref.env}\`` : `the file \`${ref.file}\``
}

/** Secrets of the vault that sources, subscriptions and credentials name and that the vault does not have. */
export function unsetSecrets(
  documents: readonly DefinitionDocument[],
  names: ReadonlySet<string>,
): readonly {
  readonly of: 'source' | 'subscription' | 'credential'
  readonly definition: string
  readonly name: string
}[] {
  return documents.flatMap((document) => {
    const refs = refsOf(document)
    const of = OF[document.kind] ?? 'source'
    const missing = refs.flatMap((ref) => ('ref' in ref && !names.has(ref.ref) ? [ref.ref] : []))
    return missing.map((name) => ({ of, definition: document.name, name }) as const)
  })
}

const OF: { readonly [Kind in DefinitionDocument['kind']]?: 'source' | 'subscription' | 'credential' } = {
  Subscription: 'subscription',
  Credential: 'credential',
}

function refsOf(document: DefinitionDocument): readonly SecretRef[] {
  if (document.kind === 'Source') return secretsOf(document.verify)
  if (document.kind === 'Credential') return [document.secret]
  return document.kind === 'Subscription' && document.secret !== null ? [document.secret] : []
}

/** Secrets of any place that documents name and that have no value, each with the definitions that need it. */
export async function missingSecrets(
  documents: readonly DefinitionDocument[],
  resolve: (ref: SecretRef) => readonly string[] | Promise<readonly string[]>,
): Promise<readonly { readonly ref: SecretRef; readonly definitions: readonly string[] }[]> {
  const named = new Map<string, { ref: SecretRef; definitions: Set<string> }>()
  for (const document of documents) {
    for (const { path: _path, ...one } of namedSecrets(document as unknown as JsonValue)) {
      const ref: SecretRef = 'ref' in one ? { ref: one.ref } : one
      const entry = named.get(placeOfSecret(ref)) ?? { ref, definitions: new Set() }
      entry.definitions.add(`${document.kind}/${document.name}`)
      named.set(placeOfSecret(ref), entry)
    }
  }
  const missing: { ref: SecretRef; definitions: readonly string[] }[] = []
  for (const { ref, definitions } of named.values()) {
    if ((await resolve(ref)).length === 0) missing.push({ ref, definitions: [...definitions] })
  }
  return missing
}
