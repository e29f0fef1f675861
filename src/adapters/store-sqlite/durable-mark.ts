// The number of the last durable group, in a small file beside the database: `millrace.db.durable`.
//
// The writer writes it after every flush of the log and before the group is acknowledged, without a flush of its own.
// So after a killed process it names the last acknowledged group exactly. After a power cut it may be older, by about a
// second under load: the checkpointing thread flushes it. It is never ahead of the log. A database that ends before it
// has lost acknowledged writes.
//
// Two slots alternate, each in a sector of its own and with a checksum: a torn write leaves the other one.

import { closeSync, fdatasyncSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'

const SLOT_BYTES = 512
const LINE = /^millrace 1 (open|clean) (\d{16}) ([0-9a-f]{8})\n/

export interface Mark {
  readonly group: number
  /** The store was closed cleanly. */
  readonly isClean: boolean
}

export interface MarkWriter {
  note(group: number): void
  /** The store was closed cleanly; flushes. */
  close(group: number): void
}

export const markPath = (file: string) => `${file}.durable`

/** null: there is none that can be read. */
export function readMark(file: string): Mark | null {
  let text: string
  try {
    text = readFileSync(markPath(file), 'latin1')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const found = [parseSlot(text), parseSlot(text.slice(SLOT_BYTES))].filter((mark) => mark !== null)
  const group = Math.max(...found.map((mark) => mark.group))
  return found.length === 0 ? null : { group, isClean: found.every(({ isClean }) => isClean) }
}

function parseSlot(text: string): Mark | null {
  const match = LINE.exec(text)
  if (match === null) return null
  const [, state = '', group = '', sum = ''] = match
  return sum === sumOf(`${state} ${group}`) ? { group: Number(group), isClean: state === 'clean' } : null
}

function sumOf(text: string): string {
  return crc32(`millrace 1 ${text}`).toString(16).padStart(8, '0')
}

/** Records that the store is open, on disk, before anything is written to it. */
export function openMark(file: string, group: number): MarkWriter {
  closeSync(openSync(markPath(file), 'a', 0o600))
  const own = openSync(markPath(file), 'r+')
  const put = (slot: number, state: 'open' | 'clean', number: number) => {
    const text = `${state} ${String(number).padStart(16, '0')}`
    const line = `millrace 1 ${text} ${sumOf(text)}\n`
    writeSync(own, line, slot * SLOT_BYTES, 'latin1')
  }
  try {
    for (const slot of [0, 1]) put(slot, 'open', group)
    fsyncSync(own)
    syncFolder(file)
  } catch (error) {
    closeSync(own)
    throw error
  }
  return {
    note(number) {
      try {
        put(number % 2, 'open', number)
      } catch {
        // The mark stays behind, and proves less: nothing that it says becomes wrong.
      }
    },
    close(number) {
      try {
        for (const slot of [0, 1]) put(slot, 'clean', number)
        fsyncSync(own)
      } finally {
        closeSync(own)
      }
    },
  }
}

/** For another thread than the writer's: flushes what was written. */
export function makeMarkFlusher(file: string): { flush(): void; close(): void } {
  const fd = openSync(markPath(file), 'r+')
  return {
    flush: () => fdatasyncSync(fd),
    close: () => closeSync(fd),
  }
}

function syncFolder(file: string): void {
  // Windows opens no folders.
  if (process.platform === 'win32') return
  const folder = openSync(dirname(file), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
