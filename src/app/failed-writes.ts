// Whether the store accepts writes: the result of the last one, and a small write that finds out without any traffic.
//
// Only a write that changed something proves that the store accepts writes: a refusal by a guard and an empty claim
// flush nothing.

import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import { type Commit, type CommitResult, type Store, StoreError } from '../ports/store.ts'

export interface WriteHealth {
  /** Why the last write failed; null: it did not. */
  problem(): string | null
  /** Writes a small record over itself. Its result is in `problem`. */
  probe(): Promise<void>
}

const FAILURES: readonly StoreError['code'][] = ['unavailable', 'corrupt', 'sync_failed']
const PROBE = 'write-probe'

export function watchWrites<Watched extends Store>(store: Watched): { store: Watched; writes: WriteHealth } {
  let problem: string | null = null

  const noteFailed = (error: unknown) => {
    if (error instanceof StoreError && FAILURES.includes(error.code)) problem = error.message
  }
  const watch = <T>(write: Promise<T>, hasWritten: (result: T) => boolean): Promise<T> => {
    write.then((result) => {
      if (problem !== null && hasWritten(result)) problem = null
    }, noteFailed)
    return write
  }
  const isWritten = (commit: Commit, { ok }: CommitResult) => ok && commit.writes.length > 0
  store.watchCommits?.({
    settled(commit, result) {
      if (problem !== null && isWritten(commit, result)) problem = null
    },
    failed: noteFailed,
  })

  const commit: Store['commit'] =
    store.watchCommits === undefined
      ? (commit) => watch(store.commit(commit), (result) => isWritten(commit, result))
      : store.commit
  const watched: Watched = {
    ...store,
    commit,
    claim: (request: Parameters<Store['claim']>[0]) =>
      watch(store.claim(request), ({ items }) => items.length > 0),
    join: (...args: Parameters<Store['join']>) => watch(store.join(...args), () => true),
    renew: (...args: Parameters<Store['renew']>) => watch(store.renew(...args), (life) => life !== 'fenced'),
  }
  return {
    store: watched,
    writes: {
      problem: () => problem,
      async probe() {
        const writes = [{ w: 'record.put', kind: 'setting', key: PROBE, version: 1, body: '{}' }] as const
        await commit({ tenant: DEFAULT_TENANT, guards: [], writes }).catch(() => {})
      },
    },
  }
}
