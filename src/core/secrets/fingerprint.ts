// Distinguishes two values of a secret without revealing them: a prefix of a hash, bound to the tenant and the name, so that
// equal values under two names or of two tenants have different fingerprints.

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
