// Marks a schema as one that a store is being moved into: no node starts on half of a store.

import type { PoolClient } from 'pg'
import { StoreError } from '../../ports/store.ts'

type Client = Pick<PoolClient, 'query'>

export interface MoveMark {
  readonly source: string
  readonly isFinished: boolean
}

/** Apart from the numbered steps: a schema that nobody moved into has no such table. */
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

export async function layMark(client: Client, schema: string, source: string): Promise<void> {
  await client.query(MARK(schema))
  await client.query(
    `INSERT INTO ${schema}.move (source) VALUES ($1) ON CONFLICT (one) DO UPDATE
       SET source = excluded.source, began_at = clock_timestamp(), finished_at = NULL`,
    [source],
  )
}

export async function finishMark(client: Client, schema: string): Promise<void> {
  await client.query(`UPDATE ${schema}.move SET finished_at = clock_timestamp()`)
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
