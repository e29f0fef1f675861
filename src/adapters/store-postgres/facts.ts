// The retention of facts in PostgreSQL.

import { type Pruned, pruneFactsEnd } from '../../core/store/retention/index.ts'
import { prepare } from './connection.ts'
import { escapeText, makeArray } from './parameters.ts'
import type { Walking } from './prune/prune-instances.ts'

/** Facts past their time, in the order of their ids. Nothing changes a fact, so that none is locked. */
export async function pruneFacts(
  { pool, schema, request, now }: Walking,
  after: string,
  max: number,
): Promise<Pick<Pruned, 'facts'> & { readonly seen: number; readonly last: string | null }> {
  const { factMs } = request
  if (factMs === undefined) return { facts: 0, seen: 0, last: null }
  const tenant = escapeText(request.tenant)
  const { rows } = await pool.query(
    prepare(
      `SELECT t.id, t.created_at <= $2::int8 AS "isOver" FROM ${schema}.fact AS t WHERE t.tenant = $1::text ` +
        'AND t.id > $3::text AND t.id < $4::text ORDER BY t.id LIMIT $5::int8',
      [tenant, now - factMs, escapeText(after), pruneFactsEnd(factMs, now), max + 1],
    ),
  )
  const seen = rows.slice(0, max)
  const over = seen.filter((row) => row.isOver).map((row) => row.id)
  const last = rows.length > seen.length ? (seen.at(-1)?.id ?? after) : null
  if (over.length === 0) return { facts: 0, seen: seen.length, last }
  const { rowCount } = await pool.query(
    prepare(
      `WITH going AS MATERIALIZED (SELECT t.tenant, t.id FROM ${schema}.fact AS t WHERE t.tenant = $1::text ` +
        'AND t.id = ANY ($2::text[]) ORDER BY t.id FOR UPDATE SKIP LOCKED) ' +
        `DELETE FROM ${schema}.fact AS d USING going AS g WHERE d.tenant = g.tenant AND d.id = g.id`,
      [tenant, makeArray('text', over)],
    ),
  )
  return { facts: rowCount ?? 0, seen: seen.length, last }
}
