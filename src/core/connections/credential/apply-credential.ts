// Puts a credential's value into a request: in a header, in the query, or as a signature over the request. Tokens derived from
// a secret are sent like `bearer`.
//
// `hmac` signs `METHOD\npath?query\nsha256(body)\ntimestamp`: the hash is in hex, of an empty text if there is no body; the
// timestamp is in seconds. The header holds the prefix and the signature in hex, `x-timestamp` the timestamp.

import { createHash, createHmac } from 'node:crypto'
import {
  authenticationOf,
  type CredentialDocument,
  type ProviderDocument,
} from '../../definitions/documents/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

export interface RequestToSign {
  readonly method: string
  readonly url: string
  readonly body: string | null
}

/** Additions to a request. */
export interface Applied {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Values to redact everywhere. */
  readonly secrets: readonly string[]
}

const NOTHING_APPLIED: Applied = { headers: {}, query: {}, secrets: [] }
const TIMESTAMP_HEADER = 'x-timestamp'
const SIGNATURE_HEADER = 'x-signature'
const API_KEY_HEADER = 'x-api-key'

const NOT_SAID: ProviderDocument['authentication'] = { header: null, prefix: '', query: null }

/** For `apiKey`, `basic` and `bearer`: the same for every request. */
export function applyValue(
  provider: Pick<ProviderDocument, 'authentication' | 'auth'>,
  { auth, username }: Pick<CredentialDocument, 'auth' | 'username'>,
  value: string,
): Applied {
  const { header, prefix, query } = authenticationOf(provider, auth) ?? NOT_SAID
  switch (auth) {
    case 'none':
    case 'hmac':
      return NOTHING_APPLIED
    case 'apiKey':
      if (query !== null) return { headers: {}, query: { [query]: value }, secrets: [value] }
      return { headers: { [header ?? API_KEY_HEADER]: prefix + value }, query: {}, secrets: [value] }
    case 'basic': {
      const pair = Buffer.from(`${username ?? ''}:${value}`, 'utf8').toString('base64')
      return { headers: { authorization: `Basic ${pair}` }, query: {}, secrets: [value, pair] }
    }
    case 'bearer':
      return {
        headers: {
          [header ?? 'authorization']: (header === null && prefix === '' ? 'Bearer ' : prefix) + value,
        },
        query: {},
        secrets: [value],
      }
    default:
      return bearer(value)
  }
}

/** For a token derived from the secret. */
export function bearer(token: string): Applied {
  return { headers: { authorization: `Bearer ${token}` }, query: {}, secrets: [token] }
}

export function applyHmac(
  { authentication }: Pick<ProviderDocument, 'authentication'>,
  algorithm: 'sha256' | 'sha512',
  key: string,
  request: RequestToSign,
  now: Instant,
): Applied {
  const timestamp = String(Math.floor(now / 1_000))
  const signature = createHmac(algorithm, key).update(textToSign(request, timestamp)).digest('hex')
  return {
    headers: {
      [authentication.header ?? SIGNATURE_HEADER]: authentication.prefix + signature,
      [TIMESTAMP_HEADER]: timestamp,
    },
    query: {},
    // The signature is redacted too: anyone who has it can resend the request while its timestamp is valid.
    secrets: [key, signature],
  }
}

function textToSign({ method, url, body }: RequestToSign, timestamp: string): string {
  const digest = createHash('sha256')
    .update(body ?? '')
    .digest('hex')
  return `${method.toUpperCase()}\n${targetOf(url)}\n${digest}\n${timestamp}`
}

/** Path and query, as sent. */
function targetOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
