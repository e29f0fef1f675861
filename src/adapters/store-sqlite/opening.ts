// What must hold before a data file is used: nothing acknowledged is missing, and what is read is on disk.
//
// Invariants: DU1 a lost acknowledged write is refused, without a change, unless the operator names the group at which
// the file ends. DU2 a torn last transaction is not a loss. DU3 after an unclean stop the log is written again and
// flushed before anything relies on it. DU12 a missing mark is a loss, unless the file itself says that it was closed
// cleanly.

import { copyFileSync, existsSync, rmSync, statSync } from 'node:fs'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { StoreError } from '../../ports/store.ts'
import { type DurabilitySettings, openForReading } from './connection.ts'
import { type Mark, markPath, readMark } from './durable-mark.ts'
import { toStoreError } from './errors.ts'
import { readWal, rewriteWal, type WalReport } from './wal.ts'

/** Where SQLite locks a file, by its format. */
const LOCK_BYTE = 0x4000_0000

/** Acknowledged writes that are lost, and whose loss the operator accepted. */
export interface AcceptedLoss {
  readonly file: string
  /** The last group of the file. */
  readonly found: number
  /** The last group that was acknowledged; null: unknown. */
  readonly acknowledged: number | null
  readonly what: string
  /** A copy of the log as it was found; null: there was none. */
  readonly copy: string | null
}

export interface Opening {
  /** The store was not closed cleanly the last time. */
  readonly wasUnclean: boolean
  readonly loss: AcceptedLoss | null
  /** False after an unclean stop: the file is too large to be checked then. */
  readonly isChecked: boolean
  /** The settings in effect on the connection that writes, read back from it. */
  readonly settings: DurabilitySettings
}

interface Found {
  readonly mark: Mark | null
  readonly log: WalReport | null
  readonly isThere: boolean
  /** The file says that a store is open on it. */
  readonly isOpen: boolean
  readonly group: number
  readonly hole: string | null
}

/** A check reads the whole file: 56 MiB took 75 ms with the file in memory. */
const CHECK_BYTES_MAX = 1_073_741_824

const logPath = (file: string) => `${file}-wal`

/** The caller holds the file's lock. `acceptLoss`: the group that the operator named. */
export function prepareFile(file: string, acceptLoss: number | null): Pick<Opening, 'wasUnclean' | 'loss'> {
  const found = look(file)
  const { mark, log } = found
  const loss = found.hole === null ? null : refuseHole(file, found, found.hole, acceptLoss)
  const wasUnclean = found.isThere && (mark === null ? log !== null || found.isOpen : !mark.isClean)
  if (log !== null && log.validBytes > 0) {
    if (found.isThere) rewriteWal(logPath(file), log.validBytes)
    // It was copied, and belongs to no file any more.
    else rmSync(logPath(file))
  }
  return { wasUnclean, loss }
}

/** For a caller that only reads the file, while no process writes to it. */
export function refuseHoles(file: string): void {
  const found = look(file)
  if (found.hole !== null) refuseHole(file, found, found.hole, null)
}

function look(file: string): Found {
  const mark = readMark(file)
  const log = readWal(logPath(file))
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat?.isDirectory())
    throw new StoreError(
      'unavailable',
      `the database file cannot be opened: ${file} is a folder; give the path of a file`,
    )
  const bytes = stat?.size ?? 0
  if (bytes === 0) {
    // Nothing is opened here: SQLite deletes a log that it finds beside an empty file.
    const isGone = (mark !== null && mark.group > 0) || (log !== null && log.validBytes > 0)
    const hole = isGone ? `${file} is empty or was deleted` : null
    return { mark, log, isThere: false, isOpen: false, group: 0, hole }
  }
  const { group, isOpen, pageCount, pageBytes } = readGroup(file)
  return { mark, log, isThere: true, isOpen, group, hole: findHole() }

  function findHole(): string | null {
    if (log?.damage) return `its write-ahead log ${logPath(file)} ${log.damage}`
    // SQLite never writes the page at its lock bytes: it is neither in the log nor in a file that ends before it.
    const lockPage = Math.floor(LOCK_BYTE / pageBytes) + 1
    for (let page = Math.floor(bytes / pageBytes) + 1; page <= pageCount; page += 1) {
      if (page === lockPage) continue
      if (!log?.pages.has(page)) return `${file} was cut: it has ${bytes} bytes and ${pageCount} pages`
    }
    if (mark === null && isOpen)
      return (
        `it was not closed in order, and ${markPath(file)} is missing, which names the last acknowledged group. ` +
        'Or the file is a copy that was made without the files beside it while a node ran'
      )
    if (mark === null || mark.group <= group) return null
    return existsSync(logPath(file))
      ? `its write-ahead log ${logPath(file)} was cut or damaged, or the file is an older copy`
      : `its write-ahead log ${logPath(file)} is missing, or the file is an older copy`
  }
}

/** A read-only connection leaves the log as it is when it closes. */
function readGroup(file: string): {
  group: number
  isOpen: boolean
  pageCount: number
  pageBytes: number
} {
  let db: DatabaseSyncInstance | null = null
  try {
    db = openForReading(file)
    const pageCount: number = db.prepare('PRAGMA page_count').get().page_count
    const pageBytes: number = db.prepare('PRAGMA page_size').get().page_size
    // The file may be of an earlier version, or empty.
    const names = ['newest_group', 'last_group']
    const found = db
      .prepare('SELECT name FROM sqlite_schema WHERE name IN (?, ?) ORDER BY name DESC LIMIT 1')
      .get(...names)
    const group: number =
      found === undefined ? 0 : db.prepare(`SELECT number FROM ${found.name}`).get().number
    return { group, isOpen: isMarkedOpen(db), pageCount, pageBytes }
  } catch (error) {
    throw toStoreError(error, 'no')
  } finally {
    db?.close()
  }
}

function refuseHole(file: string, found: Found, what: string, acceptLoss: number | null): AcceptedLoss {
  const { mark, group } = found
  const acknowledged = mark === null ? null : mark.group
  if (acceptLoss !== group) {
    const known =
      acknowledged === null || acknowledged <= group
        ? `It can be read up to group ${group}.`
        : `It ends at group ${group}; groups up to ${acknowledged} were acknowledged (${markPath(file)}).`
    const verb = mark === null && found.isOpen ? 'may have' : 'has'
    throw new StoreError(
      'corrupt',
      `${file} ${verb} lost acknowledged writes: ${what}. ${known} Nothing was changed. Put the missing files back, or restore ` +
        `a backup. To go on without what is lost, start once with --accept-loss ${group} or MILLRACE_ACCEPT_LOSS=${group}: ` +
        'events that senders think are stored are gone, and effects may happen again',
    )
  }
  return { file, found: group, acknowledged, what, copy: copyLog(file, group) }
}

/**
 * The file's own flag for a store that is open on it: `user_version` in its header, which no schema step uses. It is 0
 * in files of versions that did not set it.
 */
const OPEN_VERSION = 1

function isMarkedOpen(db: DatabaseSyncInstance): boolean {
  return db.prepare('PRAGMA user_version').get().user_version === OPEN_VERSION
}

/**
 * Reaches the file itself before anything is acknowledged. The mark exists by then, so a crash in between refuses
 * nothing.
 */
export function noteOpen(db: DatabaseSyncInstance): void {
  db.exec(`PRAGMA user_version = ${OPEN_VERSION}`)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
}

/** Before the mark says so: a crash in between leaves a mark that names the last group. */
export function noteClosed(db: DatabaseSyncInstance): void {
  db.exec('PRAGMA user_version = 0')
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
}

/** SQLite will overwrite it. */
function copyLog(file: string, group: number): string | null {
  if (!existsSync(logPath(file))) return null
  const copy = `${logPath(file)}.lost-after-${group}`
  copyFileSync(logPath(file), copy)
  return copy
}

/** Looks for damaged pages, after an unclean stop. Returns false if the file is too large. */
export function checkPages(db: DatabaseSyncInstance, file: string, isForced: boolean): boolean {
  if (!isForced && statSync(file).size > CHECK_BYTES_MAX) return false
  const { quick_check: found } = db.prepare('PRAGMA quick_check(1)').get() as { quick_check: string }
  if (found === 'ok') return true
  throw new StoreError(
    'corrupt',
    `${file} is damaged (${found.replaceAll('\n', ' ')}): keep a copy of it and of the files beside it, and restore a backup`,
  )
}
