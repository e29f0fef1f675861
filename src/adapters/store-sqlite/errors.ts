// Translates the driver's errors into the port's, by a table.

import { getSystemErrorName } from 'node:util'
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

const TOO_MANY_FILES =
  'too many files are open: raise the limit (`ulimit -n`, or LimitNOFILE of the service) to 1024 or more and start again'
const READ_ONLY: Translation = {
  code: 'unavailable',
  message:
    'the database cannot be written: check the owner and mode of the file and its folder, and that the disk is not mounted read-only',
}
const IO_FAILED: Translation = {
  code: 'unavailable',
  message: 'reading or writing the disk failed: check the disk and its mount',
}
const FULL: Translation = { code: 'unavailable', message: 'the disk is full: make room, then send again' }

/** By SQLite's primary result code. */
const TRANSLATIONS: Readonly<Record<number, Translation>> = {
  [BUSY]: {
    code: 'unavailable',
    message: 'the database is locked by another program; close it and send again',
  },
  6: { code: 'unavailable', message: 'a table of the database is locked; send again' },
  7: { code: 'unavailable', message: 'there is not enough memory for the database' },
  [READONLY]: READ_ONLY,
  [IOERR]: IO_FAILED,
  11: {
    code: 'corrupt',
    message: 'the database file is damaged: stop, keep a copy, and restore from a backup',
  },
  13: FULL,
  14: {
    code: 'unavailable',
    message: 'the database file cannot be opened: check that its folder exists and can be written',
  },
  17: { code: 'unavailable', message: 'the schema was changed by another program; start again' },
  26: { code: 'corrupt', message: 'the file is not a database of this program: give another path' },
}

/** The node stops because of it: see the executor. */
const SYNC_FAILED =
  'flushing to the disk failed, so the store writes nothing more: check the disk, its mount and the system log'

/** By the system's code, for files that are opened beside the database. */
const SYSTEM: Readonly<Record<string, string>> = {
  EMFILE: TOO_MANY_FILES,
  ENFILE: TOO_MANY_FILES,
  ENOSPC: FULL.message,
  EDQUOT: 'the disk quota is used up: make room, then send again',
  EROFS: 'the file system is mounted read-only: mount it for writing',
  EACCES: READ_ONLY.message,
  EPERM: READ_ONLY.message,
  EIO: IO_FAILED.message,
}

/** The driver reports the system's error code, if there was one: SQLite's own code often says less. */
function fromErrno(error: unknown): Translation | null {
  const errno = (error as { readonly systemErrno?: unknown }).systemErrno
  if (typeof errno !== 'number' || errno <= 0) return null
  const message = SYSTEM[getSystemErrorName(-errno)]
  return message === undefined ? null : { code: 'unavailable', message }
}

function fromSystem(error: unknown, applied: 'no' | 'indeterminate'): unknown {
  if (!(error instanceof Error) || error instanceof StoreError) return error
  const { code, syscall } = error as NodeJS.ErrnoException
  if (syscall === undefined) return error
  if (code === 'EIO' && syscall === 'fsync') {
    return new StoreError('sync_failed', SYNC_FAILED, { cause: error, applied })
  }
  const message = SYSTEM[code ?? '']
  return message === undefined
    ? error
    : new StoreError('unavailable', `${message} (${error.message})`, { cause: error, applied })
}

function resultCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode : null
}

/** The port's error for the driver's; anything else (a broken commit, our own bug) stays as it is. */
export function toStoreError(error: unknown, applied: 'no' | 'indeterminate'): unknown {
  const code = resultCode(error)
  if (code === null) return fromSystem(error, applied)
  if ((code & 0xff) === CONSTRAINT) return error
  if (isSyncFailure(error)) return new StoreError('sync_failed', SYNC_FAILED, { cause: error, applied })
  const text = error instanceof Error ? error.message : ''
  const known = fromErrno(error) ?? TRANSLATIONS[code & 0xff]
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
