// Access over a memory store, with time that the test advances.

import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import { makeSystemRandom } from '../../adapters/random-system/index.ts'
import { makeMemoryStore } from '../../adapters/store-memory/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Commit } from '../../ports/store.ts'
import { makeAccess } from './access.ts'

export const ADMIN_KEY = 'the-admin-key'
export const START = Date.UTC(2026, 10, 16, 12)

export function makeAccessWorld() {
  let now = START
  const clock: Clock = {
    now: () => now,
    monotonic: () => now - START,
    after: () => () => {},
    defer: (callback) => queueMicrotask(callback),
  }
  const memory = makeMemoryStore({ now: () => now, defer: (callback) => queueMicrotask(callback) })
  const commits: Commit[] = []
  let reads = 0
  const store: typeof memory = {
    ...memory,
    commit(commit) {
      commits.push(commit)
      return memory.commit(commit)
    },
    forTenant(tenant) {
      const all = memory.forTenant(tenant)
      return {
        ...all,
        record(kind, key) {
          reads += 1
          return all.record(kind, key)
        },
      }
    },
  }
  const log = makeMemoryLog()
  /** Another node on the same store. */
  const makeNode = (adminKey = ADMIN_KEY) =>
    makeAccess({ store, clock, random: makeSystemRandom(), log, adminKey })
  return {
    store,
    clock,
    log,
    commits,
    reads: () => reads,
    access: makeNode(),
    makeNode,
    pass: (ms: number) => {
      now += ms
    },
  }
}
