// How a source verifies its senders, as data. The lists group the vendors by what may be written beside the secret:
// src/definitions builds the language from them, src/core/ingest/source/schemes implements them.

/** An environment variable, a file in the folder of secrets, or an entry of the vault. */
export type SecretRef = { readonly env: string } | { readonly file: string } | { readonly ref: string }

/** Signed without a timestamp. */
export const PLAIN_SCHEMES = [
  'github',
  'bitbucket',
  'jira',
  'shopify',
  'terraform-cloud',
  'sentry',
  'intercom',
  'pagerduty',
  'workfront',
] as const

/** With a signed timestamp: `tolerance`. */
export const TIMED_SCHEMES = [
  'gitlab',
  'stripe',
  'slack',
  'standard-webhooks',
  'discord',
  'linear',
  'zoom',
  'paddle',
] as const

/** With the address as the sender knows it: `url`. */
export const ADDRESSED_SCHEMES = ['twilio', 'square'] as const

/** With both. */
export const TIMED_ADDRESSED_SCHEMES = ['hubspot'] as const

export type VendorScheme =
  | (typeof PLAIN_SCHEMES)[number]
  | (typeof TIMED_SCHEMES)[number]
  | (typeof ADDRESSED_SCHEMES)[number]
  | (typeof TIMED_ADDRESSED_SCHEMES)[number]

export interface VendorVerify {
  readonly scheme: VendorScheme
  readonly secret: readonly SecretRef[]
  /** Left out: 300 s. */
  readonly toleranceMs?: number
  /** As the sender knows it, without a query; left out: as received. */
  readonly url?: string
}

export interface HmacVerify {
  readonly scheme: 'hmac'
  readonly secret: readonly SecretRef[]
  /** Lower case. */
  readonly header: string
  readonly algorithm: 'sha1' | 'sha256' | 'sha512'
  readonly encoding: 'hex' | 'base64'
  readonly prefix: string
  /** A template over `body` (the raw bytes as text) and `header`. */
  readonly signed: string
  readonly timestampHeader: string | null
  readonly toleranceMs: number
}

export interface BasicVerify {
  readonly scheme: 'basic'
  readonly username: string
  /** The password. */
  readonly secret: readonly SecretRef[]
}

export interface ApiKeyVerify {
  readonly scheme: 'api-key'
  readonly secret: readonly SecretRef[]
  /** Lower case. */
  readonly header: string
  readonly prefix: string
}

export type VerifyDocument =
  | { readonly scheme: 'none' }
  /** No sender: it receives no requests. */
  | { readonly scheme: 'closed' }
  | VendorVerify
  | HmacVerify
  | BasicVerify
  | ApiKeyVerify

/** The secrets that it verifies with: empty where senders prove nothing. */
export function secretsOf(verify: VerifyDocument): readonly SecretRef[] {
  return 'secret' in verify ? verify.secret : []
}
