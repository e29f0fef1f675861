// Numbered markings: each once, one byte per place, found by a hash table with open addressing. Nothing is allocated per
// marking, because a net may have hundreds of thousands.

/** The most tokens that a place can have here. */
export const TOKENS_MAX = 254

export interface Markings {
  /** How many there are. */
  count(): number
  /** All of them, `stride` bytes each. A new buffer after every growth. */
  bytes(): Uint8Array
  readonly stride: number
  /** Whether a place of this one has more than one token. */
  hasTwo(number: number): boolean
  /** Filled by the caller, then looked up. */
  readonly next: Uint8Array
  /** The number of the marking in `next`; equal to the former `count` if it is new. */
  intern(): number
}

export function makeMarkings(places: number): Markings {
  const width = Math.max(1, Math.ceil(places / 4))
  const stride = width * 4
  const nextBuffer = new ArrayBuffer(stride)
  const next = new Uint8Array(nextBuffer)
  const nextWords = new Int32Array(nextBuffer)
  let capacity = 1_024
  let words = new Int32Array(capacity * width)
  let bytes = new Uint8Array(words.buffer)
  /** Number + 1; 0 is free. Never more than half full. */
  let table = new Int32Array(capacity * 2)
  let count = 0

  const hash = (from: Int32Array, base: number): number => {
    let value = 0x9e3779b9 | 0
    for (let at = 0; at < width; at += 1) {
      value = Math.imul(value ^ (from[base + at] as number), 0x85ebca6b)
      value ^= value >>> 15
      value = Math.imul(value, 0xc2b2ae35)
      value ^= value >>> 13
    }
    return value >>> 0
  }

  const isNext = (base: number): boolean => {
    for (let at = 0; at < width; at += 1) if (words[base + at] !== nextWords[at]) return false
    return true
  }

  const grow = (): void => {
    capacity *= 2
    const wider = new Int32Array(capacity * width)
    wider.set(words)
    words = wider
    bytes = new Uint8Array(words.buffer)
    table = new Int32Array(capacity * 2)
    const mask = table.length - 1
    for (let number = 0; number < count; number += 1) {
      let slot = hash(words, number * width) & mask
      while (table[slot] !== 0) slot = (slot + 1) & mask
      table[slot] = number + 1
    }
  }

  return {
    stride,
    next,
    count: () => count,
    bytes: () => bytes,
    hasTwo(number) {
      for (let at = number * width; at < (number + 1) * width; at += 1) {
        // Any bit of a byte but its lowest.
        if (((words[at] as number) & 0xfefefefe) !== 0) return true
      }
      return false
    },
    intern() {
      const mask = table.length - 1
      let slot = hash(nextWords, 0) & mask
      for (let found = table[slot] as number; found !== 0; found = table[slot] as number) {
        if (isNext((found - 1) * width)) return found - 1
        slot = (slot + 1) & mask
      }
      if (count === capacity) {
        grow()
        return this.intern()
      }
      words.set(nextWords, count * width)
      table[slot] = count + 1
      count += 1
      return count - 1
    },
  }
}

/** A growing list of numbers, without boxing each. */
export interface Numbers {
  push(value: number): void
  length(): number
  /** At its current length. */
  all(): Int32Array
}

export function makeNumbers(): Numbers {
  let items = new Int32Array(1_024)
  let length = 0
  return {
    push(value) {
      if (length === items.length) {
        const wider = new Int32Array(length * 2)
        wider.set(items)
        items = wider
      }
      items[length] = value
      length += 1
    },
    length: () => length,
    all: () => items.subarray(0, length),
  }
}
