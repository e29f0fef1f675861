// The partitions of events, attempts and history: made ahead of time, and read from the catalogue.

import { type Pool, prepare, type Statement, sendAll } from './connection.ts'
import { classifyError, isGone, isTooSlow } from './errors.ts'

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
/** How long everybody may have to wait while it is looked whether the partition is still free. */
const FREE_WAIT = '1s'

export interface DropChecks {
  /** Asked while nobody can write to the partition and everybody works on; it may read all of it. */
  readonly isWhole?: Statement
  /** Asked while nobody has the table in hand, so it has to be found by an index. */
  readonly isFree: Statement
}

/**
 * Drops a partition if the checks answer `free`. `busy` if somebody has the table for longer than everybody else should wait;
 * `needed` also if a check takes too long, as it would the next time.
 */
export async function dropPartition(
  pool: Pool,
  schema: string,
  table: PartitionedTable,
  partition: Partition,
  { isWhole, isFree }: DropChecks,
): Promise<'dropped' | 'busy' | 'needed'> {
  const client = await pool.connect()
  const isTrue = async (statements: readonly Statement[]) =>
    (await sendAll(client, statements)).at(-1)?.rows[0]?.free === true
  try {
    await sendAll(client, [
      prepare('BEGIN'),
      prepare("SELECT set_config('lock_timeout', $1, true)", [LOCK_WAIT]),
    ])
    if (isWhole !== undefined) {
      // Its own kind waits for it too: two nodes that wait for each other would both come away with nothing.
      const lock = prepare(`LOCK TABLE ${schema}.${partition.name} IN SHARE ROW EXCLUSIVE MODE`)
      const read = prepare("SELECT set_config('enable_seqscan', 'on', true)")
      if (!(await isTrue([lock, read, isWhole]))) return 'needed'
    }
    const isStillFree = await isTrue([
      prepare("SELECT set_config('statement_timeout', $1, true), set_config('enable_seqscan', 'off', true)", [
        FREE_WAIT,
      ]),
      prepare(`LOCK TABLE ONLY ${schema}.${table} IN ACCESS EXCLUSIVE MODE`),
      prepare(`LOCK TABLE ${schema}.${partition.name} IN ACCESS EXCLUSIVE MODE`),
      isFree,
    ])
    if (!isStillFree) return 'needed'
    await sendAll(client, [
      prepare(`ALTER TABLE ${schema}.${table} DETACH PARTITION ${schema}.${partition.name}`),
      prepare(`DROP TABLE ${schema}.${partition.name}`),
      prepare('COMMIT'),
    ])
    return 'dropped'
  } catch (error) {
    if (isTooSlow(error)) return 'needed'
    // Another node may have dropped it first.
    if (classifyError(error) === 'busy' || isGone(error)) return 'busy'
    throw error
  } finally {
    // With its transaction, and with statements that nobody will use again.
    client.release(true)
  }
}
