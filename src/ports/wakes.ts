// Wake-ups between nodes that share a store: hints, outside of any commit. One may be lost, come twice, late or out of order;
// whoever depends on what it tells of also looks by itself from time to time.

import type { TenantId } from '../core/foundation/ids/index.ts'

/** Records that every node keeps a copy of. */
export const FOLLOWED = ['subscription', 'circuit', 'bucket', 'rate', 'connection', 'credential'] as const
export type Followed = (typeof FOLLOWED)[number]

export type Wake =
  /** Work may be due that no node has in its hands. */
  | { readonly wake: 'work' }
  /** What nodes go by of the tenant may have changed: of records only those of these kinds; where none are named, anything. */
  | { readonly wake: 'definitions'; readonly tenant: TenantId; readonly kinds?: readonly Followed[] }
  /** Something is in the outbox. */
  | { readonly wake: 'outbox' }
  /** Somebody watches changes at this node for a while: others tell of theirs. */
  | { readonly wake: 'watching'; readonly forMs: number }
  /** What others may show to people; `body` is JSON of at most `WAKE_BYTES_MAX`. null: more than can be told. */
  | { readonly wake: 'changes'; readonly tenant: TenantId; readonly body: string | null }
  /** Of whoever carries them, to this node alone: for a while nothing was carried, neither from here nor to here. */
  | { readonly wake: 'missed' }

/** What a node hears when its wake-ups are carried again. */
export const MISSED: readonly Wake[] = [{ wake: 'work' }, { wake: 'outbox' }, { wake: 'missed' }]

/** Of the body of one wake-up: PostgreSQL carries less than 8,000 bytes. */
export const WAKE_BYTES_MAX = 7_000

export interface Wakes {
  /** Never throws, never waits; several of the same kind within a few milliseconds may become one. */
  tell(wake: Wake): void
  /** Hears what other nodes tell, not what this one does. Answers how to stop. */
  listen(listener: (wake: Wake) => void): () => void
}

/** For a node without others. */
export const NO_WAKES: Wakes = { tell: () => {}, listen: () => () => {} }

/** Null for what is no wake-up here: nodes of another version may tell of what this one does not know, and others of anything. */
export function readWake(value: unknown): Wake | null {
  if (typeof value !== 'object' || value === null) return null
  const { wake, tenant, forMs, body, kinds } = value as Record<string, unknown>
  switch (wake) {
    case 'work':
    case 'outbox':
      return { wake }
    case 'definitions':
      if (typeof tenant !== 'string') return null
      // What is not known here may be anything.
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
