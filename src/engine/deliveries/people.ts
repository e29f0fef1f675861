// Deliveries as people see them: which there are, what became of each, and what may be done about one.
//
// A delivery is a work item of kind `delivery`; its state in the words of people follows from the item's.

import type { DeadLetterId, EventId, TenantId, WorkId } from '../../core/ids/index.ts'
import type { Instant } from '../../core/time/index.ts'
import type { WorkRow } from '../../core/work/index.ts'
import type { Page, PageRequest } from '../../ports/store.ts'
import type { Decided } from '../decided.ts'

/** `pending`: nothing was sent so far. `retrying`: something was, in vain; it is tried again. */
export const DELIVERY_STATES = [
  'pending',
  'delivering',
  'retrying',
  'delivered',
  'dead-lettered',
  'cancelled',
  'skipped',
] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

export interface Delivery {
  readonly work: WorkRow
  /** The name of its subscription, which may be gone. */
  readonly subscription: string
  readonly state: DeliveryState
  /** Of its event; null: the event is gone. */
  readonly subject: string | null
  /** The letter that tells of its end, or that it replays. */
  readonly deadLetterId: DeadLetterId | null
}

export interface DeliveryFilter {
  readonly subscription?: string
  readonly state?: DeliveryState
  readonly eventId?: EventId
  /** When they were made: from this instant on, and before that one. */
  readonly from?: Instant
  readonly to?: Instant
}

/** `hurried`: it is due now. `replayed`: its dead letter. `resent`: a new delivery of the same event. */
export interface Retried {
  readonly how: 'hurried' | 'replayed' | 'resent'
  /** The delivery that goes out now: itself, or the new one. */
  readonly workId: WorkId
}

export interface DeliveryActions {
  find(tenant: TenantId, id: WorkId): Promise<Delivery | null>
  /**
   * Newest first; of `pending` and `retrying` those whose turn it is, and then those that wait for it. A page may hold fewer
   * than asked while there are more.
   */
  list(tenant: TenantId, filter: DeliveryFilter, page: PageRequest): Promise<Page<Delivery>>
  /** Once more, whatever became of it; what was delivered, skipped or cancelled needs a reason. */
  retry(tenant: TenantId, id: WorkId, decided: Decided): Promise<Retried>
  cancel(tenant: TenantId, id: WorkId, decided: Decided & { readonly reason: string }): Promise<void>
}
