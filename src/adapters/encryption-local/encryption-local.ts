// Encrypts with keys derived from the master key: AES-256-GCM under a key per tenant, by HKDF. The vault uses the
// master key itself, and only to wrap other keys; the keys of one reveal nothing of the other's.
//
// Invariants: every text has a random nonce. Its 96 bits suffice for four thousand million texts of one tenant under
// one master key; a new master key starts over.

import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import { joinEncrypted, splitEncrypted } from '../../core/events/sensitive/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { MasterKey, MasterKeys } from '../../core/secrets/index.ts'
import { type Encryption, type EncryptionContext, EncryptionError } from '../../ports/encryption.ts'
import type { Random } from '../../ports/random.ts'

const NONCE_BYTES = 12
const PROOF_BYTES = 16
const KEY_BYTES = 32
const SALT = Buffer.from('millrace sealed events 1')
/** Deriving a key takes longer than encrypting with it; tenants beyond this number derive theirs again. */
const KEYS_MAX = 10_000

export function makeLocalEncryption(deps: {
  readonly keys: MasterKeys
  readonly random: Random
}): Encryption {
  const { keys, random } = deps
  const derived = new Map<string, Uint8Array>()

  const keyOf = (master: MasterKey, tenant: TenantId): Uint8Array => {
    const name = `${master.id} ${tenant}`
    const known = derived.get(name)
    if (known !== undefined) return known
    const info = Buffer.from(JSON.stringify(['tenant', tenant]), 'utf8')
    const key = new Uint8Array(hkdfSync('sha256', master.bytes, SALT, info, KEY_BYTES))
    if (derived.size >= KEYS_MAX) derived.clear()
    derived.set(name, key)
    return key
  }

  return {
    encrypt(place, text, paths) {
      const master = keys.current
      const shown = Buffer.from(JSON.stringify(paths), 'utf8').toString('base64url')
      const nonce = random.bytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', keyOf(master, place.tenant), nonce)
      cipher.setAAD(boundTo(place, shown))
      const bytes = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return joinEncrypted({ keyId: master.id, paths: shown, sealed: bytes.toString('base64url') })
    },

    open(place, encrypted) {
      const parts = splitEncrypted(encrypted)
      if (parts === null) throw altered()
      const master = keys.find(parts.keyId)
      if (master === null) {
        throw new EncryptionError(
          'unknown-key',
          `it was sealed with the master key ${parts.keyId.slice(0, 64)}, which this node was not given`,
        )
      }
      const bytes = Buffer.from(parts.sealed, 'base64url')
      try {
        const nonce = bytes.subarray(0, NONCE_BYTES)
        const decipher = createDecipheriv('aes-256-gcm', keyOf(master, place.tenant), nonce, {
          authTagLength: PROOF_BYTES,
        })
        decipher.setAAD(boundTo(place, parts.paths)).setAuthTag(bytes.subarray(-PROOF_BYTES))
        const open = decipher.update(bytes.subarray(NONCE_BYTES, -PROOF_BYTES))
        const text = Buffer.concat([open, decipher.final()]).toString('utf8')
        // Authenticated by now: only the seal can have written them.
        return { text, paths: JSON.parse(Buffer.from(parts.paths, 'base64url').toString('utf8')) as string[] }
      } catch {
        // The library's own message would only say that it failed.
        throw altered()
      }
    },
  }
}

function altered(): EncryptionError {
  return new EncryptionError('altered', 'what is stored was altered, or belongs to another place')
}

/** JSON keeps the parts apart, whatever they contain. */
function boundTo({ tenant, row, part }: EncryptionContext, paths: string): Buffer {
  return Buffer.from(JSON.stringify(['millrace', 'mrs1', tenant, row, part, paths]), 'utf8')
}
