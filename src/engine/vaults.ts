// One vault of two: `{ env }` from the environment, `{ ref }` from the vault that people fill.

import type { DefinitionDocument, SecretRef } from '../core/definition/index.ts'
import type { Vault } from '../ports/vault.ts'

export function combineVaults(vaults: { readonly env: Vault; readonly ref: Vault }): Vault {
  const vaultOf = (ref: SecretRef) => ('env' in ref ? vaults.env : vaults.ref)
  return {
    resolve(tenant, refs) {
      const [first, ...rest] = refs
      if (first === undefined) return Promise.resolve([])
      const vault = vaultOf(first)
      // Every webhook comes by here, and nearly every source has its secrets in one place.
      if (rest.every((ref) => vaultOf(ref) === vault)) return vault.resolve(tenant, refs)
      return Promise.all(refs.map((ref) => vaultOf(ref).resolve(tenant, [ref]))).then((values) =>
        values.flat(),
      )
    },
  }
}

/** Secrets of the vault that sources name and the vault does not have. */
export function unsetSecrets(
  documents: readonly DefinitionDocument[],
  names: ReadonlySet<string>,
): readonly { readonly source: string; readonly name: string }[] {
  return documents.flatMap((document) => {
    if (document.kind !== 'Source' || document.verify.scheme === 'none') return []
    const missing = document.verify.secret.flatMap((ref) =>
      'ref' in ref && !names.has(ref.ref) ? [ref.ref] : [],
    )
    return missing.map((name) => ({ source: document.name, name }))
  })
}
