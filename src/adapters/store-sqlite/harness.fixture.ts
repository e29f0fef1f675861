// The SQLite stores in the hands of a test: on one thread in memory, and with threads on a file.

import { DatabaseSync } from '@photostructure/sqlite'
import type { StoreHarness } from '../../ports/store-conformance/kit.conformance.ts'
import { makeSqliteStoreInline } from './inline.ts'

/** On the caller's thread, over a database in memory that outlives the store. */
export async function makeInlineHarness(): Promise<StoreHarness> {
  const db = new DatabaseSync(':memory:')
  let at = 0
  const open = () =>
    makeSqliteStoreInline(db, { now: () => at, defer: (callback) => void setImmediate(callback) })
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
