// Names of tenants. They are part of addresses, keys and subjects, so they contain neither dots nor underscores.

export const TENANT_NAME = '^[a-z0-9][a-z0-9-]{0,62}$'

const PATTERN = new RegExp(TENANT_NAME)

export function isTenantName(text: string): boolean {
  return PATTERN.test(text)
}
