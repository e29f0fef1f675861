// Lists all tenants of the store: those with definitions, and those created without any yet. Loops over every tenant's
// records use this list: a tenant without definitions accepts events, subscriptions and replays like any other.

import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import type { Page, Store, StoredRecord } from '../../ports/store.ts'

const PAGE = 500

export async function tenantsInStore(
  store: Pick<Store, 'system' | 'forTenant'>,
): Promise<readonly TenantId[]> {
  return withMade(store, await store.system('definitions').tenants())
}

/**
 * The tenants whose retention times this node knows. All definitions together determine them: a tenant with
 * definitions is included once they are loaded here, one without uses the defaults.
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
