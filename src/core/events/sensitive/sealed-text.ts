// core/events/sensitive/sealed-text.ts — how sealed text looks: `mrs1.<key id>.<paths>.<nonce, sealed bytes, proof>`, the last two
// in base64url. Sealing and opening are behind a port (src/ports/seal.ts); here is only what can be read without a key.
//
// No JSON text begins like this, so that a payload says by its first characters whether it is sealed.

import { JsonError, type JsonValue, parseJson } from '../../foundation/json/index.ts'

export const SEALED_MARK = 'mrs1.'

export interface SealedParts {
  readonly keyId: string
  /** Authenticated by whoever opens the rest, and not before. */
  readonly paths: string
  readonly sealed: string
}

export function isSealed(text: string): boolean {
  return text.startsWith(SEALED_MARK)
}

/** null: it is not whole. */
export function splitSealed(text: string): SealedParts | null {
  if (!isSealed(text)) return null
  const keyEnd = text.indexOf('.', SEALED_MARK.length)
  const pathsEnd = keyEnd === -1 ? -1 : text.indexOf('.', keyEnd + 1)
  if (pathsEnd === -1) return null
  return {
    keyId: text.slice(SEALED_MARK.length, keyEnd),
    paths: text.slice(keyEnd + 1, pathsEnd),
    sealed: text.slice(pathsEnd + 1),
  }
}

export function joinSealed({ keyId, paths, sealed }: SealedParts): string {
  return `${SEALED_MARK}${keyId}.${paths}.${sealed}`
}

/** The payload of an event that was kept. Throws JsonError, also where it is still sealed. */
export function parsePayload(text: string): JsonValue {
  if (isSealed(text)) throw new JsonError(sealedProblem(text), 0)
  return parseJson(text)
}

const KEY_ID = /^[0-9a-f]{1,64}$/

/** Why a payload that is still sealed cannot be read, for people. */
export function sealedProblem(text: string): string {
  const keyId = splitSealed(text)?.keyId ?? ''
  const key = KEY_ID.test(keyId) ? `the master key ${keyId}` : 'a master key'
  return `the payload is sealed and does not open: it needs ${key}, or was altered`
}
