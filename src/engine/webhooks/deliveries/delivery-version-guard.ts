// Serializes those who add deliveries to a subscription after ingest.
//
// That an event has no delivery cannot be guarded: there is no row to name before it exists. So before reading, the caller
// reads a version of the subscription, and its commit guards and increments that version. Of two concurrent callers the second
// is refused, reads again, and sees what the first one added.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { Guard, Store, Write } from '../../../ports/store.ts'

export interface DeliveryVersion {
  readonly guard: Guard
  readonly write: Write
}

/** To be read before the rows that the decision is based on. `consumer`: `subscription:<name>` */
export async function readDeliveryVersion(
  store: Store,
  tenant: TenantId,
  consumer: string,
): Promise<DeliveryVersion> {
  const key = `turn/${consumer}`
  const version = (await store.forTenant(tenant).record('replay', key))?.version ?? 0
  return {
    guard: { g: 'version', of: 'replay', key, version },
    write: { w: 'record.put', kind: 'replay', key, version: version + 1, body: '{}' },
  }
}
