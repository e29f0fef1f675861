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
import { KeyFilter, type KeyFilterOptions } from './key-filter.ts'
import { KeyTable, readWords, type SortedKeys } from './key-table.ts'

export interface KeyIndex {
  /** The row that recorded the hash last. */
  find(hash: string): number | undefined
  note(hash: string, row: number): void
  /**
   * Its row is about to be removed. A hash still in memory stays, and moves with the others: one whose row is gone
   * counts as free.
   */
  forget(hash: string): void
  /** Before a transaction begins; it reads, and must not do so inside. */
  begin(): void
  /**
   * In a transaction that is about to be committed: records its keys under the group's number, and moves some older
   * ones. Returns whether there were keys, so that the log names the group and its instant.
   */
  finish(group: number, at: Instant): boolean
  /** After the transaction was rolled back. */
  revert(): void
  /** Between transactions, while nothing waits: prepares look-ups a little. Returns whether there is more to do. */
  prepareSome(): boolean
}

/**
 * The more keys move at once, the fewer pages of `known_key` each of them touches: with two million in it, 11 share a page, with a
 * third as many 4. Just below three quarters of 262,144 slots of 24 bytes: 12 MiB of memory for two generations, and a tenth of a
 * second to read on opening.
 */
export const FOLD_AT = 196_000

const HASH_BYTES = 16
const ROW_BYTES = 6
const KEY_BYTES = HASH_BYTES + ROW_BYTES
const MOVES_PER_NOTE = 2
const MOVES_MIN = 32
/** Keys that one statement moves. */
const MOVES_AT_ONCE = 16
/** Rows of the log that one transaction removes. */
const CUTS = 16

interface Generation {
  readonly rows: KeyTable
  /** The last group whose keys belong to it. */
  lastGroup: number
}

function makeGeneration(rows = new KeyTable()): Generation {
  return { rows, lastGroup: 0 }
}

/** One that takes no more keys. */
interface OlderGeneration extends Generation {
  readonly sorted: SortedKeys
}

/** How far the move of the older generation has come. */
interface Progress {
  readonly moved: number
  /** The log is truncated behind it. */
  readonly isCut: boolean
}

const NO_PROGRESS: Progress = { moved: 0, isCut: false }

export function makeKeyIndex(
  db: DatabaseSyncInstance,
  foldAt: number,
  filterOptions?: KeyFilterOptions,
): KeyIndex {
  const move = (count: number) =>
    db.prepare(
      `INSERT INTO known_key (hash, row) VALUES ${Array(count).fill('(?, ?)').join(', ')}` +
        ' ON CONFLICT (hash) DO UPDATE SET row = excluded.row',
    )
  const sql = {
    log: db.prepare('INSERT INTO key_log (number, at, keys) VALUES (?, ?, ?)'),
    all: db.prepare('SELECT number, keys FROM key_log ORDER BY number'),
    cut: db.prepare(
      'DELETE FROM key_log WHERE number IN (SELECT number FROM key_log WHERE number <= ? ORDER BY number LIMIT ?)',
    ),
    find: db.prepare('SELECT row FROM known_key WHERE hash = ?'),
    forget: db.prepare('DELETE FROM known_key WHERE hash = ?'),
    move: move(1),
    moveSome: move(MOVES_AT_ONCE),
  }
  sql.find.setReturnArrays(true)
  const scratch = Buffer.alloc(HASH_BYTES)
  const bytes = (hash: string): Buffer => {
    scratch.write(hash, 0, HASH_BYTES, 'latin1')
    return scratch
  }
  const words = new Uint32Array(4)
  const wordsOf = (hash: string) => {
    readWords(hash, words)
    return words
  }

  const filter = new KeyFilter(db, filterOptions)
  let recent = makeGeneration()
  let older: OlderGeneration | null = null
  let progress = NO_PROGRESS
  let before = progress
  let groupBefore = 0
  /** The keys recorded in this transaction, with the row that the hash had before. */
  const notes: { readonly hash: string; readonly row: number | undefined }[] = []
  /** The same keys as they are logged. */
  let pending = Buffer.allocUnsafe(256 * KEY_BYTES)

  const append = (hash: string, row: number) => {
    const at = notes.length * KEY_BYTES
    if (at === pending.length) pending = Buffer.concat([pending], 2 * at)
    pending.write(hash, at, HASH_BYTES, 'latin1')
    pending.writeUIntBE(row, at + HASH_BYTES, ROW_BYTES)
  }

  for (const row of sql.all.iterate()) {
    const { keys } = row as { readonly keys: Uint8Array }
    const view = new DataView(keys.buffer, keys.byteOffset, keys.byteLength)
    for (let at = 0; at < keys.byteLength; at += KEY_BYTES) {
      for (let word = 0; word < 4; word += 1) words[word] = view.getUint32(at + word * 4)
      const low = at + KEY_BYTES - 4
      recent.rows.set(words, view.getUint16(low - 2) * 2 ** 32 + view.getUint32(low))
    }
    recent.lastGroup = row.number
  }

  /** What is bound for the next statement: a hash and its row, and so on. */
  const moving: (Buffer | number)[] = []
  for (let one = 0; one < MOVES_AT_ONCE; one += 1) moving.push(Buffer.alloc(HASH_BYTES), 0)
  const moveSome = (sorted: SortedKeys, count: number) => {
    let { moved } = progress
    const end = Math.min(sorted.size, moved + count)
    let bound = 0
    for (; moved < end; moved += 1) {
      moving[bound + 1] = sorted.read(moved, words)
      const hash = moving[bound] as Buffer
      for (let word = 0; word < 4; word += 1) hash.writeUInt32BE(words[word] as number, word * 4)
      filter.add(words)
      bound += 2
      if (bound < moving.length) continue
      sql.moveSome.get(...moving)
      bound = 0
    }
    for (let at = 0; at < bound; at += 2) sql.move.get(moving[at], moving[at + 1])
    progress = { moved, isCut: false }
  }

  return {
    find(hash) {
      wordsOf(hash)
      const row = recent.rows.get(words) ?? older?.rows.get(words)
      if (row !== undefined) return row
      return filter.mayHave(words) ? sql.find.get(bytes(hash))?.[0] : undefined
    },
    note(hash, row) {
      append(hash, row)
      wordsOf(hash)
      notes.push({ hash, row: recent.rows.get(words) })
      recent.rows.set(words, row)
    },
    forget(hash) {
      wordsOf(hash)
      if (recent.rows.get(words) === undefined && older?.rows.get(words) === undefined) {
        sql.forget.run(bytes(hash))
      }
    },
    begin() {
      notes.length = 0
      if (progress.isCut) {
        older = null
        progress = NO_PROGRESS
      }
      if (older === null && recent.rows.size >= foldAt) {
        older = { ...recent, sorted: recent.rows.sorted() }
        recent = makeGeneration(recent.rows.another())
      }
      before = progress
      groupBefore = recent.lastGroup
      filter.readSome()
    },
    finish(group, at) {
      if (older !== null && progress.moved < older.sorted.size) {
        moveSome(older.sorted, Math.max(MOVES_MIN, notes.length * MOVES_PER_NOTE))
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
        wordsOf(hash)
        if (row === undefined) recent.rows.delete(words)
        else recent.rows.set(words, row)
      }
      notes.length = 0
      progress = before
      // The next transaction has the same number: its keys must not count as those of an older generation.
      recent.lastGroup = groupBefore
    },
    prepareSome: () => filter.readWhileIdle(),
  }
}
