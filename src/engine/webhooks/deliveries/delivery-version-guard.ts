// Who adds deliveries to a subscription beside the door: one after the other.
//
// Whether an event has a delivery cannot be guarded: there is no row to name before there is one. So whoever adds one by what he
// has read guards the subscription's turn, which he read before, and moves it on. Of two who looked at the same time the second
// is refused, looks again, and sees what the first has added.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { Guard, Store, Write } from '../../../ports/store.ts'

export interface Turn {
  readonly guard: Guard
  readonly write: Write
}

/** To be read before what is decided by. `consumer`: `subscription:<name>` */
export async function readTurn(store: Store, tenant: TenantId, consumer: string): Promise<Turn> {
  const key = `turn/${consumer}`
  const version = (await store.forTenant(tenant).record('replay', key))?.version ?? 0
  return {
    guard: { g: 'version', of: 'replay', key, version },
    write: { w: 'record.put', kind: 'replay', key, version: version + 1, body: '{}' },
  }
}
