// The interface to the subscriptions of a tenant, with its results.

import type { SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import type { FailureClass } from '../../../core/failures/failure/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { SubscriptionState, SubscriptionStatus } from '../../../core/webhooks/subscription/index.ts'
import type { Page, PageRequest } from '../../../ports/store.ts'
import type { Decided } from '../../access/index.ts'

/** A deployed subscription, as this node knows it. */
export interface SubscriptionItem {
  readonly name: string
  /** Normal form. */
  readonly document: SubscriptionDocument
  readonly hash: string
  /** The document given to the API, unchanged; null: it is in definitions. */
  readonly written: string | null
  /** `folder`: it is in the tenant's definitions, and is changed there. */
  readonly managedBy: 'folder' | 'api'
  /** The effective one: the stored state, else what the document declares. */
  readonly status: SubscriptionStatus
  readonly state: SubscriptionState
  /** When it will disable itself without a success until then; null: it is not failing, or never will. */
  readonly disableAt: Instant | null
  /** Of its record; grows with every change, also of its state. */
  readonly version: number
  readonly createdAt: Instant | null
  readonly createdBy: string | null
  readonly updatedAt: Instant | null
  readonly updatedBy: string | null
}

/** Its health, by its deliveries in the store. */
export interface SubscriptionHealth {
  readonly lastDeliveredAt: Instant | null
  readonly lastFailedAt: Instant | null
  /** Of its newest deliveries, 50 at most: how many were delivered, and how many failed at least once or were dead-lettered. */
  readonly recent: { readonly delivered: number; readonly failed: number }
  /** Deliveries that have not ended. */
  readonly waiting: number
  /** `waiting` is a lower bound. */
  readonly isCapped: boolean
}

/** Its signing secret; never the value. */
export interface SubscriptionSecret {
  readonly from: 'generated' | 'vault' | 'environment' | 'file'
  /** Its name in the vault, in the environment or in the folder of secrets. */
  readonly name: string
  /** null: it is not set, or not in the vault. */
  readonly version: number | null
  /** Until when each former secret signs beside it. */
  readonly oldUntil: readonly Instant[]
  /** It was generated, and `revealSecret` shows it once. */
  readonly isUnseen: boolean
}

export interface SubscriptionView extends SubscriptionItem {
  readonly health: SubscriptionHealth
}

export interface SubscriptionDetail extends SubscriptionView {
  readonly secret: SubscriptionSecret
}

export interface SubscriptionQuery extends PageRequest {
  readonly status?: SubscriptionStatus
  /** A part of its name, description, url, patterns or metadata; A to Z count as a to z. */
  readonly q?: string
}

/** The document given to the API, validated like a definition. */
export interface NewSubscription {
  readonly document: SubscriptionDocument
  /** Unchanged. */
  readonly written: string
}

/** A secret that is shown now and never again. */
export interface ShownSecret {
  readonly secret: string
  readonly version: number
}

export interface RotatedSecret extends ShownSecret {
  /** Until when the former one signs beside it; null: it no longer does. */
  readonly oldUntil: Instant | null
}

/** The outcome of one call to the endpoint, made for a user. */
export interface SubscriptionTest {
  readonly ok: boolean
  /** Of the response; null: there was none. */
  readonly status: number | null
  readonly durationMs: number
  /** null: it was delivered. */
  readonly class: FailureClass | null
  readonly error: string | null
  /** The head of the response; null: there was none. */
  readonly response: {
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    readonly isCut: boolean
  } | null
  /** As it was sent; values of the subscription's own headers are hidden where they may be secret. null: nothing was sent. */
  readonly request: { readonly url: string; readonly headers: Readonly<Record<string, string>> } | null
}

/**
 * The subscriptions of each tenant. All throw AppError: `unknown_subscription`; `conflict` if the same one is changed
 * concurrently again and again.
 */
export interface Subscriptions {
  /** How many there are of each status, as far as this node knows: reads nothing. */
  counts(tenant: TenantId): Promise<Readonly<Record<SubscriptionStatus, number>>>
  /** By name. */
  list(tenant: TenantId, query: SubscriptionQuery): Promise<Page<SubscriptionView>>
  find(tenant: TenantId, name: string): Promise<SubscriptionDetail>
  /**
   * Deploys it. `secret`: the generated one, shown here and nowhere else; null: it names one. Throws `name_taken`, also while
   * deliveries of a former one of this name are still being cancelled.
   */
  create(
    tenant: TenantId,
    given: NewSubscription,
    decided: Decided,
  ): Promise<{ readonly item: SubscriptionView; readonly secret: string | null }>
  /**
   * Replaces the deployed one. `base`: the hash of the document that the change was made from; a different deployed one is a
   * conflict. Its declared status counts if it differs from the one declared before. `secret`: one was generated, because it no
   * longer names one, or its signing method changed; null: the secret is as before, or it names one. Throws
   * `managed_by_folder`.
   */
  patch(
    tenant: TenantId,
    name: string,
    given: NewSubscription & { readonly base?: string },
    decided: Decided,
  ): Promise<{ readonly item: SubscriptionView; readonly secret: string | null }>
  /** It is removed at once; its remaining deliveries are cancelled in the background. Throws `managed_by_folder`. */
  remove(tenant: TenantId, name: string, decided: Decided): Promise<void>
  /** New deliveries are stored for later. Does nothing if it is paused. */
  pause(tenant: TenantId, name: string, decided: Decided): Promise<SubscriptionView>
  /** New deliveries are skipped, and can be recovered; queued ones stay. */
  disable(tenant: TenantId, name: string, decided: Decided): Promise<SubscriptionView>
  /**
   * Makes it active again, whether it was paused or disabled; earlier failures no longer count. From disabled, a test event
   * goes before all waiting deliveries; it is stored with the change. Does nothing if it is active or failing.
   */
  enable(tenant: TenantId, name: string, decided: Decided): Promise<SubscriptionView>
  /** The same, by the usual word for a paused one. */
  resume(tenant: TenantId, name: string, decided: Decided): Promise<SubscriptionView>
  /**
   * Signs with another secret from now on: the given one, or a generated one. The former one signs beside it for `overlapMs` (0
   * to 7 days, by default 24 hours). Throws `secret_in_environment`, `signing_secret_invalid`, `overlap_invalid`.
   */
  rotateSecret(
    tenant: TenantId,
    name: string,
    request: { readonly overlapMs?: number; readonly secret?: string },
    decided: Decided,
  ): Promise<RotatedSecret>
  /** Shows a generated secret that was never shown, once. Throws `secret_shown`. */
  revealSecret(tenant: TenantId, name: string, decided: Decided): Promise<ShownSecret>
  /**
   * Of ed25519 ones: the current one first, then those that still sign beside it; null: there is no such subscription, or it
   * uses another signing method.
   */
  publicKeys(
    tenant: TenantId,
    name: string,
  ): Promise<readonly { readonly id: string; readonly algorithm: 'ed25519'; readonly key: string }[] | null>
  /** One signed call, now, whatever its status. It is never repeated, and recorded only in the log. */
  test(tenant: TenantId, name: string, decided: Decided): Promise<SubscriptionTest>
  /** Checks whether another node changed something; cheap if not. */
  refresh(tenant: TenantId): Promise<void>
}
