// A SQLite file for tests, to be filled and then moved.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgresArchive } from '../../src/adapters/store-postgres/index.ts'
import { openForWriting } from '../../src/adapters/store-sqlite/connection.ts'
import { openSqliteArchive } from '../../src/adapters/store-sqlite/index.ts'
import { makeSqliteStoreInline } from '../../src/adapters/store-sqlite/inline.ts'
import { type MoveOptions, type MoveReport, moveStore } from '../../src/app/move-store.ts'
import type { StoreHarness } from '../../src/ports/store.conformance.ts'

export interface SqliteFile {
  readonly file: string
  readonly harness: StoreHarness
  /** As on disk, once the harness is closed. */
  bytes(): string
  remove(): Promise<void>
}

/** `foldAt`: how many keys are remembered before they move to the index. */
export async function makeSqliteFile(options: { readonly foldAt?: number } = {}): Promise<SqliteFile> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-move-'))
  const file = join(folder, 'millrace.db')
  const db = openForWriting(file)
  let at = 0
  const store = makeSqliteStoreInline(db, {
    ...options,
    now: () => at,
    defer: (callback) => void setImmediate(callback),
  })
  return {
    file,
    harness: {
      store,
      reopen: () => Promise.reject(new Error('not here')),
      setNow(to) {
        at = to
      },
      advance(ms) {
        at += ms
      },
      async close() {
        await store[Symbol.asyncDispose]()
        db.close()
      },
    },
    bytes: () => createHash('sha256').update(readFileSync(file)).digest('hex'),
    remove: () => rm(folder, { recursive: true }),
  }
}

export async function move(
  file: string,
  url: string,
  options: Partial<Pick<MoveOptions, 'isAgain' | 'isDryRun' | 'onProgress' | 'signal'>> = {},
): Promise<MoveReport> {
  await using source = await openSqliteArchive(file)
  await using target = await openPostgresArchive({ connection: url })
  return await moveStore({
    source,
    target,
    isAgain: false,
    isDryRun: false,
    signal: new AbortController().signal,
    onProgress: () => {},
    ...options,
  })
}
