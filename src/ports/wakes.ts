// Wake-up signals between nodes that share a store: hints, outside of any commit. One may be lost, come twice, late or out of
// order; a receiver that depends on it also polls from time to time.

import type { TenantId } from '../core/foundation/ids/index.ts'

/** Records that every node caches. */
export const FOLLOWED = ['subscription', 'circuit', 'bucket', 'rate', 'connection', 'credential'] as const
export type Followed = (typeof FOLLOWED)[number]

export type Wake =
  /** Jobs may be due that no node has leased. */
  | { readonly wake: 'work' }
  /** The cached data of the tenant may have changed: only records of these kinds; if none are named, anything. */
  | { readonly wake: 'definitions'; readonly tenant: TenantId; readonly kinds?: readonly Followed[] }
  /** Something is in the outbox. */
  | { readonly wake: 'outbox' }
  /** This node has watchers for a while: others report their changes. */
  | { readonly wake: 'watching'; readonly forMs: number }
  /** Changes that other nodes may show to users; `body` is JSON of at most `WAKE_BYTES_MAX`. null: more than fits. */
  | { readonly wake: 'changes'; readonly tenant: TenantId; readonly body: string | null }
  /** From the carrier to this node alone: for a while no signals were carried, neither from here nor to here. */
  | { readonly wake: 'missed' }

/** What a node gets when its signals are carried again. */
export const MISSED: readonly Wake[] = [{ wake: 'work' }, { wake: 'outbox' }, { wake: 'missed' }]

/** Of the body of one signal: PostgreSQL carries less than 8,000 bytes. */
export const WAKE_BYTES_MAX = 7_000

export interface Wakes {
  /** Never throws, never waits; several of the same kind within a few milliseconds may become one. */
  send(wake: Wake): void
  /** Receives the signals of other nodes, not this node's own. Returns how to stop. */
  listen(listener: (wake: Wake) => void): () => void
}

/** For a single node. */
export const NO_WAKES: Wakes = { send: () => {}, listen: () => () => {} }

/**
 * null for what is not a signal here: nodes of another version may send ones that this one does not know, and others may send
 * anything.
 */
export function readWake(value: unknown): Wake | null {
  if (typeof value !== 'object' || value === null) return null
  const { wake, tenant, forMs, body, kinds } = value as Record<string, unknown>
  switch (wake) {
    case 'work':
    case 'outbox':
      return { wake }
    case 'definitions':
      if (typeof tenant !== 'string') return null
      // An unknown signal may mean anything.
      return areFollowed(kinds)
        ? { wake, tenant: tenant as TenantId, kinds }
        : { wake, tenant: tenant as TenantId }
    case 'watching':
      return Number.isFinite(forMs) ? { wake, forMs: forMs as number } : null
    case 'changes':
      if (typeof tenant !== 'string' || (typeof body !== 'string' && body !== null)) return null
      return { wake, tenant: tenant as TenantId, body }
    default:
      return null
  }
}

function areFollowed(kinds: unknown): kinds is readonly Followed[] {
  return Array.isArray(kinds) && kinds.length > 0 && kinds.every((kind) => FOLLOWED.includes(kind))
}
