// What others have to say around a call: the pace of its route and host.

import type { FailureClass } from '../../core/failures/failure/index.ts'
import type { Item } from '../leases/index.ts'
import type { InternalCall } from './call.ts'

/** How a call went, for whoever counts calls, closes buckets and opens circuits. */
export interface Told {
  readonly item: Item
  readonly route: InternalCall['route']
  /** null: it ran inside the process. */
  readonly host: string | null
  readonly class: FailureClass | 'done'
  readonly retryAfterMs: number | null
  /** Something is being done about it: it says nothing of the other side's health. */
  readonly isSeenTo?: boolean
}

/** The pace of routes and hosts. */
export interface Pace {
  /** Before `mayCall`, which looks in memory alone: what all nodes share may have to be asked for. null: nothing has. */
  prepare(item: Item, route: InternalCall['route']): Promise<void> | null
  /** Right before the reserve. A wait puts the item back without using up an attempt; null: go on. */
  mayCall(
    item: Item,
    route: InternalCall['route'],
    host: string | null,
  ): { readonly delayMs: number; readonly why: string } | null
  /** After `mayCall` said yes, no call was made after all. */
  unused(item: Item, route: InternalCall['route'], host: string | null): void
  told(told: Told): void
}
