// Unpredictable bytes from the operating system, drawn in blocks because one call per number is slow.

import { randomFillSync } from 'node:crypto'
import type { Random } from '../../ports/random.ts'

const POOL_BYTES = 8_192

export function makeSystemRandom(): Random {
  const pool = new Uint8Array(POOL_BYTES)
  const view = new DataView(pool.buffer)
  let used = POOL_BYTES

  /** Offset of `length` bytes of the pool that were never handed out. */
  const take = (length: number): number => {
    if (used + length > POOL_BYTES) {
      randomFillSync(pool)
      used = 0
    }
    used += length
    return used - length
  }

  return {
    bytes: (length) => {
      if (length > POOL_BYTES / 2) return randomFillSync(new Uint8Array(length))
      const offset = take(length)
      const bytes = pool.slice(offset, offset + length)
      // Handed out: nothing else in the process may find them here.
      pool.fill(0, offset, offset + length)
      return bytes
    },
    unit: () => {
      const offset = take(8)
      const high = view.getUint32(offset) >>> 5
      const low = view.getUint32(offset + 4) >>> 6
      return (high * 0x400_0000 + low) / 0x20_0000_0000_0000
    },
  }
}
