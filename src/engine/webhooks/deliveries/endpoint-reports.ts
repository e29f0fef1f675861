// What deliveries tell of the endpoint that they went to. Whoever keeps subscriptions listens.

import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'

/** A call that was made, and by what. */
export interface ToldCall {
  /** When it began. */
  readonly at: Instant
  /** Of the document that said where to: what a former address answers says nothing of the one in force. */
  readonly hash: string
}

export interface FailedDelivery extends ToldCall {
  /** As it is kept: nothing in it that is sensitive in the event. */
  readonly error: string
  /** It was the last try: the delivery is a dead letter now. */
  readonly isExhausted: boolean
  /** The endpoint answered 410: it wants nothing more, ever. */
  readonly isGone: boolean
}

/**
 * Told after the commit that ends an attempt, of attempts that reached out alone: a call that was not made (a secret that is
 * missing, a transform that fails) says nothing of the endpoint. Must not throw and must not wait; told of every delivery, so
 * `delivered` has to cost next to nothing where nothing failed before.
 */
export interface DeliveryWatch {
  /** `name`: of the subscription. */
  delivered(tenant: TenantId, name: string, delivered: ToldCall): void
  failed(tenant: TenantId, name: string, failed: FailedDelivery): void
}
