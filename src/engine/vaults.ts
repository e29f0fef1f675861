// One vault of two: `{ env }` from the environment, `{ ref }` from the vault that people fill.

import { type DefinitionDocument, type SecretRef, secretsOf } from '../core/definition/index.ts'
import type { Vault } from '../ports/vault.ts'

export function combineVaults(vaults: { readonly env: Vault; readonly ref: Vault }): Vault {
  return {
    resolve(tenant, refs) {
      let inEnv = 0
      for (const ref of refs) if ('env' in ref) inEnv += 1
      // Every webhook comes by here, and nearly every source has its secrets in one place.
      if (inEnv === refs.length) return vaults.env.resolve(tenant, refs)
      if (inEnv === 0) return vaults.ref.resolve(tenant, refs)
      const each = refs.map((ref) => ('env' in ref ? vaults.env : vaults.ref).resolve(tenant, [ref]))
      return Promise.all(each).then((values) => values.flat())
    },
  }
}

/** Secrets of the vault that sources and subscriptions name and the vault does not have. */
export function unsetSecrets(
  documents: readonly DefinitionDocument[],
  names: ReadonlySet<string>,
): readonly {
  readonly of: 'source' | 'subscription'
  readonly definition: string
  readonly name: string
}[] {
  return documents.flatMap((document) => {
    const refs = refsOf(document)
    const of = document.kind === 'Source' ? 'source' : 'subscription'
    const missing = refs.flatMap((ref) => ('ref' in ref && !names.has(ref.ref) ? [ref.ref] : []))
    return missing.map((name) => ({ of, definition: document.name, name }) as const)
  })
}

function refsOf(document: DefinitionDocument): readonly SecretRef[] {
  if (document.kind === 'Source') return secretsOf(document.verify)
  return document.kind === 'Subscription' && document.secret !== null ? [document.secret] : []
}
