// What tells two values of a secret apart and says nothing of them: the beginning of a hash, bound to the tenant and the name, so that the
// same value under two names, or of two tenants, does not show as the same.

import { createHash } from 'node:crypto'

const HEX_LENGTH = 16

export function fingerprintOf(tenant: string, name: string, value: string): string {
  const bound = JSON.stringify(['millrace secret fingerprint', 1, tenant, name])
  return createHash('sha256')
    .update(bound)
    .update('\0')
    .update(value, 'utf8')
    .digest('hex')
    .slice(0, HEX_LENGTH)
}
