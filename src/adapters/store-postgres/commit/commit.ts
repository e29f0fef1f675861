// Executes one group of commits in one transaction, in two round trips whatever the group's size:
//   1. BEGIN, lock and read every row that the group names, read the clock;
//   2. write the rows that the decision changed, the group's id, COMMIT.
//
// Most commits accept an event or end a job, and their guards hold. Those are executed optimistically before that, in
// one round trip (optimistic-sql.ts), and with locks only if something is not as expected.
//
// Locks are taken in one order (owners, lanes, then table by table, each in the order of its keys), and rows are
// inserted in one order too, so groups of several nodes wait for each other but never in a circle. A job's lane never
// changes, so lanes are found by the rows of the jobs before those are locked, and the holder of a lane's lock knows
// which jobs wait in it. Absent rows cannot be locked: an insert that meets one after all fails the transaction, and
// the group is executed again.
//
// A connection lost before COMMIT was sent applied nothing. One lost after it is settled by the group's id (group.ts).

import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { assert } from '../../../core/foundation/errors/index.ts'
import type { Commit, CommitResult } from '../../../ports/store.ts'
import { type Answer, sendBatch } from '../batch.ts'
import { prepare, type Statement } from '../connection.ts'
import { classifyError, Overtaken, toStoreError, Unwritable } from '../errors.ts'
import { type Changes, hasChanges } from './changes.ts'
import { type GroupSql, makeGroupSql } from './commit-sql.ts'
import { decideGroup } from './decide.ts'
import { type BrokenCommit, type GroupDeps, type GroupRunner, settleGroup } from './group.ts'
import { collectKeys } from './keys.ts'
import { loadStatements, readLoaded } from './lock-rows.ts'
import { isOptimistic } from './optimistic.ts'
import { makeOptimisticRunner } from './optimistic-run.ts'
import { storeStatements } from './write-rows.ts'

const TRIES = 4
/**
 * Lost races for a row that does not exist yet, or deadlocks: the loser waits a little longer each time, so that the
 * winner can finish in between.
 */
const RACES = 12

export function makeGroupRunner(deps: GroupDeps): GroupRunner {
  const sql = makeGroupSql(deps.schema)

  /** The fate of one says nothing about the others: some of them may be applied by then. */
  const runAlone = (commit: Commit): ReturnType<GroupRunner> =>
    runGroup([commit]).catch((error) => [{ ok: 'broken', error }])

  /** One after the other, in order: some may share a lane or an escalation. */
  const runEach: GroupRunner = async (commits) => {
    const results: (CommitResult | BrokenCommit)[] = []
    for (const commit of commits) results.push(...(await runAlone(commit)))
    return results
  }

  const runGroup: GroupRunner = async (commits) => {
    for (let tried = 1; ; tried += 1) {
      const attempt = await tryGroup(deps, sql, commits)
      if (attempt.results) return attempt.results
      const failure = classifyError(attempt.error)
      if (failure === 'refused' || (failure === 'again' && tried >= RACES)) {
        // One commit of the group is at fault: run separately, the others succeed.
        if (commits.length > 1) return runEach(commits)
        return [{ ok: 'broken', error: toStoreError(attempt.error) }]
      }
      if (failure !== 'again' && (failure !== 'lost' || tried >= TRIES)) throw toStoreError(attempt.error)
      if (failure === 'lost') await sleep(20 * 4 ** tried)
      else if (tried > 2) await sleep(tried)
    }
  }

  const runOptimistic = makeOptimisticRunner(deps, runGroup)

  /** The fate of one part says nothing about the other one. */
  const runPart = (run: GroupRunner, commits: readonly Commit[]) =>
    run(commits).catch((error) => commits.map((): BrokenCommit => ({ ok: 'broken', error })))

  return async (commits) => {
    const isExpected = commits.map((commit) => deps.canExpect && isOptimistic(commit, deps.laneless.items))
    if (!isExpected.includes(true)) return runGroup(commits)
    if (!isExpected.includes(false)) return runOptimistic(commits)
    // Outbox rows are published in the order of the commits, so they stay in one transaction.
    if (commits.some(addsToOutbox)) return runGroup(commits)
    const [expected, others] = await Promise.all([
      runPart(
        runOptimistic,
        commits.filter((_, index) => isExpected[index]),
      ),
      runPart(
        runGroup,
        commits.filter((_, index) => !isExpected[index]),
      ),
    ])
    let [nextExpected, nextOther] = [0, 0]
    return isExpected.map(
      (is) => (is ? expected[nextExpected++] : others[nextOther++]) as CommitResult | BrokenCommit,
    )
  }
}

const addsToOutbox = ({ writes }: Commit) => writes.some(({ w }) => w === 'outbox.add')

type Attempt =
  | { readonly results: readonly CommitResult[] }
  /** Nothing was applied. */
  | { readonly results: null; readonly error: unknown }

async function tryGroup(deps: GroupDeps, sql: GroupSql, commits: readonly Commit[]): Promise<Attempt> {
  let client: PoolClient
  try {
    client = await deps.pool.connect()
  } catch (error) {
    return { results: null, error }
  }
  const groupId = deps.makeGroupId()
  const keys = collectKeys(commits, deps.laneless.items)
  let answers: readonly Answer[]
  try {
    answers = await sendBatch(client, loadStatements(sql, keys))
  } catch (error) {
    await release(client, error)
    return { results: null, error }
  }
  let results: readonly CommitResult[]
  let changes: Changes
  let statements: readonly Statement[] = []
  try {
    const loaded = readLoaded(keys, answers)
    const decision = decideGroup(commits, loaded)
    results = decision.results
    changes = decision.changes
    if (hasChanges(changes)) statements = storeStatements(sql, groupId, loaded, changes)
  } catch (error) {
    await release(client, null)
    if (error instanceof Overtaken) return { results: null, error }
    return { results: null, error: new Unwritable(String(error), { cause: error }) }
  }
  if (statements.length === 0) {
    await release(client, null)
    return { results }
  }
  try {
    const last = (await sendBatch(client, statements)).at(-1)
    assert(last?.command === 'COMMIT', 'the transaction of a group ends with COMMIT')
    client.release()
    deps.laneless.learn(changes.newWork.values())
    deps.laneless.forget(changes.work.values())
    return { results }
  } catch (error) {
    await release(client, error)
    const isApplied = classifyError(error) === 'lost' && (await settleGroup(deps, groupId, error)) !== null
    if (isApplied) return { results }
    return { results: null, error }
  }
}

/** Ends the transaction and returns the connection to the pool, or drops it if it cannot be trusted. */
async function release(client: PoolClient, error: unknown): Promise<void> {
  if (error !== null && classifyError(error) === 'lost') {
    client.release(true)
    return
  }
  await client.query(prepare('ROLLBACK')).then(
    () => client.release(),
    () => client.release(true),
  )
}
