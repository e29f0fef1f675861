// Schemes that send a secret instead of signing with it. Anyone who sees one request can send another, so the header is never
// stored; the comparison takes constant time.

import type { ApiKeyVerify, BasicVerify } from '../../../definitions/documents/index.ts'
import { decodeBase64, isSameText } from '../secret-bytes.ts'
import { missing, OK, refuse, type Scheme, type VerifyResult } from '../verification-scheme.ts'

const AUTHORIZATION = 'authorization'

export function makeApiKeyScheme({ header, prefix }: Pick<ApiKeyVerify, 'header' | 'prefix'>): Scheme {
  return {
    verify: ({ headers, secrets }) =>
      verifyToken(header, headers[header], (secret, given) => isSameText(given, prefix + secret), secrets),
    sign: ({ secret }) => ({ [header]: prefix + secret }),
    signsBody: false,
    secretHeaders: [header],
  }
}

/** Workfront's `authToken`: a bearer token; subscriptions of older versions send it bare. */
export function makeWorkfrontScheme(): Scheme {
  return {
    verify: ({ headers, secrets }) =>
      verifyToken(
        AUTHORIZATION,
        headers[AUTHORIZATION],
        (secret, given) => {
          const isBare = isSameText(given, secret)
          return isSameText(given, `Bearer ${secret}`) || isBare
        },
        secrets,
      ),
    sign: ({ secret }) => ({ [AUTHORIZATION]: `Bearer ${secret}` }),
    signsBody: false,
    secretHeaders: [AUTHORIZATION],
  }
}

const BASIC = /^Basic +(\S+)$/i

export function makeBasicScheme({ username }: Pick<BasicVerify, 'username'>): Scheme {
  return {
    verify({ headers, secrets }) {
      const header = headers[AUTHORIZATION]
      if (header === undefined || header === '') return missing(AUTHORIZATION)
      const given = decodeBase64(BASIC.exec(header)?.[1] ?? '')
      if (given === null) return refuse('signature_wrong', `the header ${AUTHORIZATION} is not Basic`)
      return verifyToken(
        AUTHORIZATION,
        given,
        (secret, bytes) => isSameText(bytes, `${username}:${secret}`),
        secrets,
      )
    },
    sign: ({ secret }) => ({
      [AUTHORIZATION]: `Basic ${Buffer.from(`${username}:${secret}`).toString('base64')}`,
    }),
    signsBody: false,
    secretHeaders: [AUTHORIZATION],
  }
}

/** Every secret is tried; an empty one does not count. */
export function verifyToken<Given extends string | Uint8Array>(
  header: string,
  given: Given | undefined,
  isRight: (secret: string, given: Given) => boolean,
  secrets: readonly string[],
): VerifyResult {
  if (given === undefined || given.length === 0) return missing(header)
  let isKnown = false
  for (const secret of secrets) if (secret !== '') isKnown = isRight(secret, given) || isKnown
  return isKnown ? OK : refuse('signature_wrong', `the header ${header} is not the secret`)
}
