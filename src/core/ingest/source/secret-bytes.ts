// Decodes signature texts to bytes, compares in constant time, and caches parsed keys.

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto'

const HEX = /^[0-9a-fA-F]*$/
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

export type Encoding = 'hex' | 'base64'

/** Exactly this many bytes, or null. */
export function decodeBytes(text: string, encoding: Encoding, bytes: number): Buffer | null {
  if (encoding === 'hex') {
    return text.length === bytes * 2 && HEX.test(text) ? Buffer.from(text, 'hex') : null
  }
  const decoded = text.length > bytes * 2 ? null : decodeBase64(text)
  return decoded?.length === bytes ? decoded : null
}

/** Either alphabet, with or without padding. Unused bits must be zero: one text per value. */
export function decodeBase64(text: string): Buffer | null {
  if (!BASE64.test(text)) return null
  const decoded = Buffer.from(text, 'base64')
  const canonical = text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  return decoded.toString('base64url') === canonical ? decoded : null
}

/** In a time that depends on neither the position nor the amount of a difference, also in length. */
export function isSameText(given: string | Uint8Array, expected: string): boolean {
  return timingSafeEqual(sha256(given), sha256(expected))
}

function sha256(value: string | Uint8Array): Buffer {
  return createHash('sha256').update(value).digest()
}

// --- Keys

const KEYS_MAX = 32

/** Keys by secret, parsed once each; `read` returns null for an invalid key. An empty secret is not a secret. */
export function makeKeys<Key>(read: (secret: string) => Key | null): (secret: string) => Key | null {
  const known = new Map<string, Key | null>()
  return (secret) => {
    const found = known.get(secret)
    if (found !== undefined) return found
    const key = secret === '' ? null : read(secret)
    // After many rotations: keys still in use are parsed again when needed.
    if (known.size >= KEYS_MAX) known.clear()
    known.set(secret, key)
    return key
  }
}

export function readHmacKey(secret: string): KeyObject {
  return createSecretKey(secret, 'utf8')
}

export const ED25519_KEY_BYTES = 32
export const ED25519_SIGNATURE_BYTES = 64
/** The DER prefix of the seed (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Points of small order, without their sign: for these, zeros among them, anyone can forge signatures. */
const WEAK_POINTS = new Set([
  `00${'00'.repeat(31)}`,
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
])

/** null: not a key that could prove anything. */
export function makePublicKey(bytes: Buffer): KeyObject | null {
  const point = Buffer.from(bytes)
  point[ED25519_KEY_BYTES - 1] = (point[ED25519_KEY_BYTES - 1] ?? 0) & 0x7f
  if (WEAK_POINTS.has(point.toString('hex'))) return null
  return createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') },
    format: 'jwk',
  })
}

/** From the seed alone, or followed by the public key. */
export function makePrivateKey(bytes: Buffer): KeyObject {
  const seed = bytes.subarray(0, ED25519_KEY_BYTES)
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' })
}
