// Text into and out of the database, and the hashes under which outside keys are found.

import { Buffer } from 'node:buffer'
import { hash } from 'node:crypto'
import { StoreError } from '../../ports/store.ts'

const DAMAGED =
  'a row of the database cannot be read because the file is damaged: stop the node, keep a copy of the data folder, and restore a backup'

export type Stored = string | Uint8Array

/**
 * The driver ends a text at its first NUL. Keys and messages come from outside and may contain one, so such a text is
 * stored as its UTF-8 bytes. Lone surrogates have no UTF-8 form and become U+FFFD.
 */
export function toStored(text: string): Stored {
  return text.includes('\0') ? Buffer.from(text) : text
}

export function toStoredOrNull(text: string | null): Stored | null {
  return text === null ? null : toStored(text)
}

export function fromStored(value: Stored): string {
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
  // A row has what the schema says, unless its page was changed on the disk.
  throw new StoreError('corrupt', DAMAGED)
}

export function fromStoredOrNull(value: Stored | null): string | null {
  return value === null ? null : fromStored(value)
}

/** Whether a key that was read back is the requested one. */
export function isSameText(stored: Stored, text: string): boolean {
  return stored === text || fromStored(stored) === Buffer.from(text).toString()
}

/**
 * 128 bits of SHA-256, one character per byte: keys come from outside, so the hash must resist deliberate collisions.
 * `turn` is 0 except for keys whose hash belongs to another key.
 */
export function hashKey(text: string, turn: number): string {
  return hash('sha256', turn === 0 ? text : `${turn}#${text}`, 'binary').slice(0, 16)
}

/** One text for tenant, source and key, such that different parts never give the same text. */
export function dedupText(tenant: number, source: string, key: string): string {
  return `d${tenant}:${source.length}:${source}${key}`
}

export function correlationHash(tenant: number, key: string): Buffer {
  return Buffer.from(hashKey(`c${tenant}:${key}`, 0), 'latin1')
}

export function ledgerText(tenant: number, key: string): string {
  return `l${tenant}:${key}`
}
