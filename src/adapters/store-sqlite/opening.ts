// What has to hold before a data file is used: nothing that was acknowledged is missing, and what is read is on disk.
//
// Invariants: DU1 a hole is refused, without a change, unless the operator names the group at which the file ends. DU2 a torn last
// transaction is no hole. DU3 after an unclean stop the log is written again and flushed before anything relies on it.

import { copyFileSync, existsSync, statSync } from 'node:fs'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { StoreError } from '../../ports/store.ts'
import { type DurabilitySettings, openForReading } from './connection.ts'
import { type Mark, markPath, readMark } from './durable-mark.ts'
import { toStoreError } from './errors.ts'
import { readWal, rewriteWal, type WalReport } from './wal.ts'

/** Acknowledged writes that are gone, and that the operator accepted. */
/** Where SQLite locks a file, by its format. */
const LOCK_BYTE = 0x4000_0000

export interface AcceptedLoss {
  readonly file: string
  /** The last group of the file. */
  readonly found: number
  /** The last group that was acknowledged; null: nothing says. */
  readonly acknowledged: number | null
  readonly what: string
  /** A copy of the log as it was found; null: there was none. */
  readonly copy: string | null
}

export interface Opening {
  /** The store was not closed in order the last time. */
  readonly wasUnclean: boolean
  readonly loss: AcceptedLoss | null
  /** False after an unclean stop: the file is too large to be checked then. */
  readonly isChecked: boolean
  /** What holds on the connection that writes, read back from it. */
  readonly settings: DurabilitySettings
}

interface Found {
  readonly mark: Mark | null
  readonly log: WalReport | null
  readonly isThere: boolean
  readonly group: number
  readonly hole: string | null
}

/** A check reads the whole file: 56 MiB took 75 ms with the file in memory. */
const CHECK_BYTES_MAX = 1_073_741_824

const logPath = (file: string) => `${file}-wal`

/** Who calls holds the file's lock. `acceptLoss`: the group that the operator named. */
export function prepareFile(file: string, acceptLoss: number | null): Pick<Opening, 'wasUnclean' | 'loss'> {
  const found = look(file)
  const { mark, log } = found
  const loss = found.hole === null ? null : refuseHole(file, found, found.hole, acceptLoss)
  const wasUnclean = found.isThere && (mark === null ? log !== null : !mark.isClean)
  if (log !== null && log.validBytes > 0) rewriteWal(logPath(file), log.validBytes)
  return { wasUnclean, loss }
}

/** For who only reads the file, while nobody writes to it. */
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
  if (bytes === 0 && (log === null || log.validBytes === 0)) {
    const isGone = mark !== null && mark.group > 0
    return { mark, log, isThere: false, group: 0, hole: isGone ? `${file} is empty or was deleted` : null }
  }
  const { group, pageCount, pageBytes } = readGroup(file)
  return { mark, log, isThere: true, group, hole: findHole() }

  function findHole(): string | null {
    if (log?.damage) return `its write-ahead log ${logPath(file)} ${log.damage}`
    // SQLite never writes the page at its lock bytes: it is neither in the log nor in a file that ends before it.
    const lockPage = Math.floor(LOCK_BYTE / pageBytes) + 1
    for (let page = Math.floor(bytes / pageBytes) + 1; page <= pageCount; page += 1) {
      if (page === lockPage) continue
      if (!log?.pages.has(page)) return `${file} was cut: it has ${bytes} bytes and ${pageCount} pages`
    }
    if (mark === null || mark.group <= group) return null
    return existsSync(logPath(file))
      ? `its write-ahead log ${logPath(file)} was cut or damaged, or the file is an older copy`
      : `its write-ahead log ${logPath(file)} is missing, or the file is an older copy`
  }
}

/** A connection that only reads leaves the log as it is when it closes. */
function readGroup(file: string): { group: number; pageCount: number; pageBytes: number } {
  let db: DatabaseSyncInstance | null = null
  try {
    db = openForReading(file)
    const pageCount: number = db.prepare('PRAGMA page_count').get().page_count
    const pageBytes: number = db.prepare('PRAGMA page_size').get().page_size
    const isOurs = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'last_group'").get()
    const group: number =
      isOurs === undefined ? 0 : db.prepare('SELECT number FROM last_group WHERE one = 1').get().number
    return { group, pageCount, pageBytes }
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
    throw new StoreError(
      'corrupt',
      `${file} has lost acknowledged writes: ${what}. ${known} Nothing was changed. Put the missing files back, or restore ` +
        `a backup. To go on without what is lost, start once with --accept-loss ${group} or MILLRACE_ACCEPT_LOSS=${group}: ` +
        'events that senders think are stored are gone, and effects may happen again',
    )
  }
  return { file, found: group, acknowledged, what, copy: copyLog(file, group) }
}

/** SQLite will write over it. */
function copyLog(file: string, group: number): string | null {
  if (!existsSync(logPath(file))) return null
  const copy = `${logPath(file)}.lost-after-${group}`
  copyFileSync(logPath(file), copy)
  return copy
}

/** Looks for damaged pages, after an unclean stop. Answers false where the file is too large. */
export function checkPages(db: DatabaseSyncInstance, file: string, isForced: boolean): boolean {
  if (!isForced && statSync(file).size > CHECK_BYTES_MAX) return false
  const { quick_check: found } = db.prepare('PRAGMA quick_check(1)').get() as { quick_check: string }
  if (found === 'ok') return true
  throw new StoreError(
    'corrupt',
    `${file} is damaged (${found.replaceAll('\n', ' ')}): keep a copy of it and of the files beside it, and restore a backup`,
  )
}
