// Joining: a node starts a new incarnation, and ends its earlier ones. Refused while a store is moved into the schema.

import type { NodeId } from '../../core/foundation/ids/index.ts'
import type { Store } from '../../ports/store.ts'
import { lockJoins, refuseHalfMoved } from './archive/move-mark.ts'
import { type Pool, prepare } from './connection.ts'
import type { LiveFunction } from './install-functions.ts'
import { retry } from './retry.ts'

export const JOIN_NODE: LiveFunction = {
  name: 'join_node',
  revision: 1,
  sql: `CREATE OR REPLACE FUNCTION {s}.join_node(p_node text, p_ttl_ms bigint)
RETURNS TABLE (owner bigint, until bigint, now bigint) LANGUAGE plpgsql AS $$
DECLARE
  v_earlier bigint;
BEGIN
  -- No incarnation has the number 0: joins come one after the other.
  PERFORM pg_advisory_xact_lock('{s}.incarnation'::regclass::oid::int, 0);
  FOR v_earlier IN SELECT i.id FROM {s}.incarnation i WHERE i.node = p_node AND NOT i.fenced ORDER BY i.id LOOP
    PERFORM {s}.fence_incarnation(v_earlier);
  END LOOP;
  now := {s}.now_ms();
  until := now + p_ttl_ms;
  INSERT INTO {s}.incarnation (node, until) VALUES (p_node, join_node.until) RETURNING id INTO owner;
  RETURN NEXT;
END $$`,
}

export function makeJoin(pool: Pool, schema: string): Store['join'] {
  return (node, ttlMs) => retry(() => joinUnlessHalfMoved(pool, schema, node, Math.ceil(ttlMs)))
}

/** A node that opened the store before the move started has already passed the check on opening. */
async function joinUnlessHalfMoved(
  pool: Pool,
  schema: string,
  node: NodeId,
  ttlMs: number,
): ReturnType<Store['join']> {
  const client = await pool.connect()
  try {
    await client.query(prepare('BEGIN'))
    await lockJoins(client, schema)
    await refuseHalfMoved(client, schema)
    const { rows } = await client.query(
      prepare(`SELECT owner, until, now FROM ${schema}.join_node($1::text, $2::int8)`, [node, ttlMs]),
    )
    await client.query(prepare('COMMIT'))
    client.release()
    return rows[0]
  } catch (error) {
    // With its transaction.
    client.release(true)
    throw error
  }
}
