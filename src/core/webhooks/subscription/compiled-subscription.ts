// A subscription, compiled, and what becomes of it while it runs.

import type { SubscriptionDocument } from '../../definitions/documents/index.ts'
import type { SecretUse } from '../../effects/action/index.ts'
import type { StoredEvent } from '../../events/event/index.ts'
import type { Scope } from '../../expression/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { Route } from '../../routing/index.ts'

/** `failing`: it delivers still, but nothing has arrived for a while. */
export const SUBSCRIPTION_STATUSES = ['active', 'failing', 'paused', 'disabled'] as const
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number]

/** `gone`: the endpoint answered 410. `failing`: nothing arrived for as long as it may. `person`: somebody said so. */
export type DisabledBecause = 'gone' | 'failing' | 'person'

/** What happened to a subscription, beside what its document says. Kept as a record; written only when something changes. */
export interface SubscriptionState {
  /** null: as the document declares. */
  readonly status: SubscriptionStatus | null
  readonly because: DisabledBecause | null
  /** The reason that was given, or what the endpoint answered. */
  readonly reason: string | null
  /** Who said so; null: it did so itself. */
  readonly by: string | null
  readonly since: Instant | null
  /** Of the first failure behind which no success came. */
  readonly failingSince: Instant | null
  /** How many warnings were told of the present failing. */
  readonly warnings: number
  /** Whether the generated secret is still to be shown. */
  readonly isSecretUnseen: boolean
  /** A rotation is under way: the vault may have the new secret already, and nobody was told. */
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

/** As it is kept (record kind `subscription`, by name). */
export interface SubscriptionRecord {
  readonly form: 1
  /** null: a folder defines it, and this is only what happened to it. */
  readonly document: SubscriptionDocument | null
  /** What was given to the API, as it was given; null with `document`. */
  readonly written: string | null
  /** The number of the language that the document is written in; left out: 1. */
  readonly language?: number
  readonly state: SubscriptionState
  readonly createdAt: Instant
  readonly createdBy: string
  readonly updatedAt: Instant
  readonly updatedBy: string
}

/** A subscription that is in force. */
export interface Subscription {
  readonly document: SubscriptionDocument
  readonly hash: string
  /** `subscription:<name>` */
  readonly consumer: string
  readonly status: SubscriptionStatus
  /** For matching, lanes, pace, retries and dead letters: `of.kind` is `delivery`, its status that of the subscription. */
  readonly route: Route
  /** What its requests carry of secrets. Without their values in a scope, what is rendered is for showing. */
  readonly secrets: readonly SecretUse[]
  /** Where to, of a scope with `vars`; throws ExpressionError where a name is not among them. */
  urlOf(scope: Scope): string
  /**
   * What is sent: of the event's own text where no transform says otherwise. Throws ExpressionError, and JsonError where the
   * payload is still sealed.
   */
  bodyOf(event: DeliveredEvent, scope: () => Scope): string
  /** The user's own; lower-case names, none of them reserved. Throws ExpressionError. */
  headersOf(scope: () => Scope): Readonly<Record<string, string>>
}

/** What a body is made of. */
export type DeliveredEvent = Pick<
  StoredEvent,
  'id' | 'source' | 'subject' | 'occurredAt' | 'receivedAt' | 'data' | 'sensitive'
>

export const SUBSCRIPTION_PREFIX = 'subscription:'
