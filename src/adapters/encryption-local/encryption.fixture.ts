// A seal for tests and the simulator: a well-known key, and counted nonces, so that equal runs are equal.

import { makeMasterKeys } from '../../core/secrets/index.ts'
import type { Encryption } from '../../ports/encryption.ts'
import { makeLocalEncryption } from './index.ts'

const KEY_BYTES = 32

/** `key` and `old` stand for whole master keys. */
export function makeCountingEncryption(key = 1, ...old: readonly number[]): Encryption {
  const keyOf = (fill: number) => new Uint8Array(KEY_BYTES).fill(fill)
  let count = 0
  const random = {
    unit: () => 0,
    bytes(length: number) {
      const bytes = new Uint8Array(length)
      count += 1
      new DataView(bytes.buffer).setUint32(0, count)
      return bytes
    },
  }
  return makeLocalEncryption({ keys: makeMasterKeys(keyOf(key), old.map(keyOf)), random })
}
