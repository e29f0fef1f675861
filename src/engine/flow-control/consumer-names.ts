// How consumers and hosts of all tenants are told apart in memory.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Item } from '../leases/index.ts'

/** No tenant's name has a slash. */
export function nameOf(tenant: TenantId, name: string): string {
  return `${tenant}/${name}`
}

/** One hold of an item: whoever passes it on may pass a copy. */
export function holdOf({ work }: Pick<Item, 'work'>): string {
  return `${work.id} ${work.epoch}`
}

const FIXED_HOST = /^https?:\/\/([^/?#{}]+)(?:[/?#]|$)/i
const hosts = new WeakMap<Route['document'], string | null>()

/** The host that all calls of a route go to, where its address says so for every event; null: it depends, or it calls nobody. */
export function fixedHostOf({ document }: Route): string | null {
  const known = hosts.get(document)
  if (known !== undefined) return known
  const action = document.do
  const address = action.type === 'http' ? action.url : action.type === 'upsert' ? action.baseUrl : ''
  const host = FIXED_HOST.exec(address)?.[1]?.toLowerCase() ?? null
  hosts.set(document, host)
  return host
}
