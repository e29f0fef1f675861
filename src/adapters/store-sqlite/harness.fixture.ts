// The SQLite stores for tests: on one thread in memory, and with threads on a file.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { StoreHarness } from '../../ports/store-conformance/kit.conformance.ts'
import { makeSqliteStoreInline } from './inline.ts'
import { openSqliteStore } from './store.ts'

/** On the caller's thread, over a database in memory that outlives the store. */
export const makeInlineHarness = (): Promise<StoreHarness> => makeInline({})

/** The same, with keys that move to the index all the time. */
export const makeFoldingHarness = (): Promise<StoreHarness> => makeInline({ foldAt: 3 })

async function makeInline(options: { readonly foldAt?: number }): Promise<StoreHarness> {
  const db = new DatabaseSync(':memory:')
  let at = 0
  const open = () =>
    makeSqliteStoreInline(db, { ...options, now: () => at, defer: (callback) => void setImmediate(callback) })
  let store = open()
  return {
    get store() {
      return store
    },
    async reopen() {
      await store[Symbol.asyncDispose]()
      store = open()
      return store
    },
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
  }
}

/** With its threads, over a file in its own folder. */
export async function makeThreadedHarness(): Promise<StoreHarness> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-sqlite-'))
  const clock = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT))
  const open = () => openSqliteStore({ file: join(folder, 'test.db'), clock })
  let store = await open()
  return {
    get store() {
      return store
    },
    async reopen() {
      await store[Symbol.asyncDispose]()
      store = await open()
      return store
    },
    setNow(to) {
      clock[0] = to
    },
    advance(ms) {
      clock[0] = (clock[0] ?? 0) + ms
    },
    async close() {
      await store[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
    capabilities: { fencesOnOpen: true },
  }
}
