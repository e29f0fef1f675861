// The driver's errors as the port's, by a table.

import { StoreError } from '../../ports/store.ts'

interface Translation {
  readonly code: StoreError['code']
  readonly message: string
}

const BUSY = 5
const READONLY = 8
const IOERR = 10
const CONSTRAINT = 19
const IOERR_FSYNC = 1034
const IOERR_DIR_FSYNC = 1290

/** By SQLite's primary result code. */
const TRANSLATIONS: Readonly<Record<number, Translation>> = {
  [BUSY]: {
    code: 'unavailable',
    message: 'the database is locked by another program; close it and send again',
  },
  6: { code: 'unavailable', message: 'a table of the database is locked; send again' },
  7: { code: 'unavailable', message: 'there is not enough memory for the database' },
  [READONLY]: {
    code: 'unavailable',
    message: 'the database cannot be written: check the owner and mode of the file and its folder',
  },
  [IOERR]: {
    code: 'unavailable',
    message: 'reading or writing the disk failed: check the disk and its mount',
  },
  11: {
    code: 'corrupt',
    message: 'the database file is damaged: stop, keep a copy, and restore from a backup',
  },
  13: { code: 'unavailable', message: 'the disk is full: make room, then send again' },
  14: {
    code: 'unavailable',
    message: 'the database file cannot be opened: check that its folder exists and can be written',
  },
  17: { code: 'unavailable', message: 'the schema was changed by another program; start again' },
  26: { code: 'corrupt', message: 'the file is not a database of this program: give another path' },
}

function resultCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode : null
}

/** The port's error for the driver's; anything else (a broken commit, our own bug) stays what it is. */
export function toStoreError(error: unknown, applied: 'no' | 'indeterminate'): unknown {
  const code = resultCode(error)
  if (code === null || (code & 0xff) === CONSTRAINT) return error
  const known = TRANSLATIONS[code & 0xff]
  const text = error instanceof Error ? error.message : ''
  return known
    ? new StoreError(known.code, `${known.message} (${text})`, { cause: error, applied })
    : new StoreError('unavailable', `the database failed: ${text}`, { cause: error, applied })
}

export function isSyncFailure(error: unknown): boolean {
  const code = resultCode(error)
  return code === IOERR_FSYNC || code === IOERR_DIR_FSYNC
}

export function isBusy(error: unknown): boolean {
  return ((resultCode(error) ?? 0) & 0xff) === BUSY
}
