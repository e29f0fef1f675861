// The format of encrypted text: `mrs1.<key id>.<paths>.<nonce, ciphertext, tag>`, the last two in base64url. Encryption and
// decryption are behind a port (src/ports/encryption.ts); this file reads only what needs no key.
//
// No JSON text begins like this, so the first characters of a payload tell whether it is encrypted.

import { JsonError, type JsonValue, parseJson } from '../../foundation/json/index.ts'

export const ENCRYPTED_MARK = 'mrs1.'

export interface EncryptedParts {
  readonly keyId: string
  /** Authenticated only when the rest is decrypted. */
  readonly paths: string
  readonly sealed: string
}

export function isEncrypted(text: string): boolean {
  return text.startsWith(ENCRYPTED_MARK)
}

/** null: it is incomplete. */
export function splitEncrypted(text: string): EncryptedParts | null {
  if (!isEncrypted(text)) return null
  const keyEnd = text.indexOf('.', ENCRYPTED_MARK.length)
  const pathsEnd = keyEnd === -1 ? -1 : text.indexOf('.', keyEnd + 1)
  if (pathsEnd === -1) return null
  return {
    keyId: text.slice(ENCRYPTED_MARK.length, keyEnd),
    paths: text.slice(keyEnd + 1, pathsEnd),
    sealed: text.slice(pathsEnd + 1),
  }
}

export function joinEncrypted({ keyId, paths, sealed: encrypted }: EncryptedParts): string {
  return `${ENCRYPTED_MARK}${keyId}.${paths}.${encrypted}`
}

/** The payload of a stored event. Throws JsonError, also if it is still encrypted. */
export function parsePayload(text: string): JsonValue {
  if (isEncrypted(text)) throw new JsonError(encryptedProblem(text), 0)
  return parseJson(text)
}

const KEY_ID = /^[0-9a-f]{1,64}$/

/** Why a payload that is still encrypted cannot be read, for users. */
export function encryptedProblem(text: string): string {
  const keyId = splitEncrypted(text)?.keyId ?? ''
  const key = KEY_ID.test(keyId) ? `the master key ${keyId}` : 'a master key'
  return `the payload is sealed and does not open: it needs ${key}, or was altered`
}
