// Connections and their settings. Durability is not a setting: every commit is flushed before it is answered.

import { DatabaseSync, type DatabaseSyncInstance, type DatabaseSyncOptions } from '@photostructure/sqlite'

const BUSY_TIMEOUT_MS = 5_000

/** For the one connection that writes. Checkpoints are the writer's own business: none happens inside a COMMIT. */
export function openForWriting(file: string): DatabaseSyncInstance {
  return openWith(file, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: false }, [
    'journal_mode = WAL',
    'synchronous = FULL',
    'wal_autocheckpoint = 0',
    'cache_size = -65536',
    'temp_store = MEMORY',
  ])
}

/** For moving pages from the log into the file beside the one that writes. */
export function openForCheckpoints(file: string): DatabaseSyncInstance {
  return openWith(file, { timeout: 0, enableForeignKeyConstraints: false }, [
    'synchronous = FULL',
    'wal_autocheckpoint = 0',
  ])
}

export function openForReading(file: string): DatabaseSyncInstance {
  return openWith(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS }, [
    'cache_size = -16384',
    'mmap_size = 268435456',
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
