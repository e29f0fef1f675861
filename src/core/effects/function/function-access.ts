// Which tenants' routes may run a function. The folder's code belongs to the node, as does the tenant `default`: another tenant
// runs only functions that the code opens to it.

import { isTenantName } from '../../access/callers/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../foundation/ids/index.ts'

/** `tenants` of a function: names of tenants, or all of them. */
export function isOpening(tenants: unknown): tenants is 'all' | readonly string[] {
  if (tenants === 'all') return true
  return Array.isArray(tenants) && tenants.every((one) => typeof one === 'string' && isTenantName(one))
}

/** An invalid value opens nothing. */
export function isOpenTo(tenants: unknown, tenant: TenantId): boolean {
  if (tenant === DEFAULT_TENANT) return true
  return isOpening(tenants) && (tenants === 'all' || tenants.includes(tenant))
}
