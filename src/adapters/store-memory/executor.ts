// Executes the commits of one group, one after the other, at one instant: a later commit sees the writes of an earlier
// one.
//
// A plain synchronous function, so that the caller decides when it runs and with which faults.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { WorkRow } from '../../core/queue/work/index.ts'
import { applyWrite, type Writing } from '../../core/store/commit/index.ts'
import type { Commit, CommitResult } from '../../ports/store.ts'
import { checkGuard } from './guards.ts'
import { laneRows } from './lanes.ts'
import type { MemoryState } from './state.ts'
import type { Transaction } from './transaction.ts'
import { WRITE_TABLES } from './write-tables.ts'

/** A commit that no store could apply, such as one that adds an id twice. It wrote nothing. */
export interface BrokenCommit {
  readonly ok: 'broken'
  readonly error: unknown
}

export function executeCommits(
  state: MemoryState,
  now: Instant,
  commits: readonly Commit[],
): readonly (CommitResult | BrokenCommit)[] {
  return commits.map((commit) => executeCommit(state, now, commit))
}

function executeCommit(state: MemoryState, now: Instant, commit: Commit): CommitResult | BrokenCommit {
  let index = 0
  for (const guard of commit.guards) {
    const refusal = checkGuard(state, now, commit.tenant, guard)
    if (refusal) return { ok: false, at: now, guard: index, found: refusal.found }
    index += 1
  }
  const tx = begin(state, now, commit.tenant)
  try {
    for (const write of commit.writes) applyWrite(WRITE_TABLES, tx, write)
  } catch (error) {
    for (const back of tx.undo.reverse()) back()
    return { ok: 'broken', error }
  }
  return { ok: true, at: now, leased: tx.leased }
}

function begin(state: MemoryState, now: Instant, tenant: TenantId): Transaction & Writing<WorkRow> {
  const undo: (() => void)[] = []
  const moment = { tenant, now, after: (delayMs: number) => now + delayMs }
  return { state, now, tenant, undo, moment, lanes: laneRows({ state, now, tenant, undo }), leased: [] }
}
