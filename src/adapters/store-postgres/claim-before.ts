// The claim of the version before, which nodes of it call during an upgrade. This version calls `claim_from` (claim.ts).

import type { LiveFunction } from './install-functions.ts'

export const CLAIM: LiveFunction = {
  name: 'claim',
  revision: 1,
  sql: `CREATE OR REPLACE FUNCTION {s}.claim(
  p_group uuid, p_owner bigint, p_tenants text[], p_consumers text[], p_slot_max bigint[], p_slot_limit bigint[],
  p_max bigint, p_max_alone bigint, p_codes text[]
) RETURNS TABLE (item {s}.work, event {s}.event, next_due_at bigint, now bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_now bigint;
  v_left bigint := p_max;
  v_isolated_left bigint := p_max_alone;
  v_lock int;
  v_slot record;
  v_room bigint;
  v_taken record;
  v_ids text[] := '{}';
  v_next bigint;
BEGIN
  PERFORM {s}.share_incarnations(ARRAY[p_owner]);
  FOR v_lock IN
    SELECT DISTINCT hashtext(k.tenant || ' ' || k.consumer) AS number
    FROM unnest(p_tenants, p_consumers, p_slot_limit) AS k(tenant, consumer, slot_limit)
    WHERE k.slot_limit IS NOT NULL ORDER BY number
  LOOP
    PERFORM pg_advisory_xact_lock('{s}.work'::regclass::oid::int, v_lock);
  END LOOP;
  v_now := {s}.now_ms();
  IF EXISTS (SELECT FROM {s}.incarnation i WHERE i.id = p_owner AND NOT i.fenced AND i.until > v_now) THEN
    FOR v_slot IN
      SELECT k.tenant, k.consumer, k.slot_max, k.slot_limit
      FROM unnest(p_tenants, p_consumers, p_slot_max, p_slot_limit)
        WITH ORDINALITY AS k(tenant, consumer, slot_max, slot_limit, position)
      WHERE v_now >= (
        SELECT w.due_at FROM {s}.work w
        WHERE w.tenant = k.tenant AND w.consumer = k.consumer AND w.state = 'ready' AND w.alone = false
        ORDER BY w.due_at, w.id LIMIT 1
      ) OR v_now >= (
        SELECT w.due_at FROM {s}.work w
        WHERE w.tenant = k.tenant AND w.consumer = k.consumer AND w.state = 'ready' AND w.alone = true
        ORDER BY w.due_at, w.id LIMIT 1
      )
      ORDER BY k.position
    LOOP
      EXIT WHEN v_left <= 0;
      v_room := least(v_slot.slot_max, v_left);
      IF v_slot.slot_limit IS NOT NULL THEN
        v_room := least(v_room, v_slot.slot_limit - (
          SELECT count(*) FROM (
            SELECT FROM {s}.work w
            WHERE w.tenant = v_slot.tenant AND w.consumer = v_slot.consumer AND w.state = 'leased'
            LIMIT greatest(v_slot.slot_limit, 0)
          ) AS in_hand
        ));
      END IF;
      CONTINUE WHEN v_room <= 0;
      FOR v_taken IN
        WITH isolated AS MATERIALIZED (
          SELECT w.tenant, w.id, w.event_id, w.due_at FROM {s}.work w
          WHERE w.tenant = v_slot.tenant AND w.consumer = v_slot.consumer AND w.state = 'ready'
            AND w.alone = true AND w.losses > 0 AND w.due_at <= v_now
            AND (w.code_hash IS NULL OR w.code_hash = ANY (p_codes))
          ORDER BY w.due_at, w.id LIMIT v_isolated_left FOR UPDATE SKIP LOCKED
        ), interrupted AS MATERIALIZED (
          SELECT w.tenant, w.id, w.event_id, w.due_at FROM {s}.work w
          WHERE w.tenant = v_slot.tenant AND w.consumer = v_slot.consumer AND w.state = 'ready'
            AND w.alone = true AND w.losses = 0 AND w.due_at <= v_now
            AND (w.code_hash IS NULL OR w.code_hash = ANY (p_codes))
          ORDER BY w.due_at, w.id LIMIT v_room FOR UPDATE SKIP LOCKED
        ), fresh AS MATERIALIZED (
          SELECT w.tenant, w.id, w.event_id, w.due_at FROM {s}.work w
          WHERE w.tenant = v_slot.tenant AND w.consumer = v_slot.consumer AND w.state = 'ready'
            AND w.alone = false AND w.due_at <= v_now AND (w.code_hash IS NULL OR w.code_hash = ANY (p_codes))
          ORDER BY w.due_at, w.id LIMIT v_room FOR UPDATE SKIP LOCKED
        ), chosen AS MATERIALIZED (
          SELECT b.tenant, b.id, v.event
          FROM (
            SELECT * FROM (
              SELECT * FROM isolated UNION ALL SELECT * FROM interrupted UNION ALL SELECT * FROM fresh
            ) AS all_kinds
            ORDER BY due_at, id LIMIT v_room
          ) AS b
          CROSS JOIN LATERAL (
            SELECT e AS event FROM {s}.event e WHERE e.tenant = b.tenant AND e.id = b.event_id LIMIT 1
          ) AS v
        ), taken AS (
          UPDATE {s}.work w SET state = 'leased', owner = p_owner, epoch = w.epoch + 1
          FROM chosen c WHERE w.tenant = c.tenant AND w.id = c.id
          RETURNING w AS item, c.event, w.id, w.due_at, w.alone AND w.losses > 0 AS is_isolated
        )
        SELECT * FROM taken t ORDER BY t.due_at, t.id
      LOOP
        v_left := v_left - 1;
        IF v_taken.is_isolated THEN
          v_isolated_left := v_isolated_left - 1;
        END IF;
        v_ids := v_ids || v_taken.id::text;
        item := v_taken.item;
        event := v_taken.event;
        now := v_now;
        RETURN NEXT;
      END LOOP;
    END LOOP;
    SELECT min(d.due_at) INTO v_next
      FROM unnest(p_tenants, p_consumers) AS k(tenant, consumer)
      CROSS JOIN (VALUES (false), (true)) AS a(alone)
      CROSS JOIN LATERAL (
        SELECT w.due_at FROM {s}.work w
        WHERE w.tenant = k.tenant AND w.consumer = k.consumer AND w.state = 'ready' AND w.alone = a.alone
          AND (w.code_hash IS NULL OR w.code_hash = ANY (p_codes))
        ORDER BY w.due_at LIMIT 1
      ) AS d;
    IF cardinality(v_ids) > 0 THEN
      INSERT INTO {s}.commit_group (id, applied, claimed) VALUES (p_group, true, v_ids);
    END IF;
  END IF;
  item := NULL;
  event := NULL;
  next_due_at := v_next;
  now := v_now;
  RETURN NEXT;
END $$`,
}
