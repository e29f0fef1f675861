// Renewing: a living incarnation extends its lease; one whose lease expired is fenced.

import type { Store } from '../../ports/store.ts'
import { type Pool, prepare } from './connection.ts'
import type { LiveFunction } from './install-functions.ts'
import { queryAgain } from './retry.ts'

/** A lease never gets shorter: if two renewals overtake each other, the one for less time may come last. */
export const RENEW_INCARNATION: LiveFunction = {
  name: 'renew_incarnation',
  revision: 1,
  sql: `CREATE OR REPLACE FUNCTION {s}.renew_incarnation(p_owner bigint, p_ttl_ms bigint)
RETURNS TABLE (until bigint, now bigint) LANGUAGE plpgsql AS $$
BEGIN
  now := {s}.now_ms();
  UPDATE {s}.incarnation i SET until = greatest(i.until, renew_incarnation.now + p_ttl_ms)
    WHERE i.id = p_owner AND NOT i.fenced AND i.until > renew_incarnation.now
    RETURNING i.until INTO renew_incarnation.until;
  IF FOUND THEN
    RETURN NEXT;
  ELSE
    PERFORM {s}.fence_incarnation(p_owner);
  END IF;
END $$`,
}

export function makeRenew(pool: Pool, schema: string): Store['renew'] {
  const sql = `SELECT until, now FROM ${schema}.renew_incarnation($1::int8, $2::int8)`
  return async (owner, ttlMs) => {
    const [row] = await queryAgain(pool, prepare(sql, [owner, Math.ceil(ttlMs)]))
    return row === undefined ? 'fenced' : { until: row.until, now: row.now }
  }
}
