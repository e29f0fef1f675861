// Which names subscriptions of the API have: asked before definitions bring some.

import type { TenantReads } from '../../../ports/store.ts'
import { trySubscription, UNREADABLE } from './subscription-records.ts'

/** Of a subscription that definitions have, only what happened to it is kept. */
export async function heldByApi(
  reads: Pick<TenantReads, 'record'>,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const held = new Set<string>()
  for (const name of names) {
    const found = await trySubscription(reads, name)
    // Of one that does not open nobody here can tell; whoever takes its name for another is refused then.
    if (found !== null && found !== UNREADABLE && found.record.document !== null) held.add(name)
  }
  return held
}
