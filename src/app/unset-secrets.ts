// Warns of unset secrets that definitions name.

import { DEFAULT_TENANT, type TenantId } from '../core/foundation/ids/index.ts'
import type { Engine } from '../engine/index.ts'
import { isVaultTrouble, missingSecrets, placeOfSecret, unsetSecrets } from '../engine/secrets/index.ts'
import type { Log } from '../ports/log.ts'
import type { SecretVault, Vault } from '../ports/vault.ts'

/** An unavailable vault does not keep a node from starting: jobs that need its secrets wait for it. */
export async function warnOfUnsetSecrets(deps: {
  readonly tenants: readonly TenantId[]
  readonly definitions: Pick<Engine['definitions'], 'list'>
  readonly secrets: Pick<SecretVault, 'names'>
  readonly vault: Vault
  readonly log: Log
}): Promise<readonly string[]> {
  const lines: string[] = []
  try {
    for (const tenant of deps.tenants) {
      const documents = (await deps.definitions.list(tenant)).map(({ document }) => document)
      for (const { of, definition, name } of unsetSecrets(documents, await deps.secrets.names(tenant)))
        deps.log.warn(UNSET[of], { tenant, [of]: definition, name })
      for (const { ref, definitions } of await missingSecrets(documents, (one) =>
        deps.vault.resolve(tenant, [one]),
      )) {
        const place = placeOfSecret(ref)
        const message = `${place} is not set, and ${definitions.join(', ')} needs it`
        deps.log.warn('secret.not-set', { tenant, ...ref, definitions: definitions.join(', '), message })
        lines.push(tenant === DEFAULT_TENANT ? message : `${tenant}: ${message}`)
      }
    }
  } catch (error) {
    if (!isVaultTrouble(error)) throw error
    deps.log.warn('vault.not-checked', { code: error.code, message: error.message })
  }
  return lines
}

const UNSET = {
  source: 'source.secret-not-set',
  subscription: 'subscription.secret-not-set',
  credential: 'credential.secret-not-set',
} as const
