// The memory store for tests.

import type { StoreHarness } from '../../ports/store.conformance.ts'
import { makeMemoryState, makeMemoryStore } from './index.ts'

export async function makeMemoryHarness(): Promise<StoreHarness> {
  const state = makeMemoryState()
  let now = 0
  const open = () =>
    makeMemoryStore({ now: () => now, defer: (callback) => void setImmediate(callback), state })
  let store = open()
  return {
    store,
    async reopen() {
      await store[Symbol.asyncDispose]()
      store = open()
      return store
    },
    setNow(at) {
      now = at
    },
    advance(ms) {
      now += ms
    },
    close: () => Promise.resolve(store[Symbol.asyncDispose]()),
  }
}
