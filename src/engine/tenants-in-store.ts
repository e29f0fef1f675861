// All tenants of the store: those with definitions, and those that were made and have none yet. What works through every
// tenant's records asks here: a tenant without definitions takes events, subscriptions and replays like any other.

import { DEFAULT_TENANT, type TenantId } from '../core/ids/index.ts'
import type { Page, Store, StoredRecord } from '../ports/store.ts'

const PAGE = 500

export async function tenantsInStore(
  store: Pick<Store, 'system' | 'forTenant'>,
): Promise<readonly TenantId[]> {
  const names = new Set<TenantId>(await store.system('definitions').tenants())
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
