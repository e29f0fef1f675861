// The store without threads: the executor on the caller's own thread. For the simulator and for tests; in production
// a flush would block the event loop.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Instant } from '../../core/foundation/time/index.ts'
import { makeGatherer } from '../../core/store/commit/index.ts'
import type { Commit, Store } from '../../ports/store.ts'
import { StoreError } from '../../ports/store.ts'
import { toClaimResult } from './claimed-rows.ts'
import { toStoreError } from './errors.ts'
import { type CommitOutcome, type ExecutorOptions, makeExecutor } from './executor.ts'
import { migrate } from './migrate.ts'
import { makeSystemReads, makeTenantReads } from './read-objects.ts'
import { makeReads, type ReadName, type Reads } from './reads.ts'

export interface InlineOptions extends ExecutorOptions {
  /** The store's clock; it may jump back, the store's time does not. */
  now(): Instant
  /** Calls back soon: commits that arrive until then share a group. */
  defer(callback: () => void): void
  readonly groupMax?: number
  readonly inFlightMax?: number
}

/**
 * Migrates `db` to the current schema and uses it as its own. Disposing leaves the connection open: the caller made it.
 */
export function makeSqliteStoreInline(db: DatabaseSyncInstance, options: InlineOptions): Store {
  migrate(db, db.location() ?? 'the database in memory')
  const executor = makeExecutor(db, options)
  const reads: Reads = {
    ...makeReads(db),
    ledger: executor.ledger,
    ledgerHistory: executor.ledgerHistory,
  }
  let isClosed = false
  let last = executor.lastAt
  const now = (): Instant => {
    last = Math.max(last, options.now())
    return last
  }
  const open = <T>(work: () => T): T => {
    if (isClosed) throw new StoreError('closed', 'the store is closed')
    return work()
  }
  const gatherer = makeGatherer<Commit, CommitOutcome>({
    run: async (group) => executor.commit(now(), group),
    defer: (callback) => options.defer(callback),
    ...(options.groupMax === undefined ? {} : { groupMax: options.groupMax }),
    ...(options.inFlightMax === undefined ? {} : { inFlightMax: options.inFlightMax }),
  })
  const ask = async <Name extends ReadName>(
    name: Name,
    ...args: Parameters<Reads[Name]>
  ): Promise<ReturnType<Reads[Name]>> =>
    open(() => {
      try {
        const read = reads[name] as (...args: unknown[]) => ReturnType<Reads[Name]>
        return read(...args)
      } catch (error) {
        throw toStoreError(error, 'no')
      }
    })

  return {
    async commit(commit) {
      const outcome = await open(() => gatherer.add(commit))
      if (outcome.ok === 'failed') throw outcome.error
      return outcome
    },
    claim: async (request) => open(() => toClaimResult(executor.claim(now(), request))),
    join: async (node, ttlMs) => open(() => executor.join(now(), node, ttlMs)),
    renew: async (owner, ttlMs) => open(() => executor.renew(now(), owner, ttlMs)),
    reclaim: async (limit) => open(() => executor.reclaim(now(), limit)),
    leave: async (owner) => open(() => executor.leave(now(), owner)),
    prune: async (request) => open(() => executor.prune(now(), request)),
    forTenant: (tenant) => makeTenantReads(ask, tenant),
    system: () => makeSystemReads(ask),
    async [Symbol.asyncDispose]() {
      isClosed = true
      await gatherer.idle()
    },
  }
}
