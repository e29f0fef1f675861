// A subscription as data: which endpoint gets which of our events, and how. src/definitions checks what users write and
// converts it to this form, from a file or through the API.

import { DAY } from '../../foundation/time/index.ts'
import type { AuthDocument } from './auth-document.ts'
import type { CarriedSubscription } from './carried-fields.generated.ts'
import type { ConditionDocument, RatePolicy } from './documents.ts'
import type { RetryPolicy } from './retry-policy.ts'
import type { SecretRef } from './verify-document.ts'

/**
 * `standard`: the headers of Standard Webhooks, HMAC-SHA256 (`v1`). `ed25519`: the same headers, signed with a private key (`v1a`).
 * `github`: `x-hub-signature-256` over the body alone, for receivers that know only that.
 */
export const SIGNINGS = ['standard', 'ed25519', 'github'] as const
export type Signing = (typeof SIGNINGS)[number]

/** How long an endpoint may fail without a single success before its subscription disables itself. */
export const DISABLE_AFTER_MS = 5 * DAY

export interface SubscriptionDocument extends CarriedSubscription {
  readonly kind: 'Subscription'
  readonly name: string
  readonly description: string | null
  /** http or https, without credentials. A template that sees `vars` alone. */
  readonly url: string
  readonly on: readonly string[]
  readonly where: ConditionDocument
  readonly status: 'active' | 'paused' | 'disabled'
  /** null: it is generated, and shown once. */
  readonly secret: SecretRef | null
  readonly signing: Signing
  /** Templates by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly retry: RetryPolicy
  /** Of one attempt. */
  readonly timeoutMs: number
  /** Waits for a rate limit or after refusals end after this. */
  readonly maxWaitMs: number
  /** null: failures never disable it. */
  readonly disableAfterMs: number | null
  readonly deadLetter: { readonly severity: string; readonly runbook: string | null }
  /** The owner's own labels. */
  readonly metadata: Readonly<Record<string, string>>

  // A field that is left out was not written, and means the default.

  /** In addition to the signature. Left out: none. */
  readonly auth?: AuthDocument
  readonly rateLimit?: RatePolicy
  /** One at a time per value. */
  readonly order?: {
    readonly by: string
    /** For the deliveries behind a dead one. Left out: they are blocked. */
    readonly onBlocked?: 'skip'
  }
}
