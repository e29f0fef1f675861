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

const SHA256 = /^sha256:[0-9a-f]{64}$/
const SHA256_BYTES = 33
/** No text in UTF-8 begins with it. */
const NOT_TEXT = 0xff

/** A SHA-256 as its 32 bytes behind one that no text has: 33 instead of 71. Rows of earlier versions have the text. */
export function toStoredHash(text: string): Stored {
  if (!SHA256.test(text)) return toStored(text)
  const bytes = Buffer.allocUnsafe(SHA256_BYTES)
  bytes[0] = NOT_TEXT
  bytes.write(text.slice(7), 1, 'hex')
  return bytes
}

export function fromStoredHash(value: Stored): string {
  if (typeof value === 'string' || value[0] !== NOT_TEXT) return fromStored(value)
  return `sha256:${Buffer.from(value.buffer, value.byteOffset + 1, SHA256_BYTES - 1).toString('hex')}`
}

/** The trace that an event gets when its sender names none. */
const ownTrace = (correlationId: string) => correlationId.replaceAll('-', '')

/** Nothing, if the trace is the one that the correlation id names. A trace without a character is stored as bytes. */
export function toStoredTrace(traceId: string, correlationId: string): Stored {
  if (traceId === '') return Buffer.alloc(0)
  return traceId === ownTrace(correlationId) ? '' : toStored(traceId)
}

export function fromStoredTrace(value: Stored, correlationId: string): string {
  return value === '' ? ownTrace(correlationId) : fromStored(value)
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
