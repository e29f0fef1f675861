// The hooks around a call: the flow control of its route and host.

import type { FailureClass } from '../../core/failures/failure/index.ts'
import type { Item } from '../leases/index.ts'
import type { InternalCall } from './call.ts'

/** The result of a call, for counters, buckets and circuits. */
export interface CallResult {
  readonly item: Item
  readonly route: InternalCall['route']
  /** null: it ran inside the process. */
  readonly host: string | null
  readonly class: FailureClass | 'done'
  readonly retryAfterMs: number | null
  /** The cause is being handled: the result says nothing about the health of the vendor. */
  readonly isSeenTo?: boolean
}

/** The flow control of routes and hosts. */
export interface FlowControl {
  /** Before `mayCall`, which checks memory only: state shared by all nodes may have to be read. null: it need not. */
  prepare(item: Item, route: InternalCall['route']): Promise<void> | null
  /** Right before the reserve. A wait puts the job back without using up an attempt; null: go on. */
  mayCall(
    item: Item,
    route: InternalCall['route'],
    host: string | null,
  ): { readonly delayMs: number; readonly why: string } | null
  /** `mayCall` allowed a call that was not made after all. */
  unused(item: Item, route: InternalCall['route'], host: string | null): void
  reportResult(callResult: CallResult): void
}
