// A disk that forgets what was not flushed: writes since the last flush are gone after a crash.
//
// The simulated stores apply a write and have it, as if each were flushed before its answer. Here the flush is a step of its own. With
// `beforeAnswer` every write is flushed before it is answered, as the product does it; without, writes are answered first and flushed
// some writes later, which is what `synchronous = NORMAL` does. Only the memory store can go back.

import type { MemoryState } from '../src/adapters/store-memory/state.ts'
import { assert } from '../src/core/foundation/errors/index.ts'
import type { Data } from './data.ts'

/** Late flushes come after so many writes. */
const WRITES_PER_FLUSH = 12

export function forgetUnsynced(data: Data, flush: 'before-answer' | 'late'): Data {
  const { state } = data
  assert(state, 'only the memory store can go back')
  let durable = copyState(state)
  let unsynced = 0
  const written = <T>(result: T): T => {
    unsynced += 1
    if (flush === 'before-answer' || unsynced >= WRITES_PER_FLUSH) {
      durable = copyState(state)
      unsynced = 0
    }
    return result
  }
  return {
    ...data,
    commit: (now, commits) => written(data.commit(now, commits)),
    claim: (now, request) => written(data.claim(now, request)),
    join: (now, node, ttlMs) => written(data.join(now, node, ttlMs)),
    renew: (now, owner, ttlMs) => written(data.renew(now, owner, ttlMs)),
    reclaim: (now, limit) => written(data.reclaim(now, limit)),
    leave: (now, owner) => written(data.leave(now, owner)),
    prune: (now, request) => written(data.prune(now, request)),
    reopen() {
      if (unsynced > 0) restoreState(state, durable)
      unsynced = 0
      data.reopen()
    },
  }
}

/** Rows are never changed, so copies of the maps are enough; of the indexes the sets too. */
function copyState(state: MemoryState): MemoryState {
  const copy = Object.entries(state).map(([name, part]) => [name, part instanceof Map ? copyMap(part) : part])
  return Object.fromEntries(copy) as MemoryState
}

function copyMap(map: ReadonlyMap<unknown, unknown>): Map<unknown, unknown> {
  const copy = new Map<unknown, unknown>()
  for (const [key, value] of map) copy.set(key, value instanceof Set ? new Set(value) : value)
  return copy
}

function restoreState(state: MemoryState, from: MemoryState): void {
  const target = state as unknown as Record<string, unknown>
  for (const [name, part] of Object.entries(copyState(from))) {
    const own = target[name]
    if (!(own instanceof Map) || !(part instanceof Map)) {
      target[name] = part
      continue
    }
    own.clear()
    for (const [key, value] of part) own.set(key, value)
  }
}
