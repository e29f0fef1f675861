// Retention of ended instances, with their history.
//
// They are walked by their ids, up to those that are too young to have ended long enough ago: what stays behind is
// still active, so no index by their end is needed. A long history is removed in pieces, and its instance with the last
// of them.

import { CLOCK_MARGIN_MS } from '../../../core/events/event/index.ts'
import { instanceIdAt } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Pruned, PruneRequest } from '../../../core/store/retention/index.ts'
import { longestKeepMs } from '../../../core/store/retention/index.ts'
import { type Pool, prepare } from '../connection.ts'
import { escapeText, makeArray } from '../parameters.ts'
import type { TenantsIn } from './tenants-in.ts'

export interface Walking {
  readonly pool: Pool
  readonly schema: string
  readonly request: PruneRequest
  readonly now: Instant
  readonly tenantsIn: TenantsIn
}

interface Over {
  /** The instances to remove. */
  readonly ids: string[]
  /** Those whose history is removed here: the history of the others is dropped with its partition. */
  readonly told: string[]
  /**
   * The instance whose history is too long for this call: this many entries of it are removed, and the instance stays.
   */
  rest: { readonly id: string; readonly history: number } | null
}

/** Scans about `max` instances and entries from `after` on; `last` is the position if there are more. */
export async function pruneInstances(
  walking: Walking,
  after: string,
  max: number,
  hasLeft: (instance: string) => boolean,
): Promise<Pick<Pruned, 'instances' | 'history'> & { readonly seen: number; readonly last: string | null }> {
  const { pool, schema, request, now } = walking
  const until = now - longestKeepMs(request)
  const { rows } = await pool.query(
    prepare(
      'SELECT t.id, CASE WHEN t.ended_at <= $5::int8 THEN ' +
        `(SELECT count(*) FROM (SELECT 1 FROM ${schema}.history AS h WHERE h.tenant = t.tenant ` +
        'AND h.instance = t.id LIMIT $4::int8) AS counted) END AS history ' +
        `FROM ${schema}.instance AS t WHERE t.tenant = $1::text AND t.id > $2::text AND t.id < $3::text ` +
        'ORDER BY t.id LIMIT $4::int8',
      [escapeText(request.tenant), escapeText(after), instanceIdAt(until + CLOCK_MARGIN_MS), max + 1, until],
    ),
  )
  const over: Over = { ids: [], told: [], rest: null }
  let left = max
  let last = after
  let isMore = false
  for (const { id, history } of rows) {
    isMore = left <= 0
    if (isMore) break
    left -= 1
    if (history !== null && hasLeft(id)) over.ids.push(id)
    else if (history !== null) {
      isMore = history > left
      over.told.push(id)
      // At least one entry is removed, however small the limit: otherwise the walk would never advance.
      over.ids.push(id)
      if (isMore) over.rest = { id, history: Math.max(left, 1) }
      left -= Math.min(left, history)
      if (isMore) break
    }
    last = id
  }
  const gone =
    over.ids.length === 0 ? { instances: 0, history: 0 } : await deleteInstances(walking, until, over)
  return { ...gone, seen: max - left, last: isMore ? last : null }
}

/** Those that are still over, and that no other session holds. */
async function deleteInstances(
  { pool, schema, request }: Walking,
  until: Instant,
  { ids, told, rest }: Over,
): Promise<Pick<Pruned, 'instances' | 'history'>> {
  const { rows } = await pool.query(
    prepare(
      `WITH going AS MATERIALIZED (
         SELECT t.tenant, t.id FROM ${schema}.instance AS t WHERE t.tenant = $1::text AND t.id = ANY ($2::text[])
           AND t.state <> 'active' AND t.ended_at <= $3::int8 ORDER BY t.id FOR UPDATE SKIP LOCKED
       ), entries AS MATERIALIZED (
         SELECT h.tenant, h.instance, h.sequence FROM going AS g CROSS JOIN LATERAL (
           SELECT h.tenant, h.instance, h.sequence FROM ${schema}.history AS h
           WHERE h.tenant = g.tenant AND h.instance = g.id ORDER BY h.sequence
           LIMIT CASE WHEN g.id = $4::text THEN $5::int8 END) AS h
         WHERE g.id = ANY ($6::text[])
       ), history AS (
         DELETE FROM ${schema}.history AS d USING entries AS e
         WHERE d.tenant = e.tenant AND d.instance = e.instance AND d.sequence = e.sequence RETURNING 1
       ), gone AS (
         DELETE FROM ${schema}.instance AS d USING going AS g
         WHERE d.tenant = g.tenant AND d.id = g.id AND g.id IS DISTINCT FROM $4::text RETURNING 1
       )
       SELECT (SELECT count(*) FROM gone) AS instances, (SELECT count(*) FROM history) AS history`,
      [
        escapeText(request.tenant),
        makeArray('text', ids),
        until,
        rest === null ? null : escapeText(rest.id),
        rest?.history ?? null,
        makeArray('text', told),
      ],
    ),
  )
  return rows[0]
}
