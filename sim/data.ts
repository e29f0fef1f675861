// The data that survives a crash, behind the real executors: the memory store's and SQLite's. Everything here is
// synchronous and has no faults; sim/store.ts puts latency, faults and crashes in front.

import { DatabaseSync } from '@photostructure/sqlite'
import { claimWork } from '../src/adapters/store-memory/claim.ts'
import { executeCommits } from '../src/adapters/store-memory/executor.ts'
import { joinNode, leaveNode, reclaimWork, renewIncarnation } from '../src/adapters/store-memory/leases.ts'
import { outboxRows } from '../src/adapters/store-memory/outbox.ts'
import { pruneRows } from '../src/adapters/store-memory/prune.ts'
import { dumpState, makeSystemReads, makeTenantReads } from '../src/adapters/store-memory/reads.ts'
import { type MemoryState, makeMemoryState } from '../src/adapters/store-memory/state.ts'
import { toClaimResult } from '../src/adapters/store-sqlite/claimed-rows.ts'
import { type Executor, makeExecutor } from '../src/adapters/store-sqlite/executor.ts'
import { migrate } from '../src/adapters/store-sqlite/migrate.ts'
import {
  makeSystemReads as makeSqliteSystemReads,
  makeTenantReads as makeSqliteTenantReads,
} from '../src/adapters/store-sqlite/read-objects.ts'
import { makeReads, type ReadName, type Reads } from '../src/adapters/store-sqlite/reads.ts'
import type { LedgerEntry } from '../src/core/effects/ledger/index.ts'
import type { StoredEvent } from '../src/core/events/event/index.ts'
import type { EventId, Incarnation, NodeId, TenantId, WorkId } from '../src/core/foundation/ids/index.ts'
import { joinKey } from '../src/core/foundation/text/index.ts'
import type { Instant } from '../src/core/foundation/time/index.ts'
import type { WorkRow } from '../src/core/queue/work/index.ts'
import type { OutboxRow } from '../src/core/store/outbox/index.ts'
import type { Pruned, PruneRequest } from '../src/core/store/retention/index.ts'
import type {
  ClaimRequest,
  ClaimResult,
  Commit,
  CommitResult,
  StoreDump,
  SystemReads,
  TenantReads,
} from '../src/ports/store.ts'

export type StoreKind = 'memory' | 'sqlite'

/** A commit that could not be applied; the others of its group were. */
export type Outcome = CommitResult | { readonly ok: 'failed'; readonly error: unknown }

export interface Data {
  readonly kind: StoreKind
  /** Only of the memory store: for bugs that change rows behind the port. */
  readonly state: MemoryState | null
  commit(now: Instant, commits: readonly Commit[]): readonly Outcome[]
  claim(now: Instant, request: ClaimRequest): ClaimResult
  join(now: Instant, node: NodeId, ttlMs: number): { owner: Incarnation; until: Instant; now: Instant }
  renew(now: Instant, owner: Incarnation, ttlMs: number): { until: Instant; now: Instant } | 'fenced'
  reclaim(now: Instant, limit: number): readonly WorkId[]
  leave(now: Instant, owner: Incarnation): readonly WorkId[]
  prune(now: Instant, request: PruneRequest): Pruned
  reads(tenant: TenantId): TenantReads
  system(): SystemReads
  /** For the invariants: reads without a promise. */
  event(tenant: TenantId, id: EventId): StoredEvent | null
  work(tenant: TenantId, id: WorkId): WorkRow | null
  ledger(tenant: TenantId, key: string): LedgerEntry | null
  /** One that the store has forgotten is fenced. */
  incarnation(owner: Incarnation): { readonly until: Instant; readonly fenced: boolean }
  /** All that is in the outbox. */
  outbox(): readonly OutboxRow[]
  dump(): StoreDump
  /** What retention may take of, in no order. */
  prunable(): Prunable
  /** The only process that used it died: what it knew by heart is gone. */
  reopen(): void
  close(): void
}

export type Prunable = Pick<StoreDump, 'events' | 'work' | 'deadLetters' | 'ledger' | 'records' | 'outbox'>

/** More than a run can have. */
const OUTBOX_MAX = 100_000

const FORGOTTEN = { until: 0, fenced: true }

/** `commitFault`: what happens inside SQLite's COMMIT; null: nothing. */
export function makeData(kind: StoreKind, commitFault: () => 'before' | 'after' | null): Data {
  return kind === 'memory' ? makeMemoryData() : makeSqliteData(commitFault)
}

function makeMemoryData(): Data {
  const state = makeMemoryState()
  const open = () => {}
  return {
    kind: 'memory',
    state,
    commit: (now, commits) =>
      executeCommits(state, now, commits).map((result) =>
        result.ok === 'broken' ? { ok: 'failed', error: result.error } : result,
      ),
    claim: (now, request) => claimWork(state, now, request),
    join: (now, node, ttlMs) => joinNode(state, now, node, ttlMs),
    renew: (now, owner, ttlMs) => renewIncarnation(state, now, owner, ttlMs),
    reclaim: (now, limit) => reclaimWork(state, now, limit),
    leave: (now, owner) => leaveNode(state, now, owner),
    prune: (now, request) => pruneRows(state, now, request),
    reads: (tenant) => makeTenantReads(state, tenant, open),
    system: () => makeSystemReads(state, open),
    event: (tenant, id) => ownOrNull(state.events.get(id), tenant),
    work: (tenant, id) => ownOrNull(state.work.get(id), tenant),
    ledger: (tenant, key) => state.ledger.get(joinKey(tenant, key)) ?? null,
    incarnation: (owner) => state.incarnations.get(owner) ?? FORGOTTEN,
    outbox: () => outboxRows(state),
    dump: () => dumpState(state),
    prunable: () => ({
      events: [...state.events.values()],
      work: [...state.work.values()],
      deadLetters: [...state.deadLetters.values()],
      ledger: [...state.ledgerBefore.values(), ...state.ledger.values()].flat(),
      records: [...state.records.values()],
      outbox: [...state.outbox.values()],
    }),
    reopen: open,
    close: open,
  }
}

function ownOrNull<Row extends { readonly tenant: TenantId }>(
  row: Row | undefined,
  tenant: TenantId,
): Row | null {
  return row?.tenant === tenant ? row : null
}

function makeSqliteData(commitFault: () => 'before' | 'after' | null): Data {
  const db = new DatabaseSync(':memory:')
  migrate(db, 'the simulated database')
  const open = (): Executor =>
    makeExecutor(db, {
      // Small enough that keys move to their place in the index within a run.
      foldAt: 4,
      commit(commit) {
        const fault = commitFault()
        if (fault === 'before') throw diskError()
        commit()
        if (fault === 'after') throw diskError()
      },
    })
  let executor = open()
  const reads: Reads = {
    ...makeReads(db),
    ledger: (tenant, key) => executor.ledger(tenant, key),
    ledgerHistory: (tenant, key) => executor.ledgerHistory(tenant, key),
  }
  const changes = db.prepare('SELECT total_changes() AS count')
  let dumped: { readonly changes: number; readonly dump: StoreDump } | null = null
  /** Reading everything is expensive, and often nothing has changed since the last read. */
  const dump = (): StoreDump => {
    const { count } = changes.get() as { count: number }
    if (dumped?.changes !== count) dumped = { changes: count, dump: reads.dump() }
    return dumped.dump
  }
  const incarnation = db.prepare('SELECT until, fenced FROM incarnation WHERE owner = ?')
  const ask = async <Name extends ReadName>(
    name: Name,
    ...args: Parameters<Reads[Name]>
  ): Promise<ReturnType<Reads[Name]>> => {
    const read = reads[name] as (...args: unknown[]) => ReturnType<Reads[Name]>
    return read(...args)
  }
  return {
    kind: 'sqlite',
    state: null,
    commit: (now, commits) => executor.commit(now, commits),
    claim: (now, request) => toClaimResult(executor.claim(now, request)),
    join: (now, node, ttlMs) => executor.join(now, node, ttlMs),
    renew: (now, owner, ttlMs) => executor.renew(now, owner, ttlMs),
    reclaim: (now, limit) => executor.reclaim(now, limit),
    leave: (now, owner) => executor.leave(now, owner),
    prune: (now, request) => executor.prune(now, request),
    reads: (tenant) => makeSqliteTenantReads(ask, tenant),
    system: () => makeSqliteSystemReads(ask),
    event: (tenant, id) => reads.event(tenant, id),
    work: (tenant, id) => reads.work(tenant, id),
    ledger: (tenant, key) => reads.ledger(tenant, key),
    incarnation(owner) {
      const row = incarnation.get(owner) as { until: number; fenced: number } | undefined
      return row === undefined ? FORGOTTEN : { until: row.until, fenced: row.fenced === 1 }
    },
    outbox: () => reads.outbox(OUTBOX_MAX).rows,
    dump,
    prunable: dump,
    reopen() {
      executor = open()
    },
    close: () => db.close(),
  }
}

/** As the driver says that the disk failed. */
function diskError(): Error {
  return Object.assign(new Error('disk I/O error'), { errcode: 10 })
}
