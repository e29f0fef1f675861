// Slots of long calls: a hanging endpoint must not keep slots from others, so a call that has lasted for a second lends its
// slot until it ends.
//
// Invariant: DY23 at most `LENT_MAX` slots are lent, so that this and the node's concurrency bound the calls in progress; and
// not all of them to the endpoints of one tenant. DY32 nothing is lent while the bodies of all calls in progress exceed
// `BYTES_MAX`, nor to a tenant whose own exceed its share: hanging calls keep their bodies in memory. One timer watches all
// calls: most end before it fires.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { Clock } from '../../../ports/clock.ts'

export interface SlotLending {
  /** A call with a body of this many bytes begins. The result must be called when it has ended. */
  begin(tenant: TenantId, bytes: number): () => void
}

const LEND_AFTER_MS = 1_000
/** This many calls may be in progress beside those that have a slot. */
export const LENT_MAX = 1_024
/** The rest is for other tenants: one with thousands of hanging endpoints must not use up all of them. */
const LENT_OF_ONE_MAX = 768

/** Bodies of calls in progress, lent or not, beyond which nothing is lent. */
const BYTES_MAX = 256 * 1_048_576
/** The share that one tenant may use. */
const BYTES_OF_ONE_PART = 0.75

interface Held {
  readonly tenant: TenantId
  readonly since: number
  takeBack: (() => void) | null
}

export function makeSlotLending(deps: {
  readonly clock: Pick<Clock, 'monotonic' | 'after'>
  /** Lends a slot of the tenant. The result takes it back. */
  lend(tenant: TenantId): () => void
  readonly bytesMax?: number
}): SlotLending {
  const { clock, bytesMax = BYTES_MAX } = deps
  /** Calls that hold their slot, the oldest first. */
  const holding = new Set<Held>()
  let lent = 0
  const lentOf = new Map<TenantId, number>()
  let bytes = 0
  const bytesOf = new Map<TenantId, number>()
  let isWatching = false

  const weigh = (tenant: TenantId, by: number) => {
    const now = (bytesOf.get(tenant) ?? 0) + by
    bytes += by
    if (now > 0) bytesOf.set(tenant, now)
    else bytesOf.delete(tenant)
  }

  const hasAll = (tenant: TenantId) =>
    (lentOf.get(tenant) ?? 0) >= LENT_OF_ONE_MAX || (bytesOf.get(tenant) ?? 0) > bytesMax * BYTES_OF_ONE_PART

  const count = (tenant: TenantId, by: 1 | -1) => {
    const now = (lentOf.get(tenant) ?? 0) + by
    lent += by
    if (now > 0) lentOf.set(tenant, now)
    else lentOf.delete(tenant)
  }

  const watch = (delayMs: number) => {
    isWatching = true
    clock.after(delayMs, () => {
      isWatching = false
      const now = clock.monotonic()
      let isOneLeft = false
      for (const held of holding) {
        const leftMs = held.since + LEND_AFTER_MS - now
        if (leftMs > 0) return watch(leftMs)
        // The maximum is lent: a call that ends makes room for the next, at the next check.
        if (lent >= LENT_MAX || bytes > bytesMax) return watch(LEND_AFTER_MS)
        if (hasAll(held.tenant)) {
          isOneLeft = true
          continue
        }
        holding.delete(held)
        count(held.tenant, 1)
        held.takeBack = deps.lend(held.tenant)
      }
      if (isOneLeft) watch(LEND_AFTER_MS)
    })
  }

  return {
    begin(tenant, size) {
      const held: Held = { tenant, since: clock.monotonic(), takeBack: null }
      holding.add(held)
      weigh(tenant, size)
      if (!isWatching) watch(LEND_AFTER_MS)
      return () => {
        holding.delete(held)
        weigh(tenant, -size)
        if (held.takeBack === null) return
        count(tenant, -1)
        held.takeBack()
      }
    },
  }
}
