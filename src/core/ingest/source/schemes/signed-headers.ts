// Vendors whose scheme is an HMAC in a header and nothing else. Vendors with further rules have files of their own.

import type { VendorScheme } from '../../../definitions/documents/index.ts'
import type { HmacShape, SignedRequest } from '../hmac.ts'

const BODY = ({ body }: SignedRequest) => [body]
const VERSION_TIME_BODY = ({ time, body }: SignedRequest) => [`v0:${time}:`, body]

const HEX_256 = { algorithm: 'sha256', encoding: 'hex', prefix: '', signed: BODY } as const
const BASE64_256 = { algorithm: 'sha256', encoding: 'base64', prefix: '' } as const
/** WebSub's header, which declares its own algorithm: only the vendor's algorithm is accepted. */
const HUB = { ...HEX_256, header: 'x-hub-signature', prefix: 'sha256=' } as const

export const SIGNED_HEADERS = {
  github: { ...HEX_256, header: 'x-hub-signature-256', prefix: 'sha256=' },
  bitbucket: HUB,
  jira: HUB,
  intercom: { ...HUB, algorithm: 'sha1', prefix: 'sha1=' },
  sentry: { ...HEX_256, header: 'sentry-hook-signature' },
  linear: { ...HEX_256, header: 'linear-signature' },
  'terraform-cloud': { ...HEX_256, algorithm: 'sha512', header: 'x-tfe-notification-signature' },
  pagerduty: {
    ...HEX_256,
    header: 'x-pagerduty-signature',
    prefix: 'v1=',
    list: { separator: ',', timePrefix: null },
  },
  stripe: {
    ...HEX_256,
    header: 'stripe-signature',
    prefix: 'v1=',
    list: { separator: ',', timePrefix: 't=' },
    signed: ({ time, body }) => [`${time}.`, body],
  },
  paddle: {
    ...HEX_256,
    header: 'paddle-signature',
    prefix: 'h1=',
    list: { separator: ';', timePrefix: 'ts=' },
    signed: ({ time, body }) => [`${time}:`, body],
  },
  slack: {
    ...HEX_256,
    header: 'x-slack-signature',
    prefix: 'v0=',
    timestampHeader: 'x-slack-request-timestamp',
    signed: VERSION_TIME_BODY,
  },
  zoom: {
    ...HEX_256,
    header: 'x-zm-signature',
    prefix: 'v0=',
    timestampHeader: 'x-zm-request-timestamp',
    signed: VERSION_TIME_BODY,
  },
  shopify: { ...BASE64_256, header: 'x-shopify-hmac-sha256', signed: BODY },
  square: {
    ...BASE64_256,
    header: 'x-square-hmacsha256-signature',
    signed: ({ url, body }) => [url, body],
    alsoSigned: 'the URL; write `url` where the sender knows another',
  },
  hubspot: {
    ...BASE64_256,
    header: 'x-hubspot-signature-v3',
    timestampHeader: 'x-hubspot-request-timestamp',
    timeUnit: 'ms',
    signed: ({ method, url, body, time }) => [method + decodeHubspotUrl(url), body, time],
    alsoSigned: 'the URL; write `url` where the sender knows another',
  },
} as const satisfies Partial<Readonly<Record<VendorScheme, HmacShape>>>

const HUBSPOT_DECODED = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi

/** HubSpot signs the address with these twelve characters decoded, and all others as sent. */
function decodeHubspotUrl(url: string): string {
  return url.replaceAll(HUBSPOT_DECODED, (code) => decodeURIComponent(code))
}
