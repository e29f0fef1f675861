// Connections and their settings. Durability is not configurable: every commit is flushed before it is acknowledged.

import { DatabaseSync, type DatabaseSyncInstance, type DatabaseSyncOptions } from '@photostructure/sqlite'

const BUSY_TIMEOUT_MS = 5_000
/** With a file of 1 GB, 64 MiB took 46 MiB more memory, wrote as many bytes per event, and saved no CPU. */
const WRITER_CACHE_KIB = 16_384
/**
 * Pages come from the system's cache. Mapping the file saved nothing (a look-up 9 µs, a scan of 200 MB 40 ms, both ways), and every page
 * that was ever read counted as memory of the node: 125 MB under load.
 */
const READER_CACHE_KIB = 4_096

/** For the one connection that writes. The writer schedules checkpoints itself: none happens inside a COMMIT. */
export function openForWriting(file: string): DatabaseSyncInstance {
  return openWith(file, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: false }, [
    'journal_mode = WAL',
    'synchronous = FULL',
    // On macOS a plain flush leaves the data in the disk's own cache; elsewhere these change nothing.
    'fullfsync = ON',
    'checkpoint_fullfsync = ON',
    'wal_autocheckpoint = 0',
    `cache_size = -${WRITER_CACHE_KIB}`,
    'temp_store = MEMORY',
  ])
}

/** For moving pages from the log into the file beside the connection that writes. */
export function openForCheckpoints(file: string): DatabaseSyncInstance {
  return openWith(file, { timeout: 0, enableForeignKeyConstraints: false }, [
    'synchronous = FULL',
    'checkpoint_fullfsync = ON',
    'wal_autocheckpoint = 0',
  ])
}

export interface DurabilitySettings {
  readonly journalMode: string
  /** 2 is FULL: every commit is flushed. */
  readonly synchronous: number
  readonly fullfsync: number
  readonly checkpointFullfsync: number
}

/** As the connection reports them, not as they were requested. */
export function readSettings(db: DatabaseSyncInstance): DurabilitySettings {
  const read = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get() as object)[0]
  return {
    journalMode: read('journal_mode'),
    synchronous: read('synchronous'),
    fullfsync: read('fullfsync'),
    checkpointFullfsync: read('checkpoint_fullfsync'),
  }
}

export function openForReading(file: string): DatabaseSyncInstance {
  return openWith(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS }, [
    `cache_size = -${READER_CACHE_KIB}`,
    'temp_store = MEMORY',
  ])
}

function openWith(
  file: string,
  options: DatabaseSyncOptions,
  pragmas: readonly string[],
): DatabaseSyncInstance {
  const db = new DatabaseSync(file, options)
  try {
    for (const pragma of pragmas) db.exec(`PRAGMA ${pragma}`)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
