// Which names subscriptions of the API have: asked before definitions bring some.

import type { SubscriptionRecord } from '../../core/subscription/index.ts'
import type { TenantReads } from '../../ports/store.ts'

/** Of a subscription that definitions have, only what happened to it is kept. */
export async function heldByApi(
  reads: Pick<TenantReads, 'record'>,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const held = new Set<string>()
  for (const name of names) {
    const found = await reads.record('subscription', name)
    if (found !== null && (JSON.parse(found.body) as SubscriptionRecord).document !== null) held.add(name)
  }
  return held
}
