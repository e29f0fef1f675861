// What deliveries report about their endpoint to the management of subscriptions.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'

/** A call that was made, and the document it was made by. */
export interface ToldCall {
  /** When it began. */
  readonly at: Instant
  /** Of the document that had the address: a response of a former address says nothing about the deployed one. */
  readonly hash: string
}

export interface FailedDelivery extends ToldCall {
  /** As it is stored: without values that are sensitive in the event. */
  readonly error: string
  /** It was the last attempt: the delivery is a dead letter now. */
  readonly isExhausted: boolean
  /** The endpoint answered 410: it wants no further deliveries, ever. */
  readonly isGone: boolean
}

/**
 * Called after the commit that ends an attempt, and only for attempts that made a call: without a call (a missing secret, a
 * failing transform) it says nothing about the endpoint. Must not throw and must not wait. It is called for every delivery, so
 * `delivered` must cost next to nothing if nothing failed before.
 */
export interface DeliveryWatch {
  /** `name`: of the subscription. */
  delivered(tenant: TenantId, name: string, delivered: ToldCall): void
  failed(tenant: TenantId, name: string, failed: FailedDelivery): void
}
