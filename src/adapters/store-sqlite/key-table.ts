// Hashes with their row numbers in flat memory: nothing for the garbage collector to visit, and no object per key.
//
// Open addressing with linear probing. Where a hash lies depends on a random number of this process: keys come from outside, and
// a sender could otherwise choose many that lie at one place. What the table answers depends on the hashes alone.

import { randomBytes } from 'node:crypto'

/** The four words of a hash of 16 bytes. */
export type Words = Uint32Array

/** Of a hash with one character per byte. */
export function readWords(hash: string, into: Words): void {
  for (let word = 0; word < 4; word += 1) {
    const at = word * 4
    into[word] =
      (hash.charCodeAt(at) << 24) |
      (hash.charCodeAt(at + 1) << 16) |
      (hash.charCodeAt(at + 2) << 8) |
      hash.charCodeAt(at + 3)
  }
}

const SLOTS_MIN = 1_024
const SEEDS = new Uint32Array(new Uint8Array(randomBytes(8)).buffer)
const SEED = SEEDS[0] as number
const OTHER_SEED = SEEDS[1] as number

export class KeyTable {
  size = 0
  #mask: number
  #words: Uint32Array
  /** One more than the row; 0: the slot is free. */
  #rows: Float64Array

  constructor(slots = SLOTS_MIN) {
    this.#mask = slots - 1
    this.#words = new Uint32Array(slots * 4)
    this.#rows = new Float64Array(slots)
  }

  /** An empty one that takes as many without growing. */
  another(): KeyTable {
    return new KeyTable(this.#mask + 1)
  }

  get(words: Words): number | undefined {
    const row = this.#rows[this.#find(words)] as number
    return row === 0 ? undefined : row - 1
  }

  set(words: Words, row: number): void {
    let slot = this.#find(words)
    if (this.#rows[slot] === 0) {
      // At most three quarters full: a miss then looks at eight neighbours, and at two of a table half full.
      if (this.size * 4 > this.#mask * 3) {
        this.#grow()
        slot = this.#find(words)
      }
      this.#words.set(words, slot * 4)
      this.size += 1
    }
    this.#rows[slot] = row + 1
  }

  delete(words: Words): void {
    let free = this.#find(words)
    if (this.#rows[free] === 0) return
    this.size -= 1
    // Later ones that would no longer be found behind the free slot move into it.
    for (let slot = (free + 1) & this.#mask; this.#rows[slot] !== 0; slot = (slot + 1) & this.#mask) {
      const home = this.#home(this.#words[slot * 4] as number, this.#words[slot * 4 + 1] as number)
      if (((slot - home) & this.#mask) < ((slot - free) & this.#mask)) continue
      this.#words.copyWithin(free * 4, slot * 4, slot * 4 + 4)
      this.#rows[free] = this.#rows[slot] as number
      free = slot
    }
    this.#rows[free] = 0
  }

  /** All of them in the order of their hashes, up to the first twelve bits or more. */
  sorted(): SortedKeys {
    return new SortedKeys(this.size, this.#words, this.#rows)
  }

  #home(first: number, second: number): number {
    let mixed = Math.imul(first ^ SEED, 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 15) ^ second ^ OTHER_SEED, 0xc2b2ae35)
    return (mixed ^ (mixed >>> 16)) & this.#mask
  }

  /** Its slot, or the free one where it would lie. */
  #find(words: Words): number {
    const all = this.#words
    const first = words[0] as number
    const second = words[1] as number
    let slot = this.#home(first, second)
    while (this.#rows[slot] !== 0) {
      const at = slot * 4
      if (
        all[at] === first &&
        all[at + 1] === second &&
        all[at + 2] === words[2] &&
        all[at + 3] === words[3]
      ) {
        break
      }
      slot = (slot + 1) & this.#mask
    }
    return slot
  }

  #grow(): void {
    const words = this.#words
    const rows = this.#rows
    this.#mask = this.#mask * 2 + 1
    this.#words = new Uint32Array((this.#mask + 1) * 4)
    this.#rows = new Float64Array(this.#mask + 1)
    for (let from = 0; from < rows.length; from += 1) {
      if (rows[from] === 0) continue
      const one = words.subarray(from * 4, from * 4 + 4)
      const slot = this.#find(one)
      this.#words.set(one, slot * 4)
      this.#rows[slot] = rows[from] as number
    }
  }
}

const BUCKETS = 4_096
const BUCKET_SHIFT = 20

/** A table that no longer changes, in order: sorting 50 keys now and then instead of all at once. */
export class SortedKeys {
  readonly size: number
  readonly #words: Uint32Array
  readonly #rows: Float64Array
  /** The slots, bucket by bucket. */
  readonly #order: Uint32Array
  /** Where each bucket begins. */
  readonly #starts = new Uint32Array(BUCKETS + 1)
  /** Up to where the buckets are sorted. */
  #sortedTo = 0
  #bucket = 0

  constructor(size: number, words: Uint32Array, rows: Float64Array) {
    this.size = size
    this.#words = words
    this.#rows = rows
    this.#order = new Uint32Array(size)
    const next = new Uint32Array(BUCKETS + 1)
    for (let slot = 0; slot < rows.length; slot += 1) {
      if (rows[slot] !== 0) next[this.#bucketOf(slot) + 1] = (next[this.#bucketOf(slot) + 1] as number) + 1
    }
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      next[bucket + 1] = (next[bucket + 1] as number) + (next[bucket] as number)
    }
    this.#starts.set(next)
    for (let slot = 0; slot < rows.length; slot += 1) {
      if (rows[slot] === 0) continue
      const bucket = this.#bucketOf(slot)
      const at = next[bucket] as number
      this.#order[at] = slot
      next[bucket] = at + 1
    }
  }

  /** Writes the hash at the position into `words` and returns its row. */
  read(position: number, words: Words): number {
    while (position >= this.#sortedTo) this.#sortNext()
    const slot = this.#order[position] as number
    for (let word = 0; word < 4; word += 1) words[word] = this.#words[slot * 4 + word] as number
    return (this.#rows[slot] as number) - 1
  }

  #sortNext(): void {
    this.#bucket += 1
    const end = this.#starts[this.#bucket] as number
    const words = this.#words
    this.#order
      .subarray(this.#sortedTo, end)
      .sort((a, b) => (words[a * 4] as number) - (words[b * 4] as number))
    this.#sortedTo = end
  }

  #bucketOf(slot: number): number {
    return (this.#words[slot * 4] as number) >>> BUCKET_SHIFT
  }
}
