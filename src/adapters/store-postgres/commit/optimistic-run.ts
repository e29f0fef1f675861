// Executes a group of commits optimistically: one call, one round trip, one transaction; with locks if something is not
// as expected.

import type { Buffer } from 'node:buffer'
import type { PoolClient } from 'pg'
import type { Commit } from '../../../ports/store.ts'
import { nameInBatch, sendBatch } from '../batch.ts'
import { assertIdle, prepare } from '../connection.ts'
import { classifyError, toStoreError } from '../errors.ts'
import { type GroupDeps, type GroupRunner, settleGroup } from './group.ts'
import { bindOptimistic, type Expected, expect, expectedResults } from './optimistic.ts'
import { optimisticSql } from './optimistic-sql.ts'

/**
 * A group that is not as expected costs one call more. Where that happens often, such as with a sender that repeats
 * everything, only one group in this many is tried optimistically.
 */
const SKIPPED_MAX = 64
/**
 * When the database goes away, the groups under way ask for this long whether they were applied, and the commits behind
 * them wait. After that their outcome is unknown, and their callers commit again under the same guards: whichever of the
 * two comes first is applied, the other one meets its rows and changes nothing.
 */
const SETTLE_WITHIN_MAX_MS = 10_000

/** Messages are as long as groups: memory for each of them, outside of the heap, had the collector run for nothing else. */
const SPARES_MAX = 2
const SPARE_BYTES_MAX = 1024 * 1024

export function makeOptimisticRunner(deps: GroupDeps, runWithLocks: GroupRunner): GroupRunner {
  const call = prepare(optimisticSql(deps.schema))
  const name = nameInBatch(call.name)
  const settleWithinMs = Math.min(deps.settleWithinMs, SETTLE_WITHIN_MAX_MS)
  /** How many groups to execute with locks, and how many the next failure adds. */
  let toSkip = 0
  let skips = 0
  const spares: Buffer[] = []

  /** The instant of the group, or null if nothing was applied. */
  const tryCall = async (expected: Expected): Promise<number | null> => {
    const groupId = deps.makeGroupId()
    let message: ReturnType<typeof bindOptimistic>
    let client: PoolClient
    try {
      // A value that cannot be written, or no connection: the runner with locks reports it, commit by commit.
      message = bindOptimistic(name, groupId, expected, spares.pop())
      client = await deps.pool.connect()
    } catch {
      return null
    }
    try {
      const [answer] = await sendBatch(client, [{ ...call, bind: message.bind }])
      assertIdle(client)
      client.release()
      // Answered, so the server has read all of it. After an error a part may still wait in the socket.
      if (spares.length < SPARES_MAX && message.bytes.length <= SPARE_BYTES_MAX) spares.push(message.bytes)
      return answer?.rows[0].now ?? null
    } catch (error) {
      const failure = classifyError(error)
      client.release(failure === 'lost')
      if (failure === 'busy' || failure === 'corrupt') throw toStoreError(error)
      if (failure !== 'lost') return null
      return (await settleGroup({ ...deps, settleWithinMs }, groupId, error))?.at ?? null
    }
  }

  const tryGroup = async (commits: readonly Commit[]) => {
    const expected = expect(commits)
    const at = await tryCall(expected)
    if (at === null) return null
    for (const { tenant, write } of expected.adds) deps.laneless.add(tenant, write.work.id)
    for (const { tenant, write } of expected.settles)
      if (write.w === 'work.settle') deps.laneless.remove(tenant, write.work)
    return expectedResults(commits, at)
  }

  return async (commits) => {
    if (toSkip > 0) {
      toSkip -= 1
      return runWithLocks(commits)
    }
    const results = await tryGroup(commits)
    skips = results === null ? Math.min(SKIPPED_MAX, 1 + 2 * skips) : 0
    toSkip = skips
    return results ?? runWithLocks(commits)
  }
}
