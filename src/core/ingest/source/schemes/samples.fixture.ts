// One source of every scheme, with secrets that sign and others that verify.

import type { VerifyDocument } from '../../../definitions/documents/index.ts'
import { type SignInput, signedUrl, signRequest, verifySignature } from '../index.ts'

export interface SchemeSample {
  readonly name: string
  readonly document: VerifyDocument
  readonly signWith: string
  /** For public-key schemes the two differ. */
  readonly verifyWith: string
  readonly otherSecret: string
  /** Names of the signature's header, and of other signed headers. */
  readonly header: string
  readonly signedHeaders?: readonly string[]
  readonly isTimed?: true
  readonly isTimeInBody?: true
  readonly isAddressed?: true
  /** Sends the secret: the body is not signed. */
  readonly isToken?: true
}

export const NOW = 1_700_000_000_000
const URL_SEEN = 'https://hooks.example.com/in/default/x?a=1'

const shared = { signWith: 's3cret-one', verifyWith: 's3cret-one', otherSecret: 's3cret-two' }
const vendor = (
  scheme: Extract<VerifyDocument, { url?: string }>['scheme'],
  header: string,
  more: Partial<SchemeSample> = {},
): SchemeSample => ({ name: scheme, document: { scheme, secret: [] }, ...shared, header, ...more })

/** The first two keys of RFC 8032's tests. */
const SEED = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
const PUBLIC = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
const OTHER_PUBLIC = '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c'
const base64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64')

export const SYMMETRIC = {
  signWith: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  verifyWith: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  otherSecret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
}
export const ASYMMETRIC = {
  signWith: `whsk_${base64(SEED)}`,
  verifyWith: `whpk_${base64(PUBLIC)}`,
  otherSecret: `whpk_${base64(OTHER_PUBLIC)}`,
}
const STANDARD = {
  signedHeaders: ['webhook-id', 'webhook-timestamp'],
  isTimed: true,
} as const

export const SAMPLES: readonly SchemeSample[] = [
  vendor('github', 'x-hub-signature-256'),
  vendor('bitbucket', 'x-hub-signature'),
  vendor('jira', 'x-hub-signature'),
  vendor('intercom', 'x-hub-signature'),
  vendor('sentry', 'sentry-hook-signature'),
  vendor('shopify', 'x-shopify-hmac-sha256'),
  vendor('terraform-cloud', 'x-tfe-notification-signature'),
  vendor('pagerduty', 'x-pagerduty-signature'),
  vendor('stripe', 'stripe-signature', { isTimed: true }),
  vendor('paddle', 'paddle-signature', { isTimed: true }),
  vendor('slack', 'x-slack-signature', { isTimed: true, signedHeaders: ['x-slack-request-timestamp'] }),
  vendor('zoom', 'x-zm-signature', { isTimed: true, signedHeaders: ['x-zm-request-timestamp'] }),
  vendor('linear', 'linear-signature', { isTimeInBody: true }),
  vendor('square', 'x-square-hmacsha256-signature', { isAddressed: true }),
  vendor('twilio', 'x-twilio-signature', { isAddressed: true }),
  vendor('hubspot', 'x-hubspot-signature-v3', {
    isAddressed: true,
    isTimed: true,
    signedHeaders: ['x-hubspot-request-timestamp'],
  }),
  vendor('standard-webhooks', 'webhook-signature', {
    ...STANDARD,
    ...SYMMETRIC,
    name: 'standard-webhooks v1',
  }),
  vendor('standard-webhooks', 'webhook-signature', {
    ...STANDARD,
    ...ASYMMETRIC,
    name: 'standard-webhooks v1a',
  }),
  vendor('gitlab', 'x-gitlab-token', { isToken: true, name: 'gitlab by token' }),
  vendor('gitlab', 'webhook-signature', { ...STANDARD, ...SYMMETRIC, name: 'gitlab by signature' }),
  vendor('discord', 'x-signature-ed25519', {
    signWith: SEED,
    verifyWith: PUBLIC,
    otherSecret: OTHER_PUBLIC,
    isTimed: true,
    signedHeaders: ['x-signature-timestamp'],
  }),
  vendor('workfront', 'authorization', { isToken: true }),
  {
    name: 'basic',
    document: { scheme: 'basic', username: 'ada', secret: [] },
    ...shared,
    header: 'authorization',
    isToken: true,
  },
  {
    name: 'api-key',
    document: { scheme: 'api-key', secret: [], header: 'x-key', prefix: 'Key ' },
    ...shared,
    header: 'x-key',
    isToken: true,
  },
  {
    name: 'hmac',
    document: {
      scheme: 'hmac',
      secret: [],
      header: 'x-signature',
      algorithm: 'sha512',
      encoding: 'base64',
      prefix: 'v9=',
      signed: '{{ header.x-time }}.{{ body }}',
      timestampHeader: 'x-time',
      toleranceMs: 300_000,
    },
    ...shared,
    header: 'x-signature',
    isTimed: true,
    signedHeaders: ['x-time'],
  },
]

export interface SignedSample {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly url: string
}

export function bodyOf(sample: SchemeSample, text: string): Uint8Array {
  return Buffer.from(JSON.stringify({ text, ...(sample.isTimeInBody && { webhookTimestamp: NOW }) }))
}

/** Signed as the vendor would. */
export function signSample(
  sample: SchemeSample,
  body: Uint8Array,
  more: Partial<SignInput> = {},
): SignedSample {
  const headers = { 'content-type': 'application/json' }
  const url = signedUrl(sample.document, URL_SEEN, headers, body)
  const input = {
    body,
    headers,
    secret: sample.signWith,
    method: 'POST',
    url,
    now: NOW,
    id: 'msg_1',
    ...more,
  }
  return { headers: { ...headers, ...signRequest(sample.document, input) }, body, url }
}

export function open(
  sample: SchemeSample,
  signedSample: SignedSample,
  more: {
    readonly secrets?: readonly string[]
    readonly now?: number
    readonly document?: VerifyDocument
  } = {},
) {
  return verifySignature(more.document ?? sample.document, {
    ...signedSample,
    method: 'POST',
    secrets: more.secrets ?? [sample.verifyWith],
    now: more.now ?? NOW,
  })
}
