// The store over a memory state: implements the port with the plain functions beside this file.
//
// Nothing here reads a clock or waits: `now` and `defer` are passed in, so that equal calls give equal results.

import type { Instant } from '../../core/foundation/time/index.ts'
import { makeGatherer } from '../../core/store/commit/index.ts'
import type { Commit, CommitResult, Store } from '../../ports/store.ts'
import { StoreError } from '../../ports/store.ts'
import { claimWork } from './claim.ts'
import { type BrokenCommit, executeCommits } from './executor.ts'
import { joinNode, leaveNode, reclaimWork, renewIncarnation } from './leases.ts'
import { pruneRows } from './prune.ts'
import { makeSystemReads, makeTenantReads } from './reads.ts'
import { type MemoryState, makeMemoryState } from './state.ts'

export interface MemoryStoreOptions {
  /** The store's clock. */
  now(): Instant
  /** Calls back soon: commits that arrive until then share a group. */
  defer(callback: () => void): void
  readonly groupMax?: number
  readonly inFlightMax?: number
  /** The state of an earlier store; omitted: a new, empty one. */
  readonly state?: MemoryState
}

export function makeMemoryStore(options: MemoryStoreOptions): Store {
  const state = options.state ?? makeMemoryState()
  let isClosed = false
  const assertOpen = () => {
    if (isClosed) throw new StoreError('closed', 'the store is closed')
  }
  const gatherer = makeGatherer<Commit, CommitResult | BrokenCommit>({
    run: async (group) => executeCommits(state, options.now(), group),
    defer: (callback) => options.defer(callback),
    ...(options.groupMax === undefined ? {} : { groupMax: options.groupMax }),
    ...(options.inFlightMax === undefined ? {} : { inFlightMax: options.inFlightMax }),
  })

  return {
    async commit(commit) {
      assertOpen()
      const result = await gatherer.add(commit)
      if (result.ok === 'broken') throw result.error
      return result
    },
    async claim(request) {
      assertOpen()
      return claimWork(state, options.now(), request)
    },
    async join(node, ttlMs) {
      assertOpen()
      return joinNode(state, options.now(), node, ttlMs)
    },
    async renew(owner, ttlMs) {
      assertOpen()
      return renewIncarnation(state, options.now(), owner, ttlMs)
    },
    async reclaim(limit) {
      assertOpen()
      return reclaimWork(state, options.now(), limit)
    },
    async leave(owner) {
      assertOpen()
      return leaveNode(state, options.now(), owner)
    },
    async prune(request) {
      assertOpen()
      return pruneRows(state, options.now(), request)
    },
    forTenant: (tenant) => makeTenantReads(state, tenant, assertOpen),
    system: () => makeSystemReads(state, assertOpen),
    async [Symbol.asyncDispose]() {
      isClosed = true
      await gatherer.idle()
    },
  }
}
