// What can be asked about the subscriptions of a tenant, and what is answered.

import type { SubscriptionDocument } from '../../../core/definitions/documents/index.ts'
import type { FailureClass } from '../../../core/failures/failure/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { SubscriptionState, SubscriptionStatus } from '../../../core/webhooks/subscription/index.ts'
import type { Page, PageRequest } from '../../../ports/store.ts'
import type { Decided } from '../../access/index.ts'

/** A subscription that is in force, as this node knows it. */
export interface SubscriptionItem {
  readonly name: string
  /** Normal form. */
  readonly document: SubscriptionDocument
  readonly hash: string
  /** What was given to the API, as it was given; null: definitions have it. */
  readonly written: string | null
  /** `folder`: it stands in the tenant's definitions, and is changed there. */
  readonly managedBy: 'folder' | 'api'
  /** The one that counts: what happened to it, and else what it declares. */
  readonly status: SubscriptionStatus
  readonly state: SubscriptionState
  /** When it will disable itself if nothing arrives until then; null: it is not failing, or never will. */
  readonly disableAt: Instant | null
  /** Of its record; grows with every change, also of its state. */
  readonly version: number
  readonly createdAt: Instant | null
  readonly createdBy: string | null
  readonly updatedAt: Instant | null
  readonly updatedBy: string | null
}

/** How it goes, by what the store has of its deliveries. */
export interface SubscriptionHealth {
  readonly lastDeliveredAt: Instant | null
  readonly lastFailedAt: Instant | null
  /** Of its newest deliveries, 50 at most: how many arrived, and how many failed at least once or died. */
  readonly recent: { readonly delivered: number; readonly failed: number }
  /** Deliveries that are not over. */
  readonly waiting: number
  /** At least so many wait. */
  readonly isCapped: boolean
}

/** What it signs with; never the value. */
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
  /** A piece of its name, description, url, patterns or metadata; A to Z count as a to z. */
  readonly q?: string
}

/** What the API was given, checked as a definition is. */
export interface NewSubscription {
  readonly document: SubscriptionDocument
  /** As it was given. */
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

/** The outcome of one call to the endpoint, made for a person. */
export interface SubscriptionTest {
  readonly ok: boolean
  /** The answer's; null: there was none. */
  readonly status: number | null
  readonly durationMs: number
  /** null: it arrived. */
  readonly class: FailureClass | null
  readonly error: string | null
  /** The head of the answer; null: there was none. */
  readonly response: {
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    readonly isCut: boolean
  } | null
  /** As it was sent; values of the subscription's own headers are hidden where they may be secret. null: nothing was sent. */
  readonly request: { readonly url: string; readonly headers: Readonly<Record<string, string>> } | null
}

/**
 * The subscriptions of each tenant. All throw AppError: `unknown_subscription`; `conflict` where somebody else changed the same one at
 * the same moment, again and again.
 */
export interface Subscriptions {
  /** How many there are of each status, as far as this node knows: asks nobody. */
  counts(tenant: TenantId): Promise<Readonly<Record<SubscriptionStatus, number>>>
  /** By name. */
  list(tenant: TenantId, query: SubscriptionQuery): Promise<Page<SubscriptionView>>
  find(tenant: TenantId, name: string): Promise<SubscriptionDetail>
  /**
   * Puts it in force. `secret`: the generated one, shown here and nowhere else; null: it names one. Throws `name_taken`, also while
   * deliveries of a former one of this name are still being cancelled.
   */
  create(
    tenant: TenantId,
    given: NewSubscription,
    decided: Decided,
  ): Promise<{ readonly item: SubscriptionView; readonly secret: string | null }>
  /**
   * Takes the place of the one in force. `base`: the hash of the document that the change was made from; another one in force is a
   * conflict. What it declares as status counts if it differs from what was declared before. `secret`: one was generated, because it
   * no longer names one, or signs another way; null: the secret is as before, or it names one. Throws `managed_by_folder`.
   */
  patch(
    tenant: TenantId,
    name: string,
    given: NewSubscription & { readonly base?: string },
    decided: Decided,
  ): Promise<{ readonly item: SubscriptionView; readonly secret: string | null }>
  /** It is gone at once; what is left of its deliveries is cancelled in the background. Throws `managed_by_folder`. */
  remove(tenant: TenantId, name: string, decided: Decided): Promise<void>
  /** What arrives is kept for later. Nothing happens if it is paused. */
  pause(tenant: TenantId, name: string, decided: Decided): Promise<SubscriptionView>
  /** What arrives is skipped, and can be recovered; what is queued stays. */
  disable(tenant: TenantId, name: string, decided: Decided): Promise<SubscriptionView>
  /**
   * To work again, whether it was paused or disabled; what failed before counts no more. From disabled a test event goes ahead of
   * what waits; it is in the store with the change. Nothing happens if it is active or failing.
   */
  enable(tenant: TenantId, name: string, decided: Decided): Promise<SubscriptionView>
  /** The same, as people say it of what is paused. */
  resume(tenant: TenantId, name: string, decided: Decided): Promise<SubscriptionView>
  /**
   * Signs with another secret from now on: the given one, or a generated one. The former one signs beside it for `overlapMs` (0 to
   * 7 days, 24 hours unless told). Throws `secret_in_environment`, `signing_secret_invalid`, `overlap_invalid`.
   */
  rotateSecret(
    tenant: TenantId,
    name: string,
    request: { readonly overlapMs?: number; readonly secret?: string },
    decided: Decided,
  ): Promise<RotatedSecret>
  /** Shows a generated secret that nobody has seen so far, once. Throws `secret_shown`. */
  revealSecret(tenant: TenantId, name: string, decided: Decided): Promise<ShownSecret>
  /** Of ed25519 ones: the current one first, then those that still sign beside it; null: there is no such subscription, or it signs otherwise. */
  publicKeys(
    tenant: TenantId,
    name: string,
  ): Promise<readonly { readonly id: string; readonly algorithm: 'ed25519'; readonly key: string }[] | null>
  /** One signed call, now, whatever its status. It is never repeated, and kept nowhere but in the log. */
  test(tenant: TenantId, name: string, decided: Decided): Promise<SubscriptionTest>
  /** Looks whether another node changed something; cheap when not. */
  refresh(tenant: TenantId): Promise<void>
}
