// One vault of two: `{ env }` from the environment, `{ ref }` from the vault that people fill.

import { type DefinitionDocument, secretsOf } from '../core/definition/index.ts'
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

/** Secrets of the vault that sources name and the vault does not have. */
export function unsetSecrets(
  documents: readonly DefinitionDocument[],
  names: ReadonlySet<string>,
): readonly { readonly source: string; readonly name: string }[] {
  return documents.flatMap((document) => {
    if (document.kind !== 'Source') return []
    const missing = secretsOf(document.verify).flatMap((ref) =>
      'ref' in ref && !names.has(ref.ref) ? [ref.ref] : [],
    )
    return missing.map((name) => ({ source: document.name, name }))
  })
}
