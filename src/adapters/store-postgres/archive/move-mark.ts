// Marks a schema as the target of a move: no node starts on half of a store.
//
// The migration looks for the mark under the schema's lock, which setting the mark takes too. A node may have looked
// before that, so a join looks once more, under the lock of joins: setting and clearing the mark takes both.

import type { PoolClient } from 'pg'
import { StoreError } from '../../../ports/store.ts'

type Client = Pick<PoolClient, 'query'>

export interface MoveMark {
  readonly source: string
  readonly isFinished: boolean
}

/** Apart from the numbered steps: a schema that was never moved into has no such table. */
const MARK = (schema: string) => `
CREATE TABLE IF NOT EXISTS ${schema}.move (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  source text NOT NULL,
  began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz
)`

export async function readMark(client: Client, schema: string): Promise<MoveMark | null> {
  const there = await client.query('SELECT to_regclass($1) IS NOT NULL AS there', [`${schema}.move`])
  if (there.rows[0].there !== true) return null
  const { rows } = await client.query(
    `SELECT source, finished_at IS NOT NULL AS "isFinished" FROM ${schema}.move`,
  )
  return rows[0] ?? null
}

/** Until the end of the transaction. Joins come one after the other, and none while this is held. */
export async function lockJoins(client: Client, schema: string): Promise<void> {
  const there = await client.query('SELECT to_regclass($1) IS NOT NULL AS there', [`${schema}.incarnation`])
  if (there.rows[0].there !== true) return
  await client.query(`SELECT pg_advisory_xact_lock('${schema}.incarnation'::regclass::oid::int, 0)`)
}

/** Returns which move it is: another move sets the mark again. */
export async function layMark(client: Client, schema: string, source: string): Promise<string> {
  await client.query(MARK(schema))
  const { rows } = await client.query(
    `INSERT INTO ${schema}.move (source) VALUES ($1) ON CONFLICT (one) DO UPDATE
       SET source = excluded.source, began_at = clock_timestamp(), finished_at = NULL RETURNING began_at::text AS began`,
    [source],
  )
  return rows[0].began
}

/** False if another move has started since, or has ended. */
export async function finishMark(client: Client, schema: string, began: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `UPDATE ${schema}.move SET finished_at = clock_timestamp() WHERE finished_at IS NULL AND began_at::text = $1`,
    [began],
  )
  return rowCount === 1
}

export async function refuseHalfMoved(client: Client, schema: string): Promise<void> {
  const mark = await readMark(client, schema)
  if (mark === null || mark.isFinished) return
  throw new StoreError(
    'in_use',
    `schema ${schema} is what a move of ${mark.source} has brought so far, and that did not end: let it end, or ` +
      'begin it anew with millrace move --again',
  )
}
