// Lists the verification schemes. To add a vendor: name it in src/core/definitions/documents/verify-document.ts, describe it in
// signed-headers.ts or in a file of its own, add it here, and test it with a vector that the vendor has published.

import type { VendorScheme, VendorVerify, VerifyDocument } from '../../../definitions/documents/index.ts'
import { unreachable } from '../../../foundation/errors/index.ts'
import { type HmacShape, makeHmacScheme } from '../hmac.ts'
import { compileSigned } from '../signed-bytes.ts'
import { OK, refuse, type Scheme, TOLERANCE_MS, type VerifyInput } from '../verification-scheme.ts'
import { makeDiscordScheme } from './discord.ts'
import { makeGitlabScheme } from './gitlab.ts'
import { answerSlack, answerTerraform, answerZoom } from './handshakes.ts'
import { makeLinearScheme } from './linear.ts'
import { makeApiKeyScheme, makeBasicScheme, makeWorkfrontScheme } from './shared-token.ts'
import { makeShopifyScheme } from './shopify.ts'
import { SIGNED_HEADERS } from './signed-headers.ts'
import { makeStandardScheme } from './standard-webhooks.ts'
import { makeTwilioScheme } from './twilio.ts'

type Options = Pick<VendorVerify, 'toleranceMs'>

const VENDORS: Readonly<Record<VendorScheme, (options: Options) => Scheme>> = {
  github: signedBy(SIGNED_HEADERS.github),
  bitbucket: signedBy(SIGNED_HEADERS.bitbucket),
  jira: signedBy(SIGNED_HEADERS.jira),
  intercom: signedBy(SIGNED_HEADERS.intercom),
  sentry: signedBy(SIGNED_HEADERS.sentry),
  pagerduty: signedBy(SIGNED_HEADERS.pagerduty),
  stripe: signedBy(SIGNED_HEADERS.stripe),
  paddle: signedBy(SIGNED_HEADERS.paddle),
  shopify: () => makeShopifyScheme(SIGNED_HEADERS.shopify),
  // Square sends an older signature beside the new one, HubSpot two.
  square: signedBy(SIGNED_HEADERS.square, ['x-square-signature']),
  hubspot: signedBy(SIGNED_HEADERS.hubspot, ['x-hubspot-signature']),
  slack: (options) => ({ ...signedBy(SIGNED_HEADERS.slack)(options), handshake: answerSlack }),
  'terraform-cloud': (options) => ({
    ...signedBy(SIGNED_HEADERS['terraform-cloud'])(options),
    handshake: answerTerraform,
  }),
  zoom: makeZoomScheme,
  linear: makeLinearScheme,
  gitlab: makeGitlabScheme,
  'standard-webhooks': makeStandardScheme,
  discord: makeDiscordScheme,
  twilio: makeTwilioScheme,
  workfront: makeWorkfrontScheme,
}

function signedBy(shape: HmacShape, alsoSecret: readonly string[] = []): (options: Options) => Scheme {
  return ({ toleranceMs = TOLERANCE_MS }) => {
    const scheme = makeHmacScheme({ ...shape, toleranceMs })
    return { ...scheme, secretHeaders: [...scheme.secretHeaders, ...alsoSecret] }
  }
}

function makeZoomScheme(options: Options): Scheme {
  const scheme = signedBy(SIGNED_HEADERS.zoom)(options)
  return {
    ...scheme,
    handshake: (input) => answerZoom(input, (secret) => scheme.verify({ ...input, secrets: [secret] }).ok),
  }
}

export function makeScheme(document: VerifyDocument): Scheme {
  switch (document.scheme) {
    case 'none':
      return { verify: () => OK, sign: () => ({}), secretHeaders: [] }
    case 'closed':
      return {
        verify: () => refuse('signature_wrong', 'nobody sends to this source'),
        sign: () => ({}),
        secretHeaders: [],
      }
    case 'hmac': {
      const signed = compileSigned(document.signed)
      return makeHmacScheme({ ...document, signed: ({ headers, body }) => signed(headers, body) })
    }
    case 'basic':
      return makeBasicScheme(document)
    case 'api-key':
      return makeApiKeyScheme(document)
    default:
      return atAddress(document.url, vendorOf(document)(document))
  }
}

function vendorOf(document: VendorVerify): (options: Options) => Scheme {
  return VENDORS[document.scheme] ?? unreachable(document.scheme as never)
}

/** With the address as the sender knows it; the query is always that of the request. */
function atAddress(address: string | undefined, scheme: Scheme): Scheme {
  if (address === undefined) return scheme
  const placed = <Input extends Pick<VerifyInput, 'url'>>(input: Input): Input => ({
    ...input,
    url: address + queryOf(input.url ?? ''),
  })
  return {
    ...scheme,
    verify: (input) => scheme.verify(placed(input)),
    sign: (input) => scheme.sign(placed(input)),
  }
}

function queryOf(url: string): string {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at)
}
