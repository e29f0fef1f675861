// The leader lease of the relay, among nodes that share a store: a record that is taken, renewed and given up under its
// version.

import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { judgeLease, parseLease, RELAY_LEASE_MS, type RelayLease } from '../../core/store/outbox/index.ts'
import type { Store, Write } from '../../ports/store.ts'
import type { StoreTime } from '../commit/index.ts'

export interface LeaderLease {
  /** For how long another node has it still; 0: this node has it. Rejects if the store does. */
  take(): Promise<number>
  /** Whether this node still has it, as far as it knows without asking. */
  isHeld(): boolean
  giveUp(): Promise<void>
}

/** For a single node. */
export const ALWAYS_HELD: LeaderLease = { take: async () => 0, isHeld: () => true, giveUp: async () => {} }

const KEY = 'turn'

export function makeLeaderLease(deps: {
  readonly store: Pick<Store, 'commit' | 'forTenant'>
  readonly time: StoreTime
  /** This node's incarnation: no other has it. */
  readonly by: string
}): LeaderLease {
  const { store, time, by } = deps
  /** As this node wrote it last; its end is counted from before the request. */
  let own: { readonly version: number; readonly lease: RelayLease } | null = null

  const read = async () => {
    const found = await store.forTenant(DEFAULT_TENANT).record('relay', KEY)
    return { version: found?.version ?? 0, lease: found === null ? null : parseLease(found.body) }
  }
  const commit = async (version: number, write: Write): Promise<boolean> => {
    const guard = { g: 'version', of: 'relay', key: KEY, version } as const
    const result = await store.commit({ tenant: DEFAULT_TENANT, guards: [guard], writes: [write] })
    time.heard(result.at)
    return result.ok
  }

  return {
    async take() {
      const known = own ?? (await read())
      const judged = judgeLease(known.lease, by, time.now())
      if (judged.is === 'held') return 0
      own = null
      if (judged.is === 'others') return judged.forMs
      const lease: RelayLease = { by, until: time.now() + RELAY_LEASE_MS }
      const version = known.version + 1
      const isMine = await commit(known.version, {
        ...{ w: 'record.put', kind: 'relay', key: KEY, version, body: JSON.stringify(lease) },
      })
      if (!isMine) {
        const { lease: found } = await read()
        return Math.max(1, (found?.until ?? 0) - time.now())
      }
      own = { version, lease }
      return 0
    },
    isHeld: () => own !== null && own.lease.until > time.now(),
    async giveUp() {
      const held = own
      own = null
      if (held === null) return
      // The record stays: if versions started again, a node that slept would mistake another's lease for its own.
      const body = JSON.stringify({ by, until: 0 } satisfies RelayLease)
      await commit(held.version, {
        w: 'record.put',
        kind: 'relay',
        key: KEY,
        version: held.version + 1,
        body,
      })
    },
  }
}
