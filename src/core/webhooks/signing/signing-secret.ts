// The secrets that sign deliveries: their format for each signing method, and how a new one is generated.
//
// Invariant: SN5 a secret's prefix shows what it is, and it serves one purpose alone. A private or public key is never the key
// of an HMAC, and a secret of one form never signs by the other: a captured signature must not be usable as another.

import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import type { Signing } from '../../definitions/documents/index.ts'
import { assert } from '../../foundation/errors/index.ts'

/** How many random bytes `newSecret` takes: the size of the hash, and of a private key. */
export const SECRET_BYTES = 32

const SYMMETRIC = 'whsec_'
const PRIVATE = 'whsk_'
const PUBLIC = 'whpk_'
/** The minimum of Standard Webhooks. */
const SYMMETRIC_BYTES_MIN = 24
const SYMMETRIC_BYTES_MAX = 64
const SEED_BYTES = 32
const TEXT_LENGTH_MIN = 16
const TEXT_LENGTH_MAX = 256
/** The DER prefix of the seed (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/** A parsed secret: what it signs, and its key. */
export interface SigningKey {
  readonly signing: Signing
  readonly key: KeyObject
}

export type ParsedSecret =
  | { readonly ok: true; readonly key: SigningKey }
  /** For users: what is expected, and nothing of the value. */
  | { readonly ok: false; readonly message: string }

/** Whether it may sign this way, and its key. Costs some microseconds: `signDelivery` caches it. */
export function parseSecret(signing: Signing, secret: string): ParsedSecret {
  const read = readSecret(secret)
  if (typeof read !== 'string' && read.signing === signing) return { ok: true, key: read }
  const problem = typeof read === 'string' ? read : `this one is for \`signing: ${read.signing}\``
  return { ok: false, message: `${WANTED[signing]}; ${problem}` }
}

const WANTED: Readonly<Record<Signing, string>> = {
  standard: `\`signing: standard\` needs a secret that is \`whsec_\` and the base64 of ${SYMMETRIC_BYTES_MIN} to ${SYMMETRIC_BYTES_MAX} bytes`,
  ed25519: '`signing: ed25519` needs a private key that is `whsk_` and the base64 of its 32 bytes',
  github: `\`signing: github\` needs a secret of ${TEXT_LENGTH_MIN} to ${TEXT_LENGTH_MAX} characters that begins with none of whsec_, whsk_ and whpk_`,
}

/** Parses a key of any kind, by its prefix; a text says why it is invalid. */
export function readSecret(secret: string): SigningKey | string {
  if (secret.trim() !== secret) return 'there are spaces or line breaks around this one'
  if (secret.startsWith(PUBLIC)) return 'this one is a public key, by which nobody signs'
  if (secret.startsWith(SYMMETRIC)) return readSymmetric(secret)
  if (secret.startsWith(PRIVATE)) return readPrivate(secret)
  if (secret.length < TEXT_LENGTH_MIN || secret.length > TEXT_LENGTH_MAX) {
    return `this one has ${secret.length} characters`
  }
  return { signing: 'github', key: createSecretKey(secret, 'utf8') }
}

function readSymmetric(secret: string): SigningKey | string {
  const bytes = decodeStrictly(secret.slice(SYMMETRIC.length))
  if (bytes === null) return NOT_BASE64
  if (bytes.length < SYMMETRIC_BYTES_MIN || bytes.length > SYMMETRIC_BYTES_MAX) {
    return `this one has ${bytes.length} bytes`
  }
  return { signing: 'standard', key: createSecretKey(bytes) }
}

/** The seed alone, or followed by the public key, as some programs write it. */
function readPrivate(secret: string): SigningKey | string {
  const bytes = decodeStrictly(secret.slice(PRIVATE.length))
  if (bytes === null) return NOT_BASE64
  if (bytes.length !== SEED_BYTES && bytes.length !== 2 * SEED_BYTES)
    return `this one has ${bytes.length} bytes`
  const key = privateKey(bytes.subarray(0, SEED_BYTES))
  if (bytes.length > SEED_BYTES && !publicBytes(key).equals(bytes.subarray(SEED_BYTES))) {
    return 'the two halves of this one do not belong together'
  }
  return { signing: 'ed25519', key }
}

const NOT_BASE64 = 'what follows the `_` of this one is not base64 with its `=` at the end'

/** Receivers decode it by libraries that differ in what they accept: only what all parse the same is a secret. */
function decodeStrictly(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : null
}

function privateKey(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' })
}

function publicBytes(key: KeyObject): Buffer {
  const { x } = createPublicKey(key as unknown as Parameters<typeof createPublicKey>[0]).export({
    format: 'jwk',
  })
  return Buffer.from(x as string, 'base64url')
}

/** From unguessable random bytes: `SECRET_BYTES` of them. */
export function newSecret(signing: Signing, bytes: Uint8Array): string {
  assert(bytes.length === SECRET_BYTES, `a secret is made of ${SECRET_BYTES} bytes`)
  switch (signing) {
    case 'standard':
      return SYMMETRIC + Buffer.from(bytes).toString('base64')
    case 'ed25519':
      return PRIVATE + Buffer.from(bytes).toString('base64')
    case 'github':
      return Buffer.from(bytes).toString('hex')
  }
}

/** What receivers verify `v1a` with: `whpk_…`. null: not a private key. */
export function publicKeyOf(secret: string): string | null {
  const read = readSecret(secret)
  return typeof read === 'string' || read.signing !== 'ed25519'
    ? null
    : PUBLIC + publicBytes(read.key).toString('base64')
}
