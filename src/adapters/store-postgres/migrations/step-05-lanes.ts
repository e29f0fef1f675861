// Step 5: lanes, generations of effects, failures and escalations. Released: never changed.
//
// A lane is looked up by a hash, as all keys made from a payload are; its jobs carry the hash beside the key. The earlier generations of a
// ledger key are in a table of their own: the row of a key stays the one that commits lock.

/** Step 10 creates the function again, word for word: its rows are those of the table of events, which that step replaces. */
export const CLAIM_WITH_LIMITS = `CREATE FUNCTION {s}.claim(
  p_group uuid, p_owner bigint, p_tenants text[], p_consumers text[], p_slot_max bigint[], p_slot_limit bigint[],
  p_max bigint, p_max_alone bigint, p_codes text[]
) RETURNS TABLE (item {s}.work, event {s}.event, next_due_at bigint, now bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_now bigint;
  v_left bigint := p_max;
  v_alone_left bigint := p_max_alone;
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
      WHERE EXISTS (
        SELECT FROM {s}.work w WHERE w.tenant = k.tenant AND w.consumer = k.consumer AND w.state = 'ready'
          AND w.alone IN (false, true) AND w.due_at <= v_now
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
        WITH lone AS MATERIALIZED (
          SELECT w.tenant, w.id, w.event_id, w.due_at FROM {s}.work w
          WHERE w.tenant = v_slot.tenant AND w.consumer = v_slot.consumer AND w.state = 'ready'
            AND w.alone = true AND w.due_at <= v_now AND (w.code_hash IS NULL OR w.code_hash = ANY (p_codes))
          ORDER BY w.due_at, w.id LIMIT v_alone_left FOR UPDATE SKIP LOCKED
        ), fresh AS MATERIALIZED (
          SELECT w.tenant, w.id, w.event_id, w.due_at FROM {s}.work w
          WHERE w.tenant = v_slot.tenant AND w.consumer = v_slot.consumer AND w.state = 'ready'
            AND w.alone = false AND w.due_at <= v_now AND (w.code_hash IS NULL OR w.code_hash = ANY (p_codes))
          ORDER BY w.due_at, w.id LIMIT v_room FOR UPDATE SKIP LOCKED
        ), chosen AS MATERIALIZED (
          SELECT * FROM (SELECT * FROM lone UNION ALL SELECT * FROM fresh) AS both_kinds
          ORDER BY due_at, id LIMIT v_room
        ), taken AS (
          UPDATE {s}.work w SET state = 'leased', owner = p_owner, epoch = w.epoch + 1
          FROM chosen c JOIN {s}.event e ON e.tenant = c.tenant AND e.id = c.event_id
          WHERE w.tenant = c.tenant AND w.id = c.id
          RETURNING w AS item, e AS event, w.id, w.due_at, w.alone
        )
        SELECT * FROM taken t ORDER BY t.due_at, t.id
      LOOP
        v_left := v_left - 1;
        IF v_taken.alone THEN
          v_alone_left := v_alone_left - 1;
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
END $$;`

export const LANES = `
ALTER TABLE {s}.work
  ADD COLUMN element bigint,
  ADD COLUMN lane text,
  ADD COLUMN lane_hash uuid,
  ADD COLUMN has_place boolean NOT NULL DEFAULT false,
  ADD COLUMN is_frozen boolean NOT NULL DEFAULT false,
  ADD COLUMN "into" text COLLATE "C",
  ADD COLUMN generation bigint NOT NULL DEFAULT 1;
CREATE INDEX work_waiting ON {s}.work (lane_hash, created_at, id) WHERE state = 'waiting';
CREATE INDEX work_holding ON {s}.work (tenant, id) WHERE has_place AND state IN ('parked', 'dead');
CREATE INDEX work_merged ON {s}.work ("into", created_at, id) WHERE "into" IS NOT NULL;
-- A limit counts what its consumer has in hand.
CREATE INDEX work_in_hand ON {s}.work (tenant, consumer) WHERE state = 'leased';

CREATE TABLE {s}.lane (
  hash uuid PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  consumer text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  width bigint NOT NULL,
  version text,
  places bigint NOT NULL,
  waiting bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE INDEX lane_empty ON {s}.lane (tenant, updated_at, hash) WHERE places = 0 AND waiting = 0;

CREATE TABLE {s}.ledger_past (LIKE {s}.ledger INCLUDING ALL);
ALTER TABLE {s}.ledger_past DROP CONSTRAINT ledger_past_pkey, ADD PRIMARY KEY (hash, generation);
CREATE VIEW {s}.ledger_all AS SELECT * FROM {s}.ledger UNION ALL SELECT * FROM {s}.ledger_past;

ALTER TABLE {s}.dead_letter ADD COLUMN step text, ADD COLUMN failure_id text;

CREATE TABLE {s}.failure (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  work_id text COLLATE "C" NOT NULL,
  consumer text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  class text COLLATE "C" NOT NULL,
  reason text,
  key text,
  attempts bigint NOT NULL,
  last_error text NOT NULL,
  will_retry_at bigint,
  correlation_id text NOT NULL,
  severity text NOT NULL,
  cause text COLLATE "C",
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX failure_state ON {s}.failure (tenant, state, id);
CREATE INDEX failure_cause ON {s}.failure (tenant, cause, id) WHERE cause IS NOT NULL;
CREATE INDEX failure_event ON {s}.failure (event_id);

CREATE TABLE {s}.escalation (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  cause text COLLATE "C" NOT NULL,
  consumer text COLLATE "C" NOT NULL,
  class text COLLATE "C" NOT NULL,
  reason text NOT NULL,
  severity text NOT NULL,
  runbook text,
  last_error text NOT NULL,
  work_id text,
  version bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  is_announced boolean NOT NULL,
  acknowledged_by text,
  note text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);
-- Whoever raises a second one of a cause meets the first here, and counts on it.
CREATE UNIQUE INDEX escalation_raised ON {s}.escalation (tenant, cause) WHERE state = 'raised';
CREATE INDEX escalation_state ON {s}.escalation (tenant, state, id);
CREATE INDEX escalation_unannounced ON {s}.escalation (tenant, id) WHERE NOT is_announced;
CREATE INDEX escalation_over ON {s}.escalation (tenant, updated_at, id) WHERE state = 'acknowledged';

-- As before, and with limits: what a consumer may have in hand at once, over all nodes. Claims under a limit come one after
-- the other, so that two of them cannot both see room for the last one. The locks are taken in one order and before any row.
DROP FUNCTION {s}.claim(uuid, bigint, text[], text[], bigint[], bigint, bigint, text[]);
${CLAIM_WITH_LIMITS}
`
