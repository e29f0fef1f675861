// Chance that is the same in every run: xoshiro128** in integers alone, so that every machine draws the same numbers. For tests and
// simulations; its bytes can be predicted, so they protect nothing.

import type { Random } from '../../ports/random.ts'

const WORDS = 0x1_0000_0000

export function makeSeededRandom(seed: number): Random {
  // The state must not be all zero.
  let [a, b, c, d] = [spread(seed), spread(seed + 0x9e3779b9), spread(seed ^ 0x6a09e667), spread(seed) | 1]

  const next = (): number => {
    const drawn = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = rotate(d, 11)
    return drawn
  }

  return {
    bytes: (length) => Uint8Array.from({ length }, () => next() >>> 24),
    unit: () => next() / WORDS,
  }
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by))
}

/** The finaliser of MurmurHash3. */
function spread(word: number): number {
  let mixed = word | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}
