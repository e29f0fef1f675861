// All tenants of the store: those with definitions, and those that were made and have none yet. What works through every
// tenant's records asks here: a tenant without definitions takes events, subscriptions and replays like any other.

import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import type { Page, Store, StoredRecord } from '../../ports/store.ts'

const PAGE = 500

export async function tenantsInStore(
  store: Pick<Store, 'system' | 'forTenant'>,
): Promise<readonly TenantId[]> {
  return withMade(store, await store.system('definitions').tenants())
}

/**
 * The tenants of which this node knows how long they store things. Definitions say that, all of them: a tenant with definitions
 * counts once they are loaded here, one without by the defaults.
 */
export async function tenantsWithKnownTimes(
  store: Pick<Store, 'system' | 'forTenant'>,
  registry: { tenants(): readonly TenantId[]; hasUnusable(tenant: TenantId): boolean },
): Promise<readonly TenantId[]> {
  const defined = new Set(await store.system('definitions').tenants())
  const all = await withMade(store, [...defined])
  const loaded = new Set(registry.tenants())
  return all.filter((tenant) => (loaded.has(tenant) || !defined.has(tenant)) && !registry.hasUnusable(tenant))
}

async function withMade(
  store: Pick<Store, 'forTenant'>,
  defined: readonly TenantId[],
): Promise<readonly TenantId[]> {
  const names = new Set<TenantId>(defined)
  names.add(DEFAULT_TENANT)
  let cursor: string | null = null
  do {
    const page: Page<StoredRecord> = await store
      .forTenant(DEFAULT_TENANT)
      .records({ kind: 'tenant', cursor, limit: PAGE })
    for (const { key } of page.items) names.add(key as TenantId)
    cursor = page.nextCursor
  } while (cursor !== null)
  return [...names]
}
