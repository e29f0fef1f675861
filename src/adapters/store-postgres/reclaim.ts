// Reclaiming: incarnations whose lease expired are fenced, and the jobs that they had leased become ready again.

import type { WorkId } from '../../core/foundation/ids/index.ts'
import type { Store } from '../../ports/store.ts'
import { type Pool, prepare } from './connection.ts'
import type { LiveFunction } from './install-functions.ts'
import { queryAgain } from './retry.ts'

export const RECLAIM: LiveFunction = {
  name: 'reclaim',
  revision: 1,
  sql: `CREATE OR REPLACE FUNCTION {s}.reclaim(p_limit bigint) RETURNS TABLE (id text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := {s}.now_ms();
  v_owner bigint;
BEGIN
  FOR v_owner IN SELECT i.id FROM {s}.incarnation i WHERE NOT i.fenced AND i.until <= v_now ORDER BY i.id LOOP
    PERFORM {s}.fence_incarnation(v_owner);
  END LOOP;
  RETURN QUERY
    WITH lost AS MATERIALIZED (
      SELECT w.tenant, w.id FROM {s}.incarnation i JOIN {s}.work w ON w.owner = i.id
      WHERE i.fenced AND w.state = 'leased'
      ORDER BY w.id LIMIT p_limit FOR UPDATE OF w SKIP LOCKED
    ), given AS (
      UPDATE {s}.work w SET state = 'ready', owner = NULL, due_at = v_now, alone = true,
        losses = w.losses + CASE WHEN w.alone THEN 1 ELSE 0 END
      FROM lost l WHERE w.tenant = l.tenant AND w.id = l.id RETURNING w.id
    )
    SELECT g.id FROM given g ORDER BY g.id;
  -- A fenced incarnation that has nothing leased any more is not needed.
  DELETE FROM {s}.incarnation i
    WHERE i.fenced AND NOT EXISTS (SELECT FROM {s}.work w WHERE w.owner = i.id AND w.state = 'leased');
END $$`,
}

const KEPT_GROUPS = "interval '1 hour'"
const PRUNED_GROUPS = 10_000

export function makeReclaim(pool: Pool, schema: string): Store['reclaim'] {
  const reclaimSql = `SELECT id FROM ${schema}.reclaim($1::int8)`
  // Group ids settle a COMMIT whose response was lost, which takes minutes at most.
  const forgetGroupsSql =
    `DELETE FROM ${schema}.commit_group WHERE id IN (SELECT id FROM ${schema}.commit_group ` +
    `WHERE made_at < clock_timestamp() - ${KEPT_GROUPS} ORDER BY made_at LIMIT ${PRUNED_GROUPS} ` +
    'FOR UPDATE SKIP LOCKED)'
  return async (limit) => {
    const rows = await queryAgain(pool, prepare(reclaimSql, [limit]))
    await queryAgain(pool, prepare(forgetGroupsSql))
    return rows.map((row) => row.id as WorkId)
  }
}
