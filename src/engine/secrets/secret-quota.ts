// A vault that users fill through the API, limited to the number of secrets that a tenant may have.

import { holdToLimit, type TenantLimits } from '../../core/access/callers/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { OWN_SECRETS } from '../../core/secrets/index.ts'
import { generatedSecret } from '../../core/webhooks/subscription/index.ts'
import type { Page } from '../../ports/store.ts'
import type { SecretRow, SecretVault } from '../../ports/vault.ts'

const COUNT_PAGE = 200
/** Made by the engine for subscriptions and credentials, which have limits of their own. */
const MADE_HERE = [OWN_SECRETS, generatedSecret('')]

export function limitSecrets<Vault extends Pick<SecretVault, 'set' | 'find' | 'list'>>(
  vault: Vault,
  limits: TenantLimits,
): Vault {
  const isMadeHere = (name: string) => MADE_HERE.some((beginning) => name.startsWith(beginning))

  const countSecrets = async (tenant: TenantId): Promise<number> => {
    let count = 0
    let cursor: string | null = null
    do {
      const page: Page<SecretRow> = await vault.list(tenant, { cursor, limit: COUNT_PAGE })
      count += page.items.filter(({ name }) => !isMadeHere(name)).length
      cursor = page.nextCursor
    } while (cursor !== null && count <= limits.secrets)
    return count
  }

  return {
    ...vault,
    async set(tenant, name, value, options) {
      if ((await vault.find(tenant, name)) === null)
        holdToLimit('secrets', (await countSecrets(tenant)) + 1, limits)
      return vault.set(tenant, name, value, options)
    },
  }
}
