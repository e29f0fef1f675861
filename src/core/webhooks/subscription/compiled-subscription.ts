// A compiled subscription, and its state at run time.

import type { SubscriptionDocument } from '../../definitions/documents/index.ts'
import type { SecretUse } from '../../effects/action/index.ts'
import type { StoredEvent } from '../../events/event/index.ts'
import type { Scope } from '../../expression/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { Route } from '../../routing/index.ts'

/** `failing`: it still delivers, but no delivery has succeeded for a while. */
export const SUBSCRIPTION_STATUSES = ['active', 'failing', 'paused', 'disabled'] as const
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number]

/**
 * `gone`: the endpoint responded 410. `failing`: no delivery succeeded for the allowed time. `person`: an operator disabled it.
 */
export type DisabledBecause = 'gone' | 'failing' | 'person'

/** The state of a subscription, beside its document. Stored as a record; written only when something changes. */
export interface SubscriptionState {
  /** null: as the document declares. */
  readonly status: SubscriptionStatus | null
  readonly because: DisabledBecause | null
  /** The operator's reason, or the endpoint's response. */
  readonly reason: string | null
  /** The user who did it; null: it happened automatically. */
  readonly by: string | null
  readonly since: Instant | null
  /** Of the first failure since the last success. */
  readonly failingSince: Instant | null
  /** How many warnings were published about the current failing period. */
  readonly warnings: number
  /** Whether the generated secret is still to be shown. */
  readonly isSecretUnseen: boolean
  /** A rotation is under way: the vault may already have the new secret, which has not been returned to a user yet. */
  readonly rotating?: {
    /** The version before it; null: there was none. */
    readonly from: number | null
    readonly overlapMs: number
    readonly by: string
    readonly at: Instant
    readonly wasUnseen: boolean
  }
}

export const FRESH_SUBSCRIPTION: SubscriptionState = {
  status: null,
  because: null,
  reason: null,
  by: null,
  since: null,
  failingSince: null,
  warnings: 0,
  isSecretUnseen: false,
}

/** The stored form (record kind `subscription`, by name). */
export interface SubscriptionRecord {
  readonly form: 1
  /** null: a folder defines it, and this is only its state. */
  readonly document: SubscriptionDocument | null
  /** The input to the API, as received; null with `document`. */
  readonly written: string | null
  /** The language version of the document; left out: 1. */
  readonly language?: number
  readonly state: SubscriptionState
  readonly createdAt: Instant
  readonly createdBy: string
  readonly updatedAt: Instant
  readonly updatedBy: string
}

/** A deployed subscription. */
export interface Subscription {
  readonly document: SubscriptionDocument
  readonly hash: string
  /** `subscription:<name>` */
  readonly consumer: string
  readonly status: SubscriptionStatus
  /**
   * For matching, lanes, flow control, retries and dead letters: `of.kind` is `delivery`, its status that of the subscription.
   */
  readonly route: Route
  /** The secrets that its requests carry. Without their values in a scope, the rendered request is for display. */
  readonly secrets: readonly SecretUse[]
  /** The address, from a scope with `vars`; throws ExpressionError for an unknown name. */
  urlOf(scope: Scope): string
  /**
   * The body: the event's own text unless a transform is defined. Throws ExpressionError, and JsonError if the payload is still
   * encrypted.
   */
  bodyOf(event: DeliveredEvent, scope: () => Scope): string
  /** The user's own headers; lower-case names, none of them reserved. Throws ExpressionError. */
  headersOf(scope: () => Scope): Readonly<Record<string, string>>
}

/** The inputs of a body. */
export type DeliveredEvent = Pick<
  StoredEvent,
  'id' | 'source' | 'subject' | 'occurredAt' | 'receivedAt' | 'data' | 'sensitive'
>

export const SUBSCRIPTION_PREFIX = 'subscription:'
