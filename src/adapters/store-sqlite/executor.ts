// The writing side as plain synchronous functions over one connection: no thread, no clock, no randomness. The worker
// thread, the inline store and the simulator all call these.
//
// A group of commits is one transaction: BEGIN IMMEDIATE, per commit its guards and then its writes, COMMIT. There are
// no savepoints: an unexpected error rolls the group back and executes it again one by one, so that a broken commit
// fails alone. When COMMIT itself throws, the number of the newest group says whether it took effect.
//
// A failed flush is final: nothing is written after it, until another process opens the file (DU4).
//
// Groups and claims that wait while another transaction is flushed share the next one, by the same rule: if it cannot
// be written as a whole, each of them is executed by itself.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { Incarnation, NodeId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Pruned, PruneRequest } from '../../core/store/retention/index.ts'
import type { ClaimRequest, Commit, CommitResult } from '../../ports/store.ts'
import { StoreError } from '../../ports/store.ts'
import { makeClaim } from './claim.ts'
import type { ClaimedRows } from './claimed-rows.ts'
import { applyCommit } from './commit/commit.ts'
import { isSyncFailure, toStoreError } from './errors.ts'
import { makeFence } from './fence.ts'
import { makeJoin } from './join.ts'
import { FOLD_AT } from './key-index.ts'
import { makeLeave } from './leave.ts'
import { readLedger, readLedgerHistory } from './ledger.ts'
import { pruneRows } from './prune/prune.ts'
import { makeReclaim } from './reclaim.ts'
import { makeRenew } from './renew.ts'
import { makeSession, recall, recallKeys, type Session } from './session.ts'

/** A commit that could not be applied; the others of its group were. */
export interface FailedCommit {
  readonly ok: 'failed'
  readonly error: unknown
}

export type CommitOutcome = CommitResult | FailedCommit

/** A group, or a claim. */
export type Asked = { readonly commits: readonly Commit[] } | { readonly claim: ClaimRequest }

export type Answered =
  | { readonly outcomes: readonly CommitOutcome[] }
  | { readonly claimed: ClaimedRows }
  /** Of a claim. */
  | { readonly error: unknown }

export interface ExecutorOptions {
  /** How many new keys are collected before they move to the index. */
  readonly foldAt?: number
  /** Runs COMMIT; tests and the simulator inject faults before or after it. */
  commit?(commit: () => void): void
  /** A group is on disk, and is about to be acknowledged. */
  noteGroup?(group: number): void
}

export interface Executor {
  /** The instant of the last durable group: a clock must not go behind it. */
  readonly lastAt: Instant
  /** The number of the last durable group. */
  readonly lastGroup: number
  /** Throws after a failed flush: nothing is written any more. */
  assertSound(): void
  commit(now: Instant, commits: readonly Commit[]): readonly CommitOutcome[]
  claim(now: Instant, request: ClaimRequest): ClaimedRows
  /**
   * Executes calls that waited at the same time, in order and with one flush; each gets the result it would have got
   * alone.
   */
  together(now: Instant, asked: readonly Asked[]): readonly Answered[]
  join(now: Instant, node: NodeId, ttlMs: number): { owner: Incarnation; until: Instant; now: Instant }
  renew(now: Instant, owner: Incarnation, ttlMs: number): { until: Instant; now: Instant } | 'fenced'
  reclaim(now: Instant, limit: number): readonly WorkId[]
  leave(now: Instant, owner: Incarnation): readonly WorkId[]
  prune(now: Instant, request: PruneRequest): Pruned
  ledger(tenant: TenantId, key: string): LedgerEntry | null
  ledgerHistory(tenant: TenantId, key: string): readonly LedgerEntry[]
  /** While nothing waits: a tenth of a millisecond of what later calls would have to do. Returns whether there is more. */
  prepareSome(): boolean
  /** Fences every incarnation: for a caller that knows that no other process has the database open. */
  fenceAll(now: Instant): void
}

/** COMMIT threw, and a check showed that it had taken no effect: it may be tried again. */
class NotCommitted extends Error {
  constructor(cause: unknown) {
    super('the transaction took no effect', { cause })
  }
}

export function makeExecutor(db: DatabaseSyncInstance, options: ExecutorOptions = {}): Executor {
  const session = makeSession(db, options.foldAt ?? FOLD_AT)
  const fence = makeFence(session)
  const claimWork = makeClaim(session)
  const joinNode = makeJoin(session)
  const renewIncarnation = makeRenew(session, fence)
  const reclaimWork = makeReclaim(session)
  const leaveNode = makeLeave(session, fence)
  let broken: StoreError | null = null
  const runCommit = options.commit ?? ((commit: () => void) => commit())

  const transact = <T>(now: Instant, work: () => T): T => {
    assertSound()
    begin(session)
    session.isDirty = false
    const group = session.lastGroup + 1
    let result: T
    try {
      result = work()
      // Nothing changed, nothing to flush: refusals are returned without a write.
      if (session.isDirty) {
        if (!session.keys.finish(group, now)) session.sql.noteGroup.run(group, now)
      }
    } catch (error) {
      undo(session)
      session.keys.revert()
      throw error
    }
    try {
      runCommit(() => session.sql.commit.run())
    } catch (error) {
      if (isSyncFailure(error)) stopForGood(error)
      settle(session, group, error)
    }
    if (session.isDirty) {
      session.lastGroup = group
      session.lastAt = now
      options.noteGroup?.(group)
    }
    return result
  }

  // A later flush may succeed although pages of this one never reach the disk: the system reports the failure once and may forget
  // the pages. Only a new process, which writes the log again from what it can read, knows what it has (DU4).
  const stopForGood = (error: unknown): never => {
    broken = toStoreError(error, 'indeterminate') as StoreError
    try {
      if (db.isTransaction) session.sql.rollback.run()
    } catch {
      // Nothing is written any more, whatever state the transaction is in.
    }
    throw broken
  }
  const assertSound = () => {
    if (broken !== null) throw new StoreError(broken.code, broken.message, { cause: broken.cause })
  }

  const transactAgain = <T>(now: Instant, work: () => T): T => {
    try {
      return transact(now, work)
    } catch (error) {
      if (!(error instanceof NotCommitted)) throw error
      return transact(now, work)
    }
  }

  const alone = (now: Instant, commit: Commit): CommitOutcome => {
    try {
      return transact(now, () => applyCommit(session, now, commit))
    } catch (error) {
      return { ok: 'failed', error: translate(error) }
    }
  }

  const answer = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw translate(error)
    }
  }

  const applyAll = (now: Instant, commits: readonly Commit[]): readonly CommitResult[] =>
    commits.map((commit) => applyCommit(session, now, commit))

  const commit: Executor['commit'] = (now, commits) => {
    try {
      return transact(now, () => applyAll(now, commits))
    } catch (error) {
      // The check was impossible, or the database cannot be written at all: one more attempt per commit would not help.
      if (error instanceof StoreError) return failedAll(commits, error)
      return commits.map((commit) => alone(now, commit))
    }
  }

  const claim: Executor['claim'] = (now, request) =>
    answer(() => claimWork(now, request, (work) => transactAgain(now, work)))

  const byItself = (now: Instant, one: Asked): Answered => {
    if ('commits' in one) return { outcomes: commit(now, one.commits) }
    try {
      return { claimed: claim(now, one.claim) }
    } catch (error) {
      return { error }
    }
  }

  const together: Executor['together'] = (now, asked) => {
    const apply = (one: Asked): Answered =>
      'commits' in one
        ? { outcomes: applyAll(now, one.commits) }
        : { claimed: claimWork(now, one.claim, (work) => work()) }
    try {
      if (asked.length > 1) return transact(now, () => asked.map(apply))
    } catch (error) {
      if (error instanceof StoreError)
        return asked.map((one) =>
          'commits' in one ? { outcomes: failedAll(one.commits, error) } : { error },
        )
    }
    return asked.map((one) => byItself(now, one))
  }

  return {
    get lastAt() {
      return session.lastAt
    },
    get lastGroup() {
      return session.lastGroup
    },
    assertSound,
    commit,
    claim,
    together,
    join: (now, node, ttlMs) => answer(() => transactAgain(now, () => joinNode(now, node, ttlMs))),
    renew: (now, owner, ttlMs) => answer(() => transactAgain(now, () => renewIncarnation(now, owner, ttlMs))),
    reclaim: (now, limit) => answer(() => transactAgain(now, () => reclaimWork(now, limit))),
    leave: (now, owner) => answer(() => transactAgain(now, () => leaveNode(now, owner))),
    prune: (now, request) =>
      answer(() => pruneRows(session, now, request, (work) => transactAgain(now, work))),
    ledger: (tenant, key) => answer(() => readLedger(session, tenant, key)),
    ledgerHistory: (tenant, key) => answer(() => readLedgerHistory(session, tenant, key)),
    prepareSome: () => broken === null && !session.isStale && session.keys.prepareSome(),
    fenceAll: (now) => answer(() => transactAgain(now, () => fence.all())),
  }
}

function failedAll(commits: readonly Commit[], error: StoreError): readonly CommitOutcome[] {
  return commits.map(() => ({ ok: 'failed', error }))
}

/** If a database cannot even begin, the commits of the group are not tried one by one. */
function begin(session: Session): void {
  try {
    if (session.isStale) {
      undo(session)
      recallKeys(session)
    }
    // First, since it reads: a read that fails inside a transaction can roll the whole of it back, and each statement of the group would
    // then commit alone. There is one writer, so that it sees what the transaction will see.
    session.keys.begin()
    session.sql.begin.run()
  } catch (error) {
    throw toStoreError(error, 'no')
  }
}

/** Rolls the open transaction back, and what the session learnt in it. */
function undo(session: Session): void {
  session.isStale = true
  if (session.db.isTransaction) session.sql.rollback.run()
  recall(session)
  session.isStale = false
}

/** After COMMIT threw: returns if the transaction took effect all the same. */
function settle(session: Session, group: number, error: unknown): void {
  let isThere: boolean
  try {
    undo(session)
    isThere = session.lastGroup === group
  } catch (cause) {
    throw new StoreError('unavailable', 'the database failed in COMMIT and could not be read afterwards', {
      cause,
      applied: 'indeterminate',
    })
  }
  if (isThere) return
  session.keys.revert()
  throw new NotCommitted(error)
}

function translate(error: unknown): unknown {
  return toStoreError(error instanceof NotCommitted ? error.cause : error, 'no')
}
