// Whose routes may run a function. Code of the folder is the node's, and so is the tenant `default`: another tenant runs what
// the code opens to it, and nothing else.

import { isTenantName } from '../../access/callers/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../foundation/ids/index.ts'

/** What `tenants` of a function is: names of tenants, or all of them. */
export function isOpening(tenants: unknown): tenants is 'all' | readonly string[] {
  if (tenants === 'all') return true
  return Array.isArray(tenants) && tenants.every((one) => typeof one === 'string' && isTenantName(one))
}

/** Anything but a sound opening opens nothing. */
export function isOpenTo(tenants: unknown, tenant: TenantId): boolean {
  if (tenant === DEFAULT_TENANT) return true
  return isOpening(tenants) && (tenants === 'all' || tenants.includes(tenant))
}
