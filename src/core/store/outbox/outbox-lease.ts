// Which node relays the outbox to the bus: one at a time, by a record with its holder and expiry, in the store's time.
//
// Two relays at once would lose nothing, but could publish in the wrong order to a bus that has forgotten the ids.

import type { Instant } from '../../foundation/time/index.ts'

export interface RelayLease {
  readonly by: string
  readonly until: Instant
}

/** Renewed when this much is left of it. */
export const RELAY_LEASE_MS = 15_000
const RELAY_RENEW_MS = 8_000

/** `take`: it is free, expired, or one's own and about to expire. */
export function judgeLease(
  lease: RelayLease | null,
  by: string,
  now: Instant,
): { readonly is: 'held' } | { readonly is: 'take' } | { readonly is: 'others'; readonly forMs: number } {
  if (lease === null || lease.until <= now) return { is: 'take' }
  if (lease.by !== by) return { is: 'others', forMs: lease.until - now }
  return lease.until - now <= RELAY_RENEW_MS ? { is: 'take' } : { is: 'held' }
}

export function parseLease(body: string): RelayLease | null {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const { by, until } = value as Record<string, unknown>
  return typeof by === 'string' && typeof until === 'number' ? { by, until } : null
}
