// Reads SQLite's write-ahead log before SQLite does, and finds damage that SQLite silently ignores.
//
// SQLite recovers frames up to the first one that does not verify, and forgets what follows. After a crash that is
// right only for the last transaction: its frames may be torn, because its flush had not finished. Every earlier
// transaction was flushed before the next one began. So a frame that verifies right after a commit frame proves that
// the commit was flushed; if both come after the first bad frame, the bad one is damage, not a torn tail.
//
// A frame's checksum continues from the one stored in the frame before it. So a frame verifies even if the page before
// it is damaged. Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log

import { closeSync, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { endianness } from 'node:os'

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const MAGIC = 0x377f0682
const PAGE_BYTES_DEFAULT = 4_096
const FRAMES_PER_READ = 256

export interface WalReport {
  /** The header and the frames up to the last commit that verifies: what SQLite will recover. */
  readonly validBytes: number
  /** The pages that SQLite will recover. */
  readonly pages: ReadonlySet<number>
  /** Where the log is damaged, for the operator; null: it is intact, or only its last transaction is torn. */
  readonly damage: string | null
}

interface Sums {
  readonly one: number
  readonly two: number
}

interface Header {
  readonly isValid: boolean
  readonly pageBytes: number
  /** null: the header does not say. */
  readonly salts: Sums | null
  readonly sums: Sums
  readonly isSwapped: boolean
}

/** null: there is no log, or nothing was written to it. */
export function readWal(path: string): WalReport | null {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size < HEADER_BYTES + FRAME_HEADER_BYTES) return null
  const fd = openSync(path, 'r')
  try {
    return readFrames(fd, size)
  } finally {
    closeSync(fd)
  }
}

function readFrames(fd: number, size: number): WalReport {
  const header = readHeader(fd)
  const frameBytes = FRAME_HEADER_BYTES + header.pageBytes
  const count = Math.floor((size - HEADER_BYTES) / frameBytes)
  const bytes = Buffer.allocUnsafeSlow(FRAMES_PER_READ * frameBytes)
  const words = new Uint32Array(bytes.buffer, 0, bytes.length / 4)
  const pages = new Set<number>()
  let transaction: number[] = []
  let { salts, sums } = header
  let firstBad = header.isValid ? -1 : 0
  let validFrames = 0
  /** Of the previous frame, after the first bad one: whether it ends a transaction, and its page. */
  let before = { isCommit: false, page: 0 }

  for (let start = 0; start < count; start += FRAMES_PER_READ) {
    const inThis = Math.min(FRAMES_PER_READ, count - start)
    readSync(fd, bytes, 0, inThis * frameBytes, HEADER_BYTES + start * frameBytes)
    for (let index = 0; index < inThis; index += 1) {
      const at = index * frameBytes
      const page = bytes.readUInt32BE(at)
      const isCommit = bytes.readUInt32BE(at + 4) !== 0
      const found: Sums = { one: bytes.readUInt32BE(at + 8), two: bytes.readUInt32BE(at + 12) }
      const stored: Sums = { one: bytes.readUInt32BE(at + 16), two: bytes.readUInt32BE(at + 20) }
      salts ??= found
      const isOfThisLog = found.one === salts.one && found.two === salts.two && page !== 0
      const isValid = isOfThisLog && isSame(sumFrame(words, at, frameBytes, sums, header.isSwapped), stored)
      const number = start + index
      if (firstBad === -1) {
        if (!isValid) firstBad = number
        else {
          transaction.push(page)
          if (isCommit) {
            for (const held of transaction) pages.add(held)
            transaction = []
            validFrames = number + 1
          }
        }
      } else if (isValid && before.isCommit && !(isCommit && page === before.page)) {
        // The exception above: on some disks SQLite repeats a commit frame to fill a sector.
        const validBytes = header.isValid ? HEADER_BYTES + validFrames * frameBytes : 0
        return { validBytes, pages, damage: describe(header.isValid, firstBad, frameBytes) }
      }
      before = { isCommit: isOfThisLog && isCommit && firstBad !== -1, page }
      sums = stored
    }
  }
  return { validBytes: validFrames === 0 ? 0 : HEADER_BYTES + validFrames * frameBytes, pages, damage: null }
}

function describe(isHeaderValid: boolean, frame: number, frameBytes: number): string {
  return isHeaderValid
    ? `is damaged in frame ${frame + 1}, from byte ${HEADER_BYTES + frame * frameBytes} on, and flushed commits follow`
    : 'has a damaged header, and flushed commits follow'
}

function readHeader(fd: number): Header {
  const bytes = Buffer.allocUnsafeSlow(HEADER_BYTES)
  readSync(fd, bytes, 0, HEADER_BYTES, 0)
  const magic = bytes.readUInt32BE(0)
  const given = bytes.readUInt32BE(8)
  const isPageSize = given >= 512 && given <= 65_536 && (given & (given - 1)) === 0
  const isBigEndian = (magic & 1) === 1
  const isSwapped = isBigEndian !== (endianness() === 'BE')
  const sums: Sums = { one: bytes.readUInt32BE(24), two: bytes.readUInt32BE(28) }
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, HEADER_BYTES / 4)
  const isValid =
    (magic | 1) >>> 0 === (MAGIC | 1) >>> 0 &&
    isPageSize &&
    isSame(sum(words, 0, 6, { one: 0, two: 0 }, isSwapped), sums)
  return {
    isValid,
    pageBytes: isPageSize ? given : PAGE_BYTES_DEFAULT,
    salts: isValid ? { one: bytes.readUInt32BE(16), two: bytes.readUInt32BE(20) } : null,
    sums,
    isSwapped,
  }
}

/** Over the first two words of the frame's header and its page. */
function sumFrame(words: Uint32Array, at: number, frameBytes: number, from: Sums, isSwapped: boolean): Sums {
  const first = at / 4
  const head = sum(words, first, first + 2, from, isSwapped)
  return sum(words, first + FRAME_HEADER_BYTES / 4, first + frameBytes / 4, head, isSwapped)
}

function sum(words: Uint32Array, from: number, to: number, { one, two }: Sums, isSwapped: boolean): Sums {
  for (let at = from; at < to; at += 2) {
    const left = words[at] as number
    const right = words[at + 1] as number
    one = (one + (isSwapped ? swap(left) : left) + two) >>> 0
    two = (two + (isSwapped ? swap(right) : right) + one) >>> 0
  }
  return { one, two }
}

function swap(word: number): number {
  return ((word >>> 24) | ((word >>> 8) & 0xff00) | ((word & 0xff00) << 8) | (word << 24)) >>> 0
}

function isSame(a: Sums, b: Sums): boolean {
  return a.one === b.one && a.two === b.two
}

const REWRITE_BYTES = 1_048_576

/**
 * Writes the log's intact part over itself and flushes it. After a failed flush the system may hold pages in memory
 * that it will never write: a process that starts then reads them, and would build on data that a power cut removes.
 */
export function rewriteWal(path: string, validBytes: number): void {
  const fd = openSync(path, 'r+')
  try {
    const bytes = Buffer.allocUnsafeSlow(REWRITE_BYTES)
    for (let at = 0; at < validBytes; ) {
      const read = readSync(fd, bytes, 0, Math.min(REWRITE_BYTES, validBytes - at), at)
      if (read === 0) break
      for (let done = 0; done < read; ) done += writeSync(fd, bytes, done, read - done, at + done)
      at += read
    }
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
