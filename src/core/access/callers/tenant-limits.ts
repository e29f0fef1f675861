// Limits per tenant, so that no tenant fills the node for the others.
//
// Invariant: a limit refuses only what would add to a count. A tenant above a limit that was lowered can still change and
// remove what it has.

import { AppError } from '../../foundation/errors/index.ts'

export interface TenantLimits {
  /** Set by users; secrets that the engine creates for subscriptions and credentials are not counted. */
  readonly secrets: number
  readonly definitions: number
  readonly keys: number
  /** Created by the API and by definitions, counted together. */
  readonly subscriptions: number
}

export const TENANT_LIMITS: TenantLimits = {
  secrets: 2_000,
  definitions: 5_000,
  keys: 1_000,
  subscriptions: 20_000,
}

/** The setting that sets each limit. */
const SETTINGS: Readonly<Record<keyof TenantLimits, string>> = {
  secrets: 'MILLRACE_TENANT_SECRETS',
  definitions: 'MILLRACE_TENANT_DEFINITIONS',
  keys: 'MILLRACE_TENANT_KEYS',
  subscriptions: 'MILLRACE_TENANT_SUBSCRIPTIONS',
}

/** `count`: the number after the change. Throws `tenant_limit`. */
export function holdToLimit(what: keyof TenantLimits, count: number, limits: TenantLimits): void {
  const limit = limits[what]
  if (count <= limit) return
  const detail = `a tenant may have ${limit} ${what}, and this would make it ${count}; ${SETTINGS[what]} is the limit`
  throw new AppError('tenant_limit', detail, { details: { what, limit, setting: SETTINGS[what] } })
}
