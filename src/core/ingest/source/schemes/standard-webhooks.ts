// Standard Webhooks: `v1` by HMAC and `v1a` by Ed25519, several of both in one header. Invariant: SV8 the kind of a key decides
// what it may verify. A public key, which anyone may have, is never the key of an HMAC, and no signature of one kind is
// compared by the other.

import { createHmac, createSecretKey, type KeyObject, sign, timingSafeEqual, verify } from 'node:crypto'
import { assert } from '../../../foundation/errors/index.ts'
import {
  decodeBase64,
  decodeBytes,
  ED25519_KEY_BYTES,
  ED25519_SIGNATURE_BYTES,
  makeKeys,
  makePrivateKey,
  makePublicKey,
} from '../secret-bytes.ts'
import { checkAge, readInstant, timeToSign } from '../sent-at.ts'
import type { Headers } from '../signed-bytes.ts'
import {
  missing,
  refuse,
  type Scheme,
  SIGNATURES_MAX,
  type SignInput,
  SigningError,
  TOLERANCE_MS,
  type VerifyInput,
  type VerifyResult,
} from '../verification-scheme.ts'

type Key =
  | { readonly kind: 'hmac'; readonly key: KeyObject }
  | { readonly kind: 'ed25519'; readonly key: KeyObject; readonly privateKey: KeyObject | null }

const SYMMETRIC = 'whsec_'
const PUBLIC = 'whpk_'
const PRIVATE = 'whsk_'
const DIGEST_BYTES = 32
/** Svix sends the same under its own names. */
const FAMILIES = ['webhook', 'svix'] as const

export function makeStandardScheme({
  toleranceMs = TOLERANCE_MS,
}: {
  readonly toleranceMs?: number
}): Scheme {
  const keys = makeKeys(readKey)
  return {
    verify: (input) => verifyStandard(input, keys, toleranceMs),
    sign: signStandard,
    secretHeaders: FAMILIES.map((family) => `${family}-signature`),
  }
}

export function isSigningSecret(secret: string): boolean {
  return [SYMMETRIC, PUBLIC, PRIVATE].some((prefix) => secret.startsWith(prefix))
}

/** Without a prefix it is the base64 of a shared key, as in the first versions. */
function readKey(secret: string): Key | null {
  if (secret.startsWith(PUBLIC)) {
    const bytes = decodeBytes(secret.slice(PUBLIC.length), 'base64', ED25519_KEY_BYTES)
    const key = bytes === null ? null : makePublicKey(bytes)
    return key === null ? null : { kind: 'ed25519', key, privateKey: null }
  }
  if (secret.startsWith(PRIVATE)) {
    const bytes = decodeBase64(secret.slice(PRIVATE.length))
    if (bytes?.length !== ED25519_KEY_BYTES && bytes?.length !== 2 * ED25519_KEY_BYTES) return null
    const privateKey = makePrivateKey(bytes)
    return { kind: 'ed25519', key: privateKey, privateKey }
  }
  const bytes = decodeBase64(secret.startsWith(SYMMETRIC) ? secret.slice(SYMMETRIC.length) : secret)
  return bytes === null || bytes.length === 0 ? null : { kind: 'hmac', key: createSecretKey(bytes) }
}

function verifyStandard(
  { headers, body, secrets, now }: VerifyInput,
  keys: (secret: string) => Key | null,
  toleranceMs: number,
): VerifyResult {
  const family = FAMILIES.find((name) => headers[`${name}-signature`] !== undefined) ?? FAMILIES[0]
  const [id, time, listed] = ['id', 'timestamp', 'signature'].map((name) => headers[`${family}-${name}`])
  if (listed === undefined || listed === '') return missing(`${family}-signature`)
  if (id === undefined || id === '') return missing(`${family}-id`)
  if (time === undefined || time === '') return missing(`${family}-timestamp`)
  const unsigned = FAMILIES.find((name) => (headers[`${name}-id`] ?? id) !== id)
  if (unsigned !== undefined) {
    return refuse('signature_wrong', `the header ${unsigned}-id is not signed, and not ${family}-id`)
  }
  const place = `the header ${family}-timestamp`
  const sentAt = readInstant(time, place)
  if (typeof sentAt === 'object') return sentAt
  const texts = listed.split(' ', SIGNATURES_MAX)
  const digests = decodeAll(texts, 'v1,', DIGEST_BYTES)
  const signatures = decodeAll(texts, 'v1a,', ED25519_SIGNATURE_BYTES)
  if (digests.length + signatures.length === 0) {
    return refuse('signature_wrong', `the header ${family}-signature lists no v1 or v1a as base64`)
  }
  const message = messageOf(id, time, body)
  let isKnown = false
  for (const secret of secrets) {
    const key = keys(secret)
    if (key?.kind === 'hmac') {
      const digest = createHmac('sha256', key.key).update(message).digest()
      for (const given of digests) isKnown = timingSafeEqual(digest, given) || isKnown
    } else if (key?.kind === 'ed25519') {
      for (const given of signatures) isKnown = verify(null, message, key.key, given) || isKnown
    }
  }
  if (!isKnown) return refuse('signature_wrong', `the header ${family}-signature does not match the body`)
  return checkAge(sentAt, now, toleranceMs, place)
}

function decodeAll(texts: readonly string[], version: string, bytes: number): readonly Buffer[] {
  return texts.flatMap((text) => {
    const decoded = text.startsWith(version) ? decodeBytes(text.slice(version.length), 'base64', bytes) : null
    return decoded === null ? [] : [decoded]
  })
}

function messageOf(id: string, time: string, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${id}.${time}.`), body])
}

function signStandard(input: SignInput): Headers {
  const id = input.headers?.['webhook-id'] ?? input.id
  assert(id !== undefined, 'this scheme signs the message’s id: give `id`')
  const time = timeToSign(input, 'webhook-timestamp')
  const key = readKey(input.secret)
  if (key === null) throw new SigningError('this scheme signs with whsec_… or whsk_… and base64')
  const message = messageOf(id, time, input.body)
  return {
    'webhook-id': id,
    'webhook-timestamp': time,
    'webhook-signature': signatureOf(key, message),
  }
}

function signatureOf(key: Key, message: Buffer): string {
  if (key.kind === 'hmac') return `v1,${createHmac('sha256', key.key).update(message).digest('base64')}`
  if (key.privateKey === null) throw new SigningError('nobody signs with a public key: give whsk_…')
  return `v1a,${sign(null, message, key.privateKey).toString('base64')}`
}
