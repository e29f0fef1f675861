// Says of most keys that `known_key` does not have them, without a look-up.
//
// Nearly every key is new, and its look-up walks a tree of pages for nothing: 2 µs each, twice per event (2026-11-18). The filter
// is never wrong about "not there": it is read from the table in the order of hashes, a few with every transaction and more
// while the thread has nothing else to do, so that opening costs nothing; up to where it has been read, each hash that the table
// has is in it. A hash that is added goes into it at once. One that is removed, or rolled back, stays, and costs a look-up.
//
// A filter that has become too small answers until a larger one has been read.
//
// Its memory is bounded: 1 MiB for the first two million keys, 16 MiB at most. Beyond 16 million keys there is no filter.

import { Buffer } from 'node:buffer'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Words } from './key-table.ts'

const BITS_MIN = 2 ** 23
const BITS_MAX = 2 ** 27
/** At this point one look-up of seven is for nothing, at half as many keys one of thirty. */
const BITS_PER_KEY = 4
const BITS_SET = 3
/** Hashes that one transaction reads: 30 µs. */
const READS = 256
/** Hashes that are read at once while nothing waits: a tenth of a millisecond. */
const IDLE_READS = 1_024
const HASH_BYTES = 16

export interface KeyFilterOptions {
  readonly bitsMin?: number
  readonly bitsMax?: number
  readonly reads?: number
}

export class KeyFilter {
  readonly #bitsMax: number
  readonly #reads: number
  readonly #page
  readonly #scratch = Buffer.alloc(HASH_BYTES)
  #bits: Uint32Array
  /** The filter before this one, which has all hashes: it answers for those that this one has not read yet. */
  #before: Uint32Array | null = null
  /** Hashes below this one are in the filter; null: all are. */
  #readTo: Words | null = new Uint32Array(4)
  #added = 0
  #found = 0
  /** There are more keys than it could tell apart, or they cannot be read. */
  #isOff = false

  constructor(db: DatabaseSyncInstance, { bitsMin, bitsMax, reads }: KeyFilterOptions = {}) {
    this.#bits = new Uint32Array((bitsMin ?? BITS_MIN) / 32)
    this.#bitsMax = bitsMax ?? BITS_MAX
    this.#reads = reads ?? READS
    // One buffer instead of one per row: as a text and back, the bytes stay as they are.
    this.#page = db.prepare(
      "SELECT CAST(group_concat(hash, '') AS BLOB) AS hashes FROM (SELECT hash FROM known_key WHERE hash >= ? ORDER BY hash LIMIT ?)",
    )
  }

  /** False: the table does not have it. */
  mayHave(words: Words): boolean {
    if (this.#isOff) return true
    if (this.#readTo === null || compare(words, this.#readTo) < 0) return has(this.#bits, words)
    return this.#before === null || has(this.#before, words)
  }

  add(words: Words): void {
    if (this.#isOff) return
    put(this.#bits, words)
    if (this.#before !== null) put(this.#before, words)
    this.#added += 1
  }

  /** Before a transaction begins: reads some more of what is committed. */
  readSome(): void {
    this.#read(this.#reads)
  }

  /** Between transactions, while nothing waits. Returns whether there is more to read. */
  readWhileIdle(): boolean {
    this.#read(IDLE_READS)
    return this.#readTo !== null && !this.#isOff
  }

  #read(count: number): void {
    if (this.#isOff) return
    try {
      if (this.#readTo !== null) this.#readTo = this.#readFrom(this.#readTo, count)
    } catch {
      // Every look-up goes to the table from now on; one that meets the error reports it.
      this.#turnOff()
    }
    if (this.#readTo === null) this.#before = null
    if (this.#added * BITS_PER_KEY > this.#bits.length * 32) this.#startAgain()
  }

  /** Returns from where on it is not read yet. */
  #readFrom(from: Words, count: number): Words | null {
    for (let word = 0; word < 4; word += 1) this.#scratch.writeUInt32BE(from[word] as number, word * 4)
    const hashes: Uint8Array | null = this.#page.get(this.#scratch, count).hashes
    if (hashes === null) return null
    const view = new DataView(hashes.buffer, hashes.byteOffset, hashes.byteLength)
    const words = new Uint32Array(4)
    for (let at = 0; at < hashes.byteLength; at += HASH_BYTES) {
      for (let word = 0; word < 4; word += 1) words[word] = view.getUint32(at + word * 4)
      put(this.#bits, words)
      this.#added += 1
      this.#found += 1
    }
    return hashes.byteLength < count * HASH_BYTES ? null : next(words)
  }

  /** The table has grown, or many of the keys that the filter has were removed since. */
  #startAgain(): void {
    const bits = this.#bits.length * 32
    const isTooSmall = this.#readTo !== null || this.#found * BITS_PER_KEY * 2 > bits
    if (isTooSmall && bits >= this.#bitsMax) {
      this.#turnOff()
      return
    }
    if (this.#readTo === null) this.#before = this.#bits
    this.#bits = new Uint32Array(this.#bits.length * (isTooSmall ? 2 : 1))
    this.#readTo = new Uint32Array(4)
    this.#added = 0
    this.#found = 0
  }

  #turnOff(): void {
    this.#isOff = true
    this.#bits = new Uint32Array(1)
    this.#before = null
    this.#added = 0
  }
}

function has(bits: Uint32Array, words: Words): boolean {
  const mask = bits.length * 32 - 1
  // Of a hash: each word is as random as the others.
  let at = words[2] as number
  const step = (words[3] as number) | 1
  for (let left = BITS_SET; left > 0; left -= 1) {
    const bit = at & mask
    if (((bits[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return false
    at = (at + step) >>> 0
  }
  return true
}

function put(bits: Uint32Array, words: Words): void {
  const mask = bits.length * 32 - 1
  let at = words[2] as number
  const step = (words[3] as number) | 1
  for (let left = BITS_SET; left > 0; left -= 1) {
    const bit = at & mask
    bits[bit >>> 5] = (bits[bit >>> 5] as number) | (1 << (bit & 31))
    at = (at + step) >>> 0
  }
}

function compare(a: Words, b: Words): number {
  for (let word = 0; word < 4; word += 1) {
    const difference = (a[word] as number) - (b[word] as number)
    if (difference !== 0) return difference
  }
  return 0
}

/** The hash after this one; null: there is none. */
function next(words: Words): Words | null {
  const after = Uint32Array.from(words)
  for (let word = 3; word >= 0; word -= 1) {
    after[word] = (after[word] as number) + 1
    if (after[word] !== 0) return after
  }
  return null
}
