// Signatures of stored bundles: HMAC-SHA-256 under a key that HKDF derives from the master key. Code runs with all
// rights of the process, and the database says which code that is: without the master key no one can add to it.
//
// A signature covers a tenant and the SHA-256 of the bundle's text, which is compared with the text whenever it is
// loaded. The source map is not covered: it names lines in errors, and is never run.

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { MasterKey, MasterKeys } from '../../core/secrets/index.ts'

export interface BundleSignatures {
  sign(tenant: TenantId, hash: string): string
  /** `old`: valid, by a former master key. `unknown`: by a master key that this node does not have. */
  verify(tenant: TenantId, hash: string, signature: string): 'good' | 'old' | 'unknown' | 'wrong'
}

const FORM = 'mrc1'
const KEY_BYTES = 32
const SALT = Buffer.from('millrace signed code 1')

export function makeBundleSignatures(keys: MasterKeys): BundleSignatures {
  const derived = new Map<string, Uint8Array>()
  const keyOf = ({ id, bytes }: MasterKey): Uint8Array => {
    const known = derived.get(id) ?? new Uint8Array(hkdfSync('sha256', bytes, SALT, 'bundles', KEY_BYTES))
    derived.set(id, known)
    return known
  }
  const digest = (master: MasterKey, tenant: TenantId, hash: string): Buffer =>
    createHmac('sha256', keyOf(master))
      .update(JSON.stringify([FORM, tenant, hash]))
      .digest()

  return {
    sign(tenant, hash) {
      const { current } = keys
      return `${FORM}.${current.id}.${digest(current, tenant, hash).toString('base64url')}`
    },
    verify(tenant, hash, signature) {
      const [form, keyId = '', proof = ''] = signature.split('.')
      if (form !== FORM) return 'wrong'
      const master = keys.find(keyId)
      if (master === null) return 'unknown'
      const [given, due] = [Buffer.from(proof, 'base64url'), digest(master, tenant, hash)]
      if (given.length !== due.length || !timingSafeEqual(given, due)) return 'wrong'
      return keyId === keys.current.id ? 'good' : 'old'
    },
  }
}
