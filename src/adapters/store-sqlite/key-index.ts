// Finds outside keys by their hash, without a random page per key and commit.
//
// Keys are random by nature. In one B-tree every key of a group dirties a page of its own, and each of these pages goes
// through the log whole: at a few thousand keys that is already half of all that is written. So the keys of a group are
// first appended to `key_log` as one row, and remembered here; once there are enough of them they move to `known_key`
// in the order of their hashes, a few with every group, many to a page.
//
// Invariants: a key's row is in memory, or in `known_key`, from the moment its group is committed; memory takes
// precedence. What is in memory is in `key_log`, so that reopening finds it. The log is truncated only behind keys that
// have moved, so moving them once more after a crash changes nothing.

import { Buffer } from 'node:buffer'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Instant } from '../../core/foundation/time/index.ts'

export interface KeyIndex {
  /** The row that recorded the hash last. */
  find(hash: string): number | undefined
  note(hash: string, row: number): void
  /**
   * Its row is about to be removed. A hash still in memory stays, and moves with the others: one whose row is gone
   * counts as free.
   */
  forget(hash: string): void
  /** Before the first `note` of a transaction. */
  begin(): void
  /**
   * In a transaction that is about to be committed: records its keys under the group's number, and moves some older
   * ones. Returns whether there were keys, so that the log names the group and its instant.
   */
  finish(group: number, at: Instant): boolean
  /** After the transaction was rolled back. */
  revert(): void
}

/** At 16 bytes each, about 5 MiB of memory, and a tenth of a second to read on opening. */
export const FOLD_AT = 65_536

const HASH_BYTES = 16
const ROW_BYTES = 6
const KEY_BYTES = HASH_BYTES + ROW_BYTES
const BUCKETS = 1_024
const MOVES_PER_NOTE = 2
const MOVES_MIN = 32
/** Rows of the log that one transaction removes. */
const CUTS = 16

interface Generation {
  readonly rows: Map<string, number>
  /** The hashes by their first ten bits: sorting 64 now and then instead of 65,536 at once. */
  readonly buckets: string[][]
  /** The last group whose keys belong to it. */
  lastGroup: number
}

function makeGeneration(): Generation {
  return { rows: new Map(), buckets: Array.from({ length: BUCKETS }, () => []), lastGroup: 0 }
}

function bucketOf(generation: Generation, hash: string): string[] {
  const index = (hash.charCodeAt(0) << 2) | (hash.charCodeAt(1) >> 6)
  return generation.buckets[index] as string[]
}

/** How far the move of the older generation has come. */
interface Progress {
  readonly bucket: number
  readonly place: number
  /** The log is truncated behind it. */
  readonly isCut: boolean
}

const NO_PROGRESS: Progress = { bucket: 0, place: 0, isCut: false }

export function makeKeyIndex(db: DatabaseSyncInstance, foldAt: number): KeyIndex {
  const sql = {
    log: db.prepare('INSERT INTO key_log (number, at, keys) VALUES (?, ?, ?)'),
    all: db.prepare('SELECT number, keys FROM key_log ORDER BY number'),
    cut: db.prepare(
      'DELETE FROM key_log WHERE number IN (SELECT number FROM key_log WHERE number <= ? ORDER BY number LIMIT ?)',
    ),
    find: db.prepare('SELECT row FROM known_key WHERE hash = ?'),
    forget: db.prepare('DELETE FROM known_key WHERE hash = ?'),
    move: db.prepare(
      'INSERT INTO known_key (hash, row) VALUES (?, ?) ON CONFLICT (hash) DO UPDATE SET row = excluded.row',
    ),
  }
  sql.find.setReturnArrays(true)
  const scratch = Buffer.alloc(HASH_BYTES)
  const bytes = (hash: string): Buffer => {
    scratch.write(hash, 0, HASH_BYTES, 'latin1')
    return scratch
  }

  let recent = makeGeneration()
  let older: Generation | null = null
  let progress = NO_PROGRESS
  let before = progress
  let groupBefore = 0
  /** The keys recorded in this transaction, with the row that the hash had before. */
  const notes: { readonly hash: string; readonly row: number | undefined }[] = []
  /** The same keys as they are logged. */
  let pending = Buffer.allocUnsafe(256 * KEY_BYTES)

  const remember = (hash: string, row: number) => {
    recent.rows.set(hash, row)
    bucketOf(recent, hash).push(hash)
  }
  const append = (hash: string, row: number) => {
    const at = notes.length * KEY_BYTES
    if (at === pending.length) pending = Buffer.concat([pending], 2 * at)
    pending.write(hash, at, HASH_BYTES, 'latin1')
    pending.writeUIntBE(row, at + HASH_BYTES, ROW_BYTES)
  }

  for (const row of sql.all.iterate()) {
    const keys = Buffer.from(row.keys)
    for (let at = 0; at < keys.length; at += KEY_BYTES) {
      const end = at + HASH_BYTES
      remember(keys.toString('latin1', at, end), keys.readUIntBE(end, ROW_BYTES))
    }
    recent.lastGroup = row.number
  }

  const moveSome = (generation: Generation, count: number) => {
    let { bucket, place } = progress
    for (let left = count; left > 0 && bucket < BUCKETS; ) {
      const hashes = generation.buckets[bucket] as string[]
      if (place === 0) hashes.sort()
      if (place === hashes.length) {
        bucket += 1
        place = 0
        continue
      }
      const hash = hashes[place] as string
      sql.move.get(bytes(hash), generation.rows.get(hash) as number)
      place += 1
      left -= 1
    }
    progress = { bucket, place, isCut: false }
  }

  return {
    find(hash) {
      const row = recent.rows.get(hash) ?? older?.rows.get(hash)
      if (row !== undefined) return row
      return sql.find.get(bytes(hash))?.[0]
    },
    note(hash, row) {
      append(hash, row)
      notes.push({ hash, row: recent.rows.get(hash) })
      remember(hash, row)
    },
    forget(hash) {
      if (!recent.rows.has(hash) && older?.rows.has(hash) !== true) sql.forget.run(bytes(hash))
    },
    begin() {
      notes.length = 0
      if (progress.isCut) {
        older = null
        progress = NO_PROGRESS
      }
      if (older === null && recent.rows.size >= foldAt) {
        older = recent
        recent = makeGeneration()
      }
      before = progress
      groupBefore = recent.lastGroup
    },
    finish(group, at) {
      if (older !== null && progress.bucket < BUCKETS) {
        moveSome(older, Math.max(MOVES_MIN, notes.length * MOVES_PER_NOTE))
      } else if (older !== null) {
        const isCut = sql.cut.run(older.lastGroup, CUTS).changes < CUTS
        progress = { ...progress, isCut }
      }
      if (notes.length === 0) return false
      sql.log.get(group, at, pending.subarray(0, notes.length * KEY_BYTES))
      recent.lastGroup = group
      return true
    },
    revert() {
      for (const { hash, row } of notes.reverse()) {
        bucketOf(recent, hash).pop()
        if (row === undefined) recent.rows.delete(hash)
        else recent.rows.set(hash, row)
      }
      notes.length = 0
      progress = before
      // The next transaction has the same number: its keys must not count as those of an older generation.
      recent.lastGroup = groupBefore
    },
  }
}
