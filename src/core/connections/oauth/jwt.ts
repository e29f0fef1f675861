// Signed claims that identify an app or a service account (RFC 7519, RS256), from given keys and instants.

import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import type { Instant } from '../../foundation/time/index.ts'

/** The secret is not a signing key. The text says what is expected, and quotes nothing of the value. */
export class KeyError extends Error {
  override readonly name = 'KeyError'
}

/** The vendor's clock may be behind ours. */
const BACKDATED_S = 60
/** GitHub accepts ten minutes at most. */
const APP_LIFE_S = 9 * 60
const ASSERTION_LIFE_S = 60 * 60

export function githubAppJwt(privateKeyPem: string, appId: string, now: Instant): string {
  const seconds = Math.floor(now / 1_000)
  return signJwt(
    { iss: appId, iat: seconds - BACKDATED_S, exp: seconds + APP_LIFE_S },
    readKey(privateKeyPem),
    null,
  )
}

export interface ServiceAccountKey {
  readonly clientEmail: string
  readonly privateKey: string
  readonly keyId: string | null
  /** Where an assertion is exchanged for a token. */
  readonly tokenUrl: string
}

const KEY_FILE_WANTED =
  'the secret of a service account is its key file: JSON with client_email, private_key and token_uri'

export function parseServiceAccountKey(text: string): ServiceAccountKey {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new KeyError(KEY_FILE_WANTED)
  }
  const { client_email, private_key, token_uri, private_key_id } = (value ?? {}) as Record<string, unknown>
  if (typeof client_email !== 'string' || typeof private_key !== 'string' || typeof token_uri !== 'string')
    throw new KeyError(KEY_FILE_WANTED)
  const keyId = typeof private_key_id === 'string' ? private_key_id : null
  return { clientEmail: client_email, privateKey: private_key, keyId, tokenUrl: token_uri }
}

export function serviceAccountAssertion(
  key: ServiceAccountKey,
  asked: { readonly scopes: readonly string[]; readonly subject: string | null; readonly audience: string },
  now: Instant,
): string {
  const seconds = Math.floor(now / 1_000)
  const claims = {
    iss: key.clientEmail,
    scope: asked.scopes.join(' '),
    aud: asked.audience,
    iat: seconds,
    exp: seconds + ASSERTION_LIFE_S,
    ...(asked.subject === null ? {} : { sub: asked.subject }),
  }
  return signJwt(claims, readKey(key.privateKey), key.keyId)
}

function readKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'rsa') return key
  } catch {
    // The library's message may quote its input.
  }
  throw new KeyError('the secret must be an RSA private key in PEM form (-----BEGIN … PRIVATE KEY-----)')
}

function signJwt(
  claims: Readonly<Record<string, string | number>>,
  key: KeyObject,
  keyId: string | null,
): string {
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === null ? {} : { kid: keyId }) }
  const text = `${encode(header)}.${encode(claims)}`
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64url')
}
