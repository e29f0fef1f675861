// In-memory keys for the consumers and hosts of all tenants.

import { actionFactsOf } from '../../core/definitions/documents/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { Item } from '../leases/index.ts'

/** A tenant's name contains no slash. */
export function nameOf(tenant: TenantId, name: string): string {
  return `${tenant}/${name}`
}

/** One claim of a job: callers may pass a copy of the job. */
export function holdOf({ work }: Pick<Item, 'work'>): string {
  return `${work.id} ${work.epoch}`
}

const FIXED_HOST = /^https?:\/\/([^/?#{}]+)(?:[/?#]|$)/i
const hosts = new WeakMap<Route['document'], string | null>()

/**
 * The host of all calls of a route, if its URL is the same for every event; null: it depends on the event, or
 * there is no call.
 */
export function fixedHostOf({ document }: Route): string | null {
  const known = hosts.get(document)
  if (known !== undefined) return known
  const address = actionFactsOf(document.do).address?.(document.do) ?? ''
  const host = FIXED_HOST.exec(address)?.[1]?.toLowerCase() ?? null
  hosts.set(document, host)
  return host
}
