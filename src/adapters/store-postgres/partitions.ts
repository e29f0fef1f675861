// The partitions of events, attempts and history: made ahead of time, and read from the catalogue.

import { type Pool, prepare, type Statement, sendAll } from './connection.ts'
import { classifyError, isGone } from './errors.ts'

/** Ids from `lower` on, or from the very first, below `upper`. */
export interface Partition {
  readonly name: string
  readonly lower: string | null
  readonly upper: string
}

export type PartitionedTable = 'event' | 'attempt' | 'history'

/** Made when a node starts and whenever retention walks, which is many times a week. */
const WEEKS_AHEAD = 2

/**
 * This week's and those ahead. Nothing depends on it at once: what finds no partition goes to the default one. So whatever
 * stands in its way is left to the next time.
 */
export async function makePartitions(pool: Pool, schema: string): Promise<void> {
  const sql = `SELECT ${schema}.make_partitions(floor(extract(epoch FROM clock_timestamp()) * 1000)::int8, $1::int)`
  try {
    await pool.query(prepare(sql, [1 + WEEKS_AHEAD]))
  } catch (error) {
    const failure = classifyError(error)
    if (failure !== 'busy' && failure !== 'again') throw error
  }
}

/** The eldest first, without the default ones. */
export async function listPartitions(
  pool: Pool,
  schema: string,
): Promise<Readonly<Record<PartitionedTable, readonly Partition[]>>> {
  const { rows } = await pool.query(
    prepare(
      `SELECT p.parent, p.name, p.lower, p.upper FROM ${schema}.partition AS p WHERE p.upper IS NOT NULL ORDER BY p.upper`,
    ),
  )
  const of = (table: PartitionedTable) => rows.filter(({ parent }) => parent === table)
  return { event: of('event'), attempt: of('attempt'), history: of('history') }
}

export function isIn(partition: Partition | undefined, id: string): boolean {
  return partition !== undefined && id >= (partition.lower ?? '') && id < partition.upper
}

/** How long everybody may have to wait behind whoever waits for a whole table. */
const LOCK_WAIT = '200ms'
/** How long everybody may have to wait while it is looked at. */
const CHECK_WAIT = '2s'

/**
 * Drops a partition if `isFree` answers true, which is asked while nobody has the table in hand. `busy` if somebody has it for
 * longer than everybody else should wait, or if the answer takes too long.
 */
export async function dropPartition(
  pool: Pool,
  schema: string,
  table: PartitionedTable,
  partition: Partition,
  isFree: Statement,
): Promise<'dropped' | 'busy' | 'needed'> {
  const client = await pool.connect()
  try {
    const answers = await sendAll(client, [
      prepare('BEGIN'),
      prepare("SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true)", [
        LOCK_WAIT,
        CHECK_WAIT,
      ]),
      prepare(`LOCK TABLE ONLY ${schema}.${table} IN ACCESS EXCLUSIVE MODE`),
      prepare(`LOCK TABLE ${schema}.${partition.name} IN ACCESS EXCLUSIVE MODE`),
      isFree,
    ])
    if (answers.at(-1)?.rows[0]?.free !== true) return 'needed'
    await sendAll(client, [
      prepare(`ALTER TABLE ${schema}.${table} DETACH PARTITION ${schema}.${partition.name}`),
      prepare(`DROP TABLE ${schema}.${partition.name}`),
      prepare('COMMIT'),
    ])
    return 'dropped'
  } catch (error) {
    // Another node may have dropped it first.
    if (classifyError(error) === 'busy' || isGone(error)) return 'busy'
    throw error
  } finally {
    // With its transaction, and with statements that nobody will use again.
    client.release(true)
  }
}
