// A subscription as a user writes it in TypeScript; src/definitions/schema-subscriptions.ts says the same for YAML and JSON.

import type {
  AuthDefinition,
  Condition,
  Described,
  Expression,
  RetryDefinition,
  SecretReference,
  Sent,
  Template,
} from './definitions.ts'
import type { DurationText } from './errors.ts'

/** An endpoint, which of our events it receives, and how. */
export interface SubscriptionDefinition extends Described {
  /** http or https, without a user, a password or a `#`. Sees only `vars`. */
  readonly url: Template
  /** Subjects that it receives; `*` is one token, `>` at the end one or more. */
  readonly on: string | readonly string[]
  /** Which of these events; all of them when left out. */
  readonly where?: Condition
  /** `active` when left out. `paused` stores deliveries for later, `disabled` skips what arrives. */
  readonly status?: 'active' | 'paused' | 'disabled'
  /** The body; `id`, `type`, `timestamp` and `data` of the event when left out. */
  readonly transform?: Exclude<Sent, null>
  /** What sources declare as sensitive is sent to this endpoint; `[hidden]` when left out. */
  readonly sensitive?: 'send'
  /** Besides our own. */
  readonly headers?: Readonly<Record<string, Template>>
  /** The proof of the caller's identity, besides the signature. */
  readonly auth?: AuthDefinition
  /** What deliveries are signed with; generated, and shown once, when left out. */
  readonly secret?: SecretReference
  /** `standard` when left out: the headers of Standard Webhooks by a shared secret. */
  readonly signing?: 'standard' | 'ed25519' | 'github'
  /** `DELIVERY` when left out. */
  readonly retry?: string | RetryDefinition
  /** Per attempt, `1s` to `60s`; `15s` when left out. */
  readonly timeout?: DurationText
  /** How long a delivery may wait besides its retries; `24h` when left out. */
  readonly maxWait?: DurationText
  /** How long everything may fail before it disables itself; `5d` when left out. */
  readonly disableAfter?: DurationText | 'never'
  /** A policy, or the name of a profile. */
  readonly rateLimit?: string | { readonly perMinute: number; readonly burst?: number }
  /** As many as the endpoint can handle when left out. */
  readonly concurrency?: { readonly limit: number }
  /** Deliveries of one value go one after another. */
  readonly order?: {
    readonly by: Expression
    /** Of the others while one is dead; `hold` when left out. */
    readonly onBlocked?: 'hold' | 'skip'
  }
  readonly deadLetter?: {
    readonly severity?: 'low' | 'medium' | 'high' | 'critical'
    readonly runbook?: string
  }
  /** Its owner, in your own words. */
  readonly metadata?: Readonly<Record<string, string>>
}

export function defineSubscription(
  definition: SubscriptionDefinition,
): { readonly kind: 'Subscription' } & SubscriptionDefinition {
  return { kind: 'Subscription', ...definition }
}
