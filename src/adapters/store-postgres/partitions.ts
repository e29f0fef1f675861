// The partitions of events, attempts and history: created ahead of time, and read from the catalogue.

import { type Pool, prepare, type Statement, sendAll } from './connection.ts'
import { classifyError, isGone, isTooSlow } from './errors.ts'
import type { LiveFunction } from './install-functions.ts'

/** Ids from `lower` on, or from the very first, below `upper`. */
export interface Partition {
  readonly name: string
  readonly lower: string | null
  readonly upper: string
}

export type PartitionedTable = 'event' | 'attempt' | 'history'

/** Weeks begin on Monday 00:00 UTC. */
export const WEEK_OF: LiveFunction = {
  name: 'week_of',
  revision: 1,
  sql: `CREATE OR REPLACE FUNCTION {s}.week_of(p_at bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT floor((p_at - 345600000) / 604800000.0)::bigint * 604800000 + 345600000 $$`,
}

/** The smallest id that the instant can have. */
export const ID_AT: LiveFunction = {
  name: 'id_at',
  revision: 1,
  sql: `CREATE OR REPLACE FUNCTION {s}.id_at(p_prefix text, p_at bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT p_prefix || '_' || left(hex, 8) || '-' || right(hex, 4) FROM lpad(to_hex(p_at), 12, '0') AS hex $$`,
}

/**
 * Creates the partitions of this many weeks from an instant on, where there are none, and returns their names. A
 * partition is created apart and then attached, which blocks no user of another one; the default one is scanned, so it
 * is locked for a moment. A caller that waits too long for that leaves it for the next time. A week of which the
 * default partition has rows stays there.
 */
export const MAKE_PARTITIONS: LiveFunction = {
  name: 'make_partitions',
  revision: 1,
  sql: `CREATE OR REPLACE FUNCTION {s}.make_partitions(p_from bigint, p_weeks int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  v_table record;
  v_at bigint;
  v_name text;
  v_lower text;
  v_upper text;
BEGIN
  IF NOT pg_try_advisory_xact_lock('{s}.migration'::regclass::oid::int, 1) THEN
    RETURN;
  END IF;
  PERFORM set_config('lock_timeout', '200ms', true);
  FOR v_table IN
    SELECT * FROM (VALUES ('event', 'evt'), ('attempt', 'wrk'), ('history', 'ins')) AS t(name, prefix)
  LOOP
    FOR v_week IN 0 .. p_weeks - 1 LOOP
      v_at := {s}.week_of(p_from) + v_week * 604800000::bigint;
      v_lower := {s}.id_at(v_table.prefix, v_at);
      v_upper := {s}.id_at(v_table.prefix, v_at + 604800000);
      v_name := v_table.name || to_char(to_timestamp(v_at / 1000) AT TIME ZONE 'UTC', '"_"YYYYMMDD');
      CONTINUE WHEN to_regclass('{s}.' || v_name) IS NOT NULL OR EXISTS (
        SELECT FROM {s}.partition p
        WHERE p.parent = v_table.name AND p.upper > v_lower AND (p.lower IS NULL OR p.lower < v_upper)
      );
      BEGIN
        EXECUTE format('CREATE TABLE {s}.%I (LIKE {s}.%I INCLUDING ALL)', v_name, v_table.name);
        EXECUTE format('ALTER TABLE {s}.%I ATTACH PARTITION {s}.%I FOR VALUES FROM (%L) TO (%L)', v_table.name, v_name, v_lower, v_upper);
        RETURN NEXT v_name;
      EXCEPTION WHEN lock_not_available OR check_violation THEN
        NULL;
      END;
    END LOOP;
  END LOOP;
END $$`,
}

/** Created when a node starts and whenever retention walks, which is many times a week. */
const WEEKS_AHEAD = 2

/**
 * This week's and those ahead. Nothing depends on it at once: rows without a partition go to the default one. So a
 * failure is left to the next time.
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

/** Oldest first, without the default ones. */
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

/** How long other sessions may have to wait behind one that waits for a whole table. */
const LOCK_WAIT = '200ms'
/** How long other sessions may have to wait during the check whether the partition is still unneeded. */
const FREE_WAIT = '1s'

export interface DropChecks {
  /** Runs while no session can write to the partition and the others go on; it may read all of it. */
  readonly isWhole?: Statement
  /** Runs under an exclusive lock of the table, so an index must answer it. */
  readonly isFree: Statement
}

/**
 * Drops a partition if the checks return `free`. `busy` if a session holds the table for longer than the others should
 * wait; `needed` also if a check takes too long, as it would the next time.
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
      // This mode conflicts with itself: in a weaker one two nodes would wait for each other, and both fail.
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
    // With its transaction, and with statements that will not be used again.
    client.release(true)
  }
}
