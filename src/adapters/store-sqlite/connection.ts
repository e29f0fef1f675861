// Connections and their settings. Durability is not a setting: every commit is flushed before it is answered.

import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'

const BUSY_TIMEOUT_MS = 5_000

/** For the one connection that writes. Checkpoints are the writer's own business: none happens inside a COMMIT. */
export function openForWriting(file: string): DatabaseSyncInstance {
  const db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: false })
  db.exec('PRAGMA journal_mode = WAL')
  db.exec('PRAGMA synchronous = FULL')
  db.exec('PRAGMA wal_autocheckpoint = 0')
  db.exec('PRAGMA cache_size = -65536')
  db.exec('PRAGMA temp_store = MEMORY')
  return db
}

/** For moving pages from the log into the file beside the one that writes. */
export function openForCheckpoints(file: string): DatabaseSyncInstance {
  const db = new DatabaseSync(file, { timeout: 0, enableForeignKeyConstraints: false })
  db.exec('PRAGMA synchronous = FULL')
  db.exec('PRAGMA wal_autocheckpoint = 0')
  return db
}

export function openForReading(file: string): DatabaseSyncInstance {
  const db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
  db.exec('PRAGMA cache_size = -16384')
  db.exec('PRAGMA mmap_size = 268435456')
  db.exec('PRAGMA temp_store = MEMORY')
  return db
}
