// A group of commits: who runs it, and how to find out whether it committed when its response was lost.
//
// A group's id settles that: inserting the same id elsewhere waits for a transaction still in progress, finds the row if
// it committed, and otherwise takes the id, so that the lost transaction can never commit.

import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import type { Commit, CommitResult } from '../../../ports/store.ts'
import { type Pool, prepare, sendAll } from '../connection.ts'
import { classifyError, toStoreError } from '../errors.ts'
import type { Laneless } from './laneless.ts'

/** A commit that PostgreSQL refuses, such as one that adds an id twice. It wrote nothing. */
export interface BrokenCommit {
  readonly ok: 'broken'
  readonly error: unknown
}

export interface GroupDeps {
  readonly pool: Pool
  readonly schema: string
  /** How long to keep asking whether a COMMIT succeeded. */
  readonly settleWithinMs: number
  makeGroupId(): string
  /** Jobs that this node created or claimed and that are in no lane: settling them looks for none. */
  readonly laneless: Laneless
  /** False: every commit is executed with locks. */
  readonly canExpect: boolean
}

export type GroupRunner = (commits: readonly Commit[]) => Promise<readonly (CommitResult | BrokenCommit)[]>

/** The group with this id, if it committed. Once this returns null, it never will. */
export async function settleGroup(
  deps: Pick<GroupDeps, 'pool' | 'schema' | 'settleWithinMs'>,
  groupId: string,
  cause: unknown,
): Promise<{ readonly at: number | null } | null> {
  const { pool, schema } = deps
  const deadline = performance.now() + deps.settleWithinMs
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, 1_000)) {
    let client: PoolClient | undefined
    try {
      client = await pool.connect()
      const connected: PoolClient = client
      const [, found] = await sendAll(connected, [
        prepare(
          `INSERT INTO ${schema}.commit_group (id, applied) VALUES ($1::uuid, false) ON CONFLICT (id) DO NOTHING`,
          [groupId],
        ),
        prepare(`SELECT applied, at FROM ${schema}.commit_group WHERE id = $1::uuid`, [groupId]),
      ])
      connected.release()
      const row = found?.rows[0]
      return row?.applied === true ? { at: row.at } : null
    } catch (error) {
      const failure = classifyError(error)
      client?.release(failure === 'lost')
      const canWait = failure === 'lost' || failure === 'busy'
      if (!canWait || performance.now() + pauseMs > deadline) {
        throw toStoreError(new AggregateError([cause, error]), 'indeterminate')
      }
    }
    await sleep(pauseMs)
  }
}
