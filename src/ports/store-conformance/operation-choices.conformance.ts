// What random operations are made with: randomness, the names that were used so far, and small choices.

import type {
  DeadLetterId,
  EventId,
  Ids,
  Incarnation,
  InstanceId,
  OrphanId,
  RunId,
  TenantId,
  WorkId,
} from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Store } from '../store.ts'
import { makeFixedIds, OTHER, START, TENANT } from './kit.conformance.ts'

/** A whole number in [0, below). */
export type Pick = (below: number) => number

/** The names that were used so far. */
export interface Book {
  now: Instant
  readonly ids: Ids
  readonly owners: Incarnation[]
  readonly events: { readonly tenant: TenantId; readonly id: EventId }[]
  readonly works: { readonly tenant: TenantId; readonly id: WorkId }[]
  /** Those that were leased, the latest last. */
  readonly held: { readonly tenant: TenantId; readonly id: WorkId }[]
  readonly letters: { readonly tenant: TenantId; readonly id: DeadLetterId }[]
  readonly instances: { readonly tenant: TenantId; readonly id: InstanceId }[]
  readonly orphans: { readonly tenant: TenantId; readonly id: OrphanId }[]
  readonly runs: { readonly tenant: TenantId; readonly id: RunId }[]
}

export function makeBook(): Book {
  const book: Book = {
    now: START,
    owners: [],
    events: [],
    works: [],
    held: [],
    letters: [],
    instances: [],
    orphans: [],
    runs: [],
    ids: makeFixedIds(() => book.now),
  }
  return book
}

export interface Turn {
  readonly book: Book
  readonly pick: Pick
  readonly store: Store
}

export const oneOf = <Value>(pick: Pick, values: readonly Value[]): Value =>
  values[pick(values.length)] as Value
/** True once in `times`; the last value, so that a tester that shrinks towards 0 prefers the common case. */
export const rarely = (pick: Pick, times: number): boolean => pick(times) === times - 1
export const tenantOf = (pick: Pick): TenantId => (rarely(pick, 4) ? OTHER : TENANT)
