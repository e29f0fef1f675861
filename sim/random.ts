// Chance that a seed repeats: xoshiro128** (128 bits of state), in integers alone, so that every Node and every machine
// draws the same numbers.
//
// A stream is named by its path from the seed, not by what was drawn before: a new concern that draws from its own
// stream changes no other stream.

import type { Random } from '../src/ports/random.ts'

export interface Rng extends Random {
  /** 0 … 2^32 − 1. */
  next(): number
  /** 0 … below − 1. */
  int(below: number): number
  /** Both ends included. */
  between(from: number, to: number): number
  /** True this many times in a thousand. */
  chance(perMille: number): boolean
  pick<T>(list: readonly T[]): T
  /** By weight; weights are whole numbers, not all zero. */
  weighted<T extends string>(weights: Readonly<Partial<Record<T, number>>>): T
  /** An independent stream. */
  fork(name: string): Rng
}

export function makeRng(seed: number | string): Rng {
  return fromPath(String(seed))
}

function fromPath(path: string): Rng {
  let [a, b, c, d] = seedWords(path)

  const next = (): number => {
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = rotate(d, 11)
    return result
  }

  const int = (below: number): number => {
    // Draws from the uneven end are thrown away, so that every answer is equally likely.
    const limit = 0x1_0000_0000 - (0x1_0000_0000 % below)
    for (;;) {
      const drawn = next()
      if (drawn < limit) return drawn % below
    }
  }

  return {
    next,
    int,
    between: (from, to) => from + int(to - from + 1),
    chance: (perMille) => int(1_000) < perMille,
    pick: (list) => list[int(list.length)] as (typeof list)[number],
    weighted<T extends string>(weights: Readonly<Partial<Record<T, number>>>): T {
      const entries = Object.entries(weights) as [T, number][]
      let left = int(entries.reduce((sum, [, weight]) => sum + weight, 0))
      for (const [name, weight] of entries) {
        left -= weight
        if (left < 0) return name
      }
      throw new Error('assertion failed: weights are not all zero')
    },
    fork: (name) => fromPath(`${path}/${name}`),
    bytes(length) {
      const bytes = new Uint8Array(length)
      for (let index = 0; index < length; index += 1) bytes[index] = next() >>> 24
      return bytes
    },
    unit: () => next() / 0x1_0000_0000,
  }
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by))
}

/** Four words from a text: FNV-1a, spread by the finaliser of MurmurHash3. */
function seedWords(path: string): [number, number, number, number] {
  let hash = 0x811c9dc5
  for (let index = 0; index < path.length; index += 1) {
    hash = Math.imul(hash ^ path.charCodeAt(index), 0x01000193)
  }
  let second = 0x9747b28c
  for (let index = path.length - 1; index >= 0; index -= 1) {
    second = Math.imul(second ^ path.charCodeAt(index), 0x85ebca6b)
    second ^= second >>> 15
  }
  const word = (salt: number) => spread((hash + Math.imul(second ^ salt, 0x9e3779b1)) | 0)
  // The state must not be all zero.
  return [word(1), word(2), word(3), word(4) | 1]
}

function spread(word: number): number {
  let mixed = word
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}
