// Integration runs in PostgreSQL: their row, the filters of their list, and their retention.

import { RUN_PURPOSES, RUN_STATES, type Run } from '../../core/effects/integration-run/index.ts'
import { attemptsText } from '../../core/store/commit/index.ts'
import type { Pruned } from '../../core/store/retention/index.ts'
import { longestKeepMs, pruneRunsEnd } from '../../core/store/retention/index.ts'
import type { TenantReads } from '../../ports/store.ts'
import { prepare } from './connection.ts'
import { escapeText, makeArray } from './parameters.ts'
import type { Walking } from './prune/prune-instances.ts'

export function shapeRun(row: Run): object {
  return { ...row, attempts: attemptsText(row.attempts) }
}

export function readRun(row: Readonly<Record<string, unknown>>): Run {
  return { ...row, attempts: JSON.parse(row.attempts as string) } as unknown as Run
}

/** Written as literals: a generic plan for any state or purpose could not use a partial index. */
export function runsWhere({ state, purpose }: Parameters<TenantReads['runs']>[0]): string {
  const states = RUN_STATES.filter((name) => name === state).map((name) => `t.state = '${name}'`)
  const purposes = RUN_PURPOSES.filter((name) => name === purpose).map((name) =>
    name === 'work' ? "t.purpose = 'work'" : `t.purpose = '${name}' AND t.purpose <> 'work'`,
  )
  return [...states, ...purposes].join(' AND ') || 'true'
}

/** Runs without a job that were untouched for as long as any event is stored. */
export async function pruneRuns(
  { pool, schema, request, now }: Walking,
  after: string,
  max: number,
): Promise<Pick<Pruned, 'runs'> & { readonly seen: number; readonly last: string | null }> {
  const until = now - longestKeepMs(request)
  const isOver =
    't.updated_at <= $2::int8 AND (t.work_id IS NULL OR NOT EXISTS ' +
    `(SELECT FROM ${schema}.work AS w WHERE w.tenant = t.tenant AND w.id = t.work_id))`
  const tenant = escapeText(request.tenant)
  const { rows } = await pool.query(
    prepare(
      `SELECT t.id, ${isOver} AS "isOver" FROM ${schema}.run AS t WHERE t.tenant = $1::text ` +
        'AND t.id > $3::text AND t.id < $4::text ORDER BY t.id LIMIT $5::int8',
      [tenant, until, escapeText(after), pruneRunsEnd(request, now), max + 1],
    ),
  )
  const seen = rows.slice(0, max)
  const over = seen.filter((row) => row.isOver).map((row) => row.id)
  const last = rows.length > seen.length ? (seen.at(-1)?.id ?? after) : null
  if (over.length === 0) return { runs: 0, seen: seen.length, last }
  const { rowCount } = await pool.query(
    prepare(
      `WITH going AS MATERIALIZED (SELECT t.tenant, t.id FROM ${schema}.run AS t WHERE t.tenant = $1::text ` +
        `AND t.id = ANY ($3::text[]) AND ${isOver} ORDER BY t.id FOR UPDATE OF t SKIP LOCKED) ` +
        `DELETE FROM ${schema}.run AS d USING going AS g WHERE d.tenant = g.tenant AND d.id = g.id`,
      [tenant, until, makeArray('text', over)],
    ),
  )
  return { runs: rowCount ?? 0, seen: seen.length, last }
}
