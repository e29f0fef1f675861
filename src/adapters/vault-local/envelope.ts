// An envelope: a value encrypted by a key of its own (AES-256-GCM), and that key encrypted by the master key. A new
// master key encrypts the small keys again and leaves the values alone.
//
// Invariant: what was encrypted for one tenant, name and version decrypts for no other. Altered data does not decrypt.

import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { MasterKey, MasterKeys } from '../../core/secrets/index.ts'
import type { Random } from '../../ports/random.ts'

/** All base64: 12 bytes of nonce, the encrypted bytes, a 16-byte authentication tag. */
export interface Envelope {
  /** The master key that encrypted `wrapped`. */
  readonly keyId: string
  readonly wrapped: string
  readonly sealed: string
}

/** What an envelope is bound to. */
export interface Binding {
  readonly tenant: string
  readonly name: string
  readonly version: number
}

/** The envelope does not decrypt; the error says why, and nothing of the content. */
export class EnvelopeError extends Error {
  override readonly name = 'EnvelopeError'
  readonly reason: 'unknown-key' | 'altered'
  constructor(reason: EnvelopeError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

const NONCE_BYTES = 12
const PROOF_BYTES = 16
const KEY_BYTES = 32

export function sealValue(value: string, binding: Binding, keys: MasterKeys, random: Random): Envelope {
  const key = random.bytes(KEY_BYTES)
  const sealed = encrypt(key, Buffer.from(value, 'utf8'), boundTo('value', binding), random)
  const envelope = { ...wrapKey(key, binding, keys.current, random), sealed }
  key.fill(0)
  return envelope
}

export function openValue(envelope: Envelope, binding: Binding, keys: MasterKeys): string {
  const key = unwrapKey(envelope, binding, keys)
  const bytes = decrypt(key, envelope.sealed, boundTo('value', binding))
  key.fill(0)
  return bytes.toString('utf8')
}

/** The same value under the current master key. */
export function wrapAnew(envelope: Envelope, binding: Binding, keys: MasterKeys, random: Random): Envelope {
  const key = unwrapKey(envelope, binding, keys)
  const rewrapped = { ...envelope, ...wrapKey(key, binding, keys.current, random) }
  key.fill(0)
  return rewrapped
}

function wrapKey(key: Uint8Array, binding: Binding, master: MasterKey, random: Random) {
  return { keyId: master.id, wrapped: encrypt(master.bytes, key, boundTo('key', binding), random) }
}

function unwrapKey({ keyId, wrapped }: Envelope, binding: Binding, keys: MasterKeys): Buffer {
  const master = keys.find(keyId)
  if (master === null)
    throw new EnvelopeError(
      'unknown-key',
      `it was sealed with the master key ${keyId}, which this node was not given`,
    )
  return decrypt(master.bytes, wrapped, boundTo('key', binding))
}

/** JSON keeps the parts apart, whatever they contain. */
function boundTo(part: 'key' | 'value', { tenant, name, version }: Binding): Buffer {
  return Buffer.from(JSON.stringify(['millrace', 1, part, tenant, name, version]), 'utf8')
}

function encrypt(key: Uint8Array, bytes: Uint8Array, bound: Buffer, random: Random): string {
  const nonce = random.bytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(bound)
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]).toString('base64')
}

function decrypt(key: Uint8Array, text: string, bound: Buffer): Buffer {
  const bytes = Buffer.from(text, 'base64')
  try {
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const proof = bytes.subarray(-PROOF_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: PROOF_BYTES })
    decipher.setAAD(bound).setAuthTag(proof)
    const open = decipher.update(bytes.subarray(NONCE_BYTES, -PROOF_BYTES))
    return Buffer.concat([open, decipher.final()])
  } catch {
    // The library's own message would only say that it failed.
    throw new EnvelopeError('altered', 'what is stored was altered, or belongs to another secret')
  }
}
