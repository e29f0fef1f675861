// The record of a poller: its state, under a version that every change guards.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../../core/foundation/json/index.ts'
import { NEW_POLLER, type PollerState } from '../../core/polling/poller/index.ts'
import type { Guard, Store, Write } from '../../ports/store.ts'

export interface StoredPoller {
  readonly state: PollerState
  /** 0: there is no record. */
  readonly version: number
}

export async function readPoller(
  store: Pick<Store, 'forTenant'>,
  tenant: TenantId,
  name: string,
): Promise<StoredPoller> {
  const found = await store.forTenant(tenant).record('poller', name)
  return found === null
    ? { state: NEW_POLLER, version: 0 }
    : { state: JSON.parse(found.body) as PollerState, version: found.version }
}

/** What replaces this version of the state in a commit. */
export function changePoller(
  name: string,
  { version }: Pick<StoredPoller, 'version'>,
  state: PollerState,
): { readonly guard: Guard; readonly write: Write } {
  const body = stringifyJson(state as unknown as JsonValue)
  return {
    guard: { g: 'version', of: 'poller', key: name, version },
    write: { w: 'record.put', kind: 'poller', key: name, version: version + 1, body },
  }
}
