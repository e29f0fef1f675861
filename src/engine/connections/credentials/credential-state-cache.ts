// The state of each credential, as this node knows it: cached in memory, changed by guarded commits, and read again every few
// seconds and whenever the cached state may be outdated.
//
// Invariant: CD11 a change is one commit, guarded by the record that it was decided by: of two concurrent nodes, one decides
// again.

import {
  type CredentialEvent,
  type CredentialState,
  NEW_CREDENTIAL,
  stepCredential,
} from '../../../core/connections/credential/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { Guard, StoredRecord, TenantReads, Write } from '../../../ports/store.ts'
import { type Commits, orConflict, RACES_MAX, retrying } from '../../commit/index.ts'
import type { EngineDeps } from '../../config.ts'

export interface StoredCredential {
  readonly state: CredentialState
  /** Of its record; 0: there is none. */
  readonly version: number
}

/** A change that is part of another commit. */
export interface Change {
  readonly next: StoredCredential
  readonly guard: Guard
  readonly write: Write
  /** Called once it is durable. */
  onStored(): void
}

export interface CredentialStateCache {
  /** As this node knows it. */
  find(tenant: TenantId, name: string): CredentialState
  /** Unchanged. */
  read(tenant: TenantId, name: string): Promise<StoredCredential>
  /** Applies events one after the other; null: none of them changes anything. */
  plan(
    tenant: TenantId,
    name: string,
    stored: StoredCredential,
    events: readonly CredentialEvent[],
  ): Change | null
  /**
   * `decide` returns null if there is nothing to change, and is called again if another node was first. Returns the resulting
   * state.
   */
  change(
    tenant: TenantId,
    name: string,
    decide: (state: CredentialState) => CredentialEvent | null,
  ): Promise<CredentialState>
  /** Reads all of a tenant. */
  learn(tenant: TenantId): Promise<void>
}

const PAGE = 200
const NOTHING: StoredCredential = { state: NEW_CREDENTIAL, version: 0 }

/** Names of credentials have no slash; keys with this prefix are something else under the same kind. */
export const AUTHORIZATION_PREFIX = 'authorize/'

export function makeCredentialStateCache(
  deps: Pick<EngineDeps, 'store'> & {
    readonly commits: Pick<Commits, 'firmly' | 'retryUntilAvailable'>
    /** Waiting calls may be made: a rotation is over. */
    opened(tenant: TenantId): void
  },
): CredentialStateCache {
  const { store, commits } = deps
  const all = new Map<string, StoredCredential>()
  const pending = new Map<string, Promise<unknown>>()
  const placeOf = (tenant: TenantId, name: string) => `${tenant}/${name}`

  const put = (tenant: TenantId, name: string, stored: StoredCredential) => {
    const before = all.get(placeOf(tenant, name)) ?? NOTHING
    // A read that began before a change of ours may end after it.
    if (stored.version < before.version && stored.version !== 0) return
    all.set(placeOf(tenant, name), stored)
    if (isClosed(before.state) && !isClosed(stored.state)) deps.opened(tenant)
  }

  const read: CredentialStateCache['read'] = async (tenant, name) => {
    const found = await commits.retryUntilAvailable(() => store.forTenant(tenant).record('credential', name))
    const stored = found === null ? NOTHING : parse(found)
    put(tenant, name, stored)
    return stored
  }

  const plan: CredentialStateCache['plan'] = (tenant, name, stored, events) => {
    let state = stored.state
    for (const event of events) state = stepCredential(state, event) ?? state
    if (state === stored.state) return null
    const next = { state, version: stored.version + 1 }
    return {
      next,
      guard: { g: 'version', of: 'credential', key: name, version: stored.version },
      write: {
        w: 'record.put',
        kind: 'credential',
        key: name,
        version: next.version,
        body: JSON.stringify(state),
      },
      onStored: () => put(tenant, name, next),
    }
  }

  const changeOnce: CredentialStateCache['change'] = (tenant, name, decide) => {
    let known: StoredCredential | undefined
    const changeOf = (stored: StoredCredential): Change | null => {
      const event = decide(stored.state)
      return event === null ? null : plan(tenant, name, stored, [event])
    }
    const changeAgain = async (
      retry: () => Promise<CredentialState>,
      race: number,
    ): Promise<CredentialState> => {
      let stored = known ?? all.get(placeOf(tenant, name)) ?? (await read(tenant, name))
      let change = changeOf(stored)
      if (change === null && race === 0) {
        // What this node knows may be outdated: nothing is skipped because of it.
        stored = await read(tenant, name)
        change = changeOf(stored)
      }
      if (change === null) return stored.state
      const result = await commits.firmly(tenant, [change.guard], [change.write])
      if (result.ok) {
        change.onStored()
        return change.next.state
      }
      known = await read(tenant, name)
      // Refused by its own first attempt, whose response was lost.
      const isOurs =
        result.isRepeat === true && JSON.stringify(known.state) === JSON.stringify(change.next.state)
      return isOurs ? known.state : retry()
    }
    return retrying(RACES_MAX, changeAgain, orConflict(`the credential ${name} changes without end`))
  }

  return {
    find: (tenant, name) => (all.get(placeOf(tenant, name)) ?? NOTHING).state,
    read,
    plan,
    change(tenant, name, decide) {
      const place = placeOf(tenant, name)
      // Serialized: of many that wait for one thing, each would be refused by the one before.
      const before = pending.get(place) ?? Promise.resolve()
      const mine = before.then(() => changeOnce(tenant, name, decide))
      const settled = mine.catch(() => {})
      pending.set(place, settled)
      void settled.then(() => {
        if (pending.get(place) === settled) pending.delete(place)
      })
      return mine
    },
    async learn(tenant) {
      let cursor: string | null = null
      const seen = new Set<string>()
      do {
        const page: Awaited<ReturnType<TenantReads['records']>> = await store
          .forTenant(tenant)
          .records({ kind: 'credential', cursor, limit: PAGE })
        for (const record of page.items) {
          if (record.key.startsWith(AUTHORIZATION_PREFIX)) continue
          seen.add(record.key)
          if (all.get(placeOf(tenant, record.key))?.version !== record.version)
            put(tenant, record.key, parse(record))
        }
        cursor = page.nextCursor
      } while (cursor !== null)
    },
  }
}

/** Whether calls wait: the version in use was refused, and a rotation is to replace it. */
export function isClosed({ rotation, current, refused }: CredentialState): boolean {
  return rotation !== null && refused != null && refused.version === (current?.version ?? 0)
}

function parse({ body, version }: Pick<StoredRecord, 'body' | 'version'>): StoredCredential {
  return { state: JSON.parse(body) as CredentialState, version }
}
