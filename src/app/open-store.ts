// Opens the configured store, and logs what it found; opens two for a move from one to the other.

import type { OperatorLog } from '../adapters/log-pino/index.ts'
import type { PostgresStore } from '../adapters/store-postgres/index.ts'
import { openSqliteArchive, openSqliteStore, type SqliteStore } from '../adapters/store-sqlite/index.ts'
import type { Config } from '../config/index.ts'
import { type MoveOptions, type MoveReport, moveStore } from './move-store.ts'

export async function openStore(config: Config): Promise<SqliteStore | PostgresStore> {
  if (config.store.kind === 'sqlite')
    return openSqliteStore({ file: config.store.file, acceptLoss: config.acceptLoss })
  // Loaded only if configured: most nodes do not need the driver.
  const { openPostgresStore } = await import('../adapters/store-postgres/index.ts')
  return openPostgresStore({ connection: config.store.url })
}

/** Logs what was found in the file, and ends the node when the store accepts nothing any more. */
export function followStore(
  store: SqliteStore | PostgresStore,
  log: OperatorLog,
  onFatal: ((message: string) => void) | undefined,
): void {
  if (!('broken' in store)) {
    const { fsync, fullPageWrites } = store.settings
    if (fsync === 'off' || fullPageWrites === 'off')
      log.warn('store.flush-off', {
        fsync,
        fullPageWrites,
        message:
          'PostgreSQL does not flush what it confirms: a power cut loses acknowledged events. Set both to on.',
      })
    return
  }
  const { file, opening } = store
  if (opening.loss !== null) log.error('store.loss-accepted', { ...opening.loss })
  if (opening.wasUnclean && !opening.isChecked)
    log.warn('store.not-checked', {
      file,
      message: 'The last stop was not clean, and the file is too large to be checked at the start.',
    })
  void store.broken.then(async (reason) => {
    log.error('store.stopped', { file, reason })
    await log.flush()
    onFatal?.(reason)
  })
}

/** Opens both stores, moves, and closes them. Refused before a change: a file that is in use, a database that has rows. */
export async function openMove(
  file: string,
  url: string,
  options: Omit<MoveOptions, 'source' | 'target'>,
): Promise<MoveReport> {
  const { openPostgresArchive } = await import('../adapters/store-postgres/index.ts')
  const source = await openSqliteArchive(file)
  try {
    const target = await openPostgresArchive({ connection: url })
    try {
      return await moveStore({ source, target, ...options })
    } finally {
      await target[Symbol.asyncDispose]()
    }
  } finally {
    await source[Symbol.asyncDispose]()
  }
}
