import { expect, test } from 'vitest'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { makeMasterKeys } from '../../core/secrets/index.ts'
import { encryptionConformance } from '../../ports/encryption.conformance.ts'
import { makeSystemRandom } from '../random-system/index.ts'
import { makeLocalEncryption } from './index.ts'

const random = makeSystemRandom()
const key = (fill: number) => new Uint8Array(32).fill(fill)

encryptionConformance('local', () => ({
  encryption: makeLocalEncryption({ keys: makeMasterKeys(key(1)), random }),
  rotated: () => makeLocalEncryption({ keys: makeMasterKeys(key(2), [key(1)]), random }),
  stranger: () => makeLocalEncryption({ keys: makeMasterKeys(key(3)), random }),
}))

test('[SE6] stored data decrypts with the master key alone, in another process too', () => {
  // Encrypted by an earlier build: the format and the key derivation must not change for stored data.
  const encrypted =
    'mrs1.d9f1744d33f79138.WyJwYXlsb2FkLmVtYWlsIl0.mSkXtWnGE0AJNpFDwjG4xf4WKky1sRoITszaMqunoRD1Uwxi4-xtM8xtwKXV50Xo-2lgaFIBSw'
  const encryption = makeLocalEncryption({ keys: makeMasterKeys(key(7)), random })
  const place = {
    tenant: 'acme' as TenantId,
    row: 'evt_00000000-0000-7000-8000-000000000001',
    part: 'data',
  } as const
  expect(encryption.open(place, encrypted)).toEqual({
    text: '{"email":"ada@example.com"}',
    paths: ['payload.email'],
  })
})
