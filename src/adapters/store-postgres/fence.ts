// Fencing: ends an incarnation for good.
//
// A transaction that acts for an incarnation holds its lock shared until it ends; the one that fences it holds it
// exclusively. So no transaction of a fenced incarnation can still be open once its fencing is known.

import type { LiveFunction } from './install-functions.ts'

export const SHARE_INCARNATIONS: LiveFunction = {
  name: 'share_incarnations',
  revision: 1,
  sql: `CREATE OR REPLACE FUNCTION {s}.share_incarnations(p_owners bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_owner bigint;
BEGIN
  FOR v_owner IN SELECT DISTINCT o FROM unnest(p_owners) AS k(o) ORDER BY o LOOP
    PERFORM pg_advisory_xact_lock_shared('{s}.incarnation'::regclass::oid::int, v_owner::int);
  END LOOP;
END $$`,
}

/** The same as one statement of a batch, in the order given. */
export function shareOwnersSql(schema: string): string {
  return `SELECT pg_advisory_xact_lock_shared('${schema}.incarnation'::regclass::oid::int, o::int) FROM unnest($1::int8[]) AS k(o)`
}

export const FENCE_INCARNATION: LiveFunction = {
  name: 'fence_incarnation',
  revision: 1,
  sql: `CREATE OR REPLACE FUNCTION {s}.fence_incarnation(p_owner bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock('{s}.incarnation'::regclass::oid::int, p_owner::int);
  UPDATE {s}.incarnation SET fenced = true WHERE id = p_owner AND NOT fenced;
END $$`,
}

export function fenceSql(schema: string): string {
  return `SELECT ${schema}.fence_incarnation($1::int8)`
}
