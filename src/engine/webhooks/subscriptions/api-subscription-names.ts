// The names of subscriptions of the API: checked before definitions are applied.

import type { TenantReads } from '../../../ports/store.ts'
import { trySubscription, UNREADABLE } from './subscription-records.ts'

/** Of a subscription in definitions only its state is stored. */
export async function heldByApi(
  reads: Pick<TenantReads, 'record'>,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const held = new Set<string>()
  for (const name of names) {
    const found = await trySubscription(reads, name)
    // An unreadable record does not count; a request that uses its name is refused later.
    if (found !== null && found !== UNREADABLE && found.record.document !== null) held.add(name)
  }
  return held
}
