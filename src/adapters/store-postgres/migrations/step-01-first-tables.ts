// Step 1: the first tables and functions. Released: never changed.

export const FIRST_TABLES = `
-- The one clock of leases, due times and windows.
CREATE FUNCTION {s}.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- One row per group of commits, written in its transaction: a COMMIT whose answer was lost is settled by it.
CREATE TABLE {s}.commit_group (
  id uuid PRIMARY KEY,
  applied boolean NOT NULL,
  claimed text[],
  made_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX commit_group_made ON {s}.commit_group (made_at);

CREATE TABLE {s}.incarnation (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  node text COLLATE "C" NOT NULL,
  until bigint NOT NULL,
  fenced boolean NOT NULL DEFAULT false
);
CREATE INDEX incarnation_live ON {s}.incarnation (node) WHERE NOT fenced;

CREATE TABLE {s}.event (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" PRIMARY KEY,
  source text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  object_type text,
  object_id text,
  occurred_at bigint,
  correlation_id text NOT NULL,
  causation_id text,
  trace_id text NOT NULL,
  dedup_key text NOT NULL,
  payload_hash text NOT NULL,
  headers text NOT NULL,
  data text NOT NULL,
  matched bigint NOT NULL,
  received_at bigint NOT NULL
);
CREATE INDEX event_of_tenant ON {s}.event (tenant, id);
CREATE INDEX event_unmatched ON {s}.event (tenant, id) WHERE matched = 0;

CREATE TABLE {s}.dedup (
  hash uuid PRIMARY KEY,
  event text NOT NULL,
  until bigint NOT NULL
);

CREATE TABLE {s}.work (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" PRIMARY KEY,
  kind text NOT NULL,
  consumer text COLLATE "C" NOT NULL,
  definition text NOT NULL,
  code_hash text COLLATE "C",
  event_id text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  replay_of text,
  state text COLLATE "C" NOT NULL,
  due_at bigint NOT NULL,
  owner bigint,
  alone boolean NOT NULL,
  attempts bigint NOT NULL,
  waits bigint NOT NULL,
  losses bigint NOT NULL,
  key text,
  class text,
  last_error text,
  effect_ref text,
  http_status bigint,
  duration_ms double precision,
  processed_at bigint
);
CREATE INDEX work_of_tenant ON {s}.work (tenant, id);
CREATE INDEX work_ready ON {s}.work (tenant, consumer, alone, due_at, id) WHERE state = 'ready';
CREATE INDEX work_leased ON {s}.work (owner, id) WHERE state = 'leased';
CREATE INDEX work_unusual ON {s}.work (tenant, state, id)
  WHERE state IN ('waiting', 'skipped', 'merged', 'parked', 'dead', 'cancelled');
CREATE INDEX work_of_event ON {s}.work (event_id);

CREATE TABLE {s}.attempt (
  tenant text COLLATE "C" NOT NULL,
  work text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  sequence bigint GENERATED ALWAYS AS IDENTITY,
  started_at bigint NOT NULL,
  duration_ms double precision NOT NULL,
  outcome text NOT NULL,
  class text,
  http_status bigint,
  error text,
  PRIMARY KEY (tenant, work, number, sequence)
);

CREATE TABLE {s}.ledger (
  hash uuid PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  work text NOT NULL,
  epoch bigint NOT NULL,
  consumer text NOT NULL,
  event_id text NOT NULL,
  object_id text,
  payload_hash text NOT NULL,
  correlation_id text NOT NULL,
  generation bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  proof text,
  send_by bigint,
  effect_ref text,
  result text,
  evidence text NOT NULL,
  created_at bigint NOT NULL,
  settled_at bigint
);
CREATE INDEX ledger_made ON {s}.ledger (tenant, created_at);
CREATE INDEX ledger_open ON {s}.ledger (tenant, state, created_at) WHERE state <> 'done';

CREATE TABLE {s}.dead_letter (
  tenant text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  class text COLLATE "C" NOT NULL,
  reason text NOT NULL,
  consumer text COLLATE "C" NOT NULL,
  event_id text NOT NULL,
  work_id text NOT NULL,
  attempts bigint NOT NULL,
  replays bigint NOT NULL,
  last_error text NOT NULL,
  key text,
  correlation_id text NOT NULL,
  payload_hash text NOT NULL,
  runbook text,
  severity text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX dead_letter_event ON {s}.dead_letter (event_id);
CREATE INDEX dead_letter_open ON {s}.dead_letter (tenant, state, id) WHERE state NOT IN ('resolved', 'discarded');

CREATE TABLE {s}.record (
  tenant text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (tenant, kind, key)
);

-- Whoever acts for an incarnation holds its lock shared until the end of the transaction; whoever fences it holds it
-- alone. So nothing of a fenced incarnation can still be under way once its fencing is known.
CREATE FUNCTION {s}.share_incarnations(p_owners bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_owner bigint;
BEGIN
  FOR v_owner IN SELECT DISTINCT o FROM unnest(p_owners) AS k(o) ORDER BY o LOOP
    PERFORM pg_advisory_xact_lock_shared('{s}.incarnation'::regclass::oid::int, v_owner::int);
  END LOOP;
END $$;

CREATE FUNCTION {s}.fence_incarnation(p_owner bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock('{s}.incarnation'::regclass::oid::int, p_owner::int);
  UPDATE {s}.incarnation SET fenced = true WHERE id = p_owner AND NOT fenced;
END $$;

CREATE FUNCTION {s}.join_node(p_node text, p_ttl_ms bigint)
RETURNS TABLE (owner bigint, until bigint, now bigint) LANGUAGE plpgsql AS $$
DECLARE
  v_earlier bigint;
BEGIN
  -- 0 is nobody's number: joins come one after the other.
  PERFORM pg_advisory_xact_lock('{s}.incarnation'::regclass::oid::int, 0);
  FOR v_earlier IN SELECT i.id FROM {s}.incarnation i WHERE i.node = p_node AND NOT i.fenced ORDER BY i.id LOOP
    PERFORM {s}.fence_incarnation(v_earlier);
  END LOOP;
  now := {s}.now_ms();
  until := now + p_ttl_ms;
  INSERT INTO {s}.incarnation (node, until) VALUES (p_node, join_node.until) RETURNING id INTO owner;
  RETURN NEXT;
END $$;

CREATE FUNCTION {s}.renew_incarnation(p_owner bigint, p_ttl_ms bigint)
RETURNS TABLE (until bigint, now bigint) LANGUAGE plpgsql AS $$
BEGIN
  now := {s}.now_ms();
  UPDATE {s}.incarnation i SET until = renew_incarnation.now + p_ttl_ms
    WHERE i.id = p_owner AND NOT i.fenced AND i.until > renew_incarnation.now
    RETURNING i.until INTO renew_incarnation.until;
  IF FOUND THEN
    RETURN NEXT;
  ELSE
    PERFORM {s}.fence_incarnation(p_owner);
  END IF;
END $$;

CREATE FUNCTION {s}.reclaim(p_limit bigint) RETURNS TABLE (id text) LANGUAGE plpgsql AS $$
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
  -- Once nothing is left in its hands, a fenced incarnation is as good as one that never was.
  DELETE FROM {s}.incarnation i
    WHERE i.fenced AND NOT EXISTS (SELECT FROM {s}.work w WHERE w.owner = i.id AND w.state = 'leased');
END $$;

-- Slot by slot, because what one slot takes of the alone and of the whole budget is missing in the next. A last row
-- without an item holds the instant and the next due time.
CREATE FUNCTION {s}.claim(
  p_group uuid, p_owner bigint, p_tenants text[], p_consumers text[], p_slot_max bigint[],
  p_max bigint, p_max_alone bigint, p_codes text[]
) RETURNS TABLE (item {s}.work, event {s}.event, next_due_at bigint, now bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_now bigint;
  v_left bigint := p_max;
  v_alone_left bigint := p_max_alone;
  v_slot record;
  v_taken record;
  v_ids text[] := '{}';
  v_next bigint;
BEGIN
  PERFORM {s}.share_incarnations(ARRAY[p_owner]);
  v_now := {s}.now_ms();
  IF EXISTS (SELECT FROM {s}.incarnation i WHERE i.id = p_owner AND NOT i.fenced AND i.until > v_now) THEN
    FOR v_slot IN
      SELECT k.tenant, k.consumer, k.slot_max
      FROM unnest(p_tenants, p_consumers, p_slot_max) WITH ORDINALITY AS k(tenant, consumer, slot_max, position)
      WHERE EXISTS (
        SELECT FROM {s}.work w WHERE w.tenant = k.tenant AND w.consumer = k.consumer AND w.state = 'ready'
          AND w.alone IN (false, true) AND w.due_at <= v_now
      )
      ORDER BY k.position
    LOOP
      EXIT WHEN v_left <= 0;
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
          ORDER BY w.due_at, w.id LIMIT least(v_slot.slot_max, v_left) FOR UPDATE SKIP LOCKED
        ), chosen AS MATERIALIZED (
          SELECT * FROM (SELECT * FROM lone UNION ALL SELECT * FROM fresh) AS both_kinds
          ORDER BY due_at, id LIMIT least(v_slot.slot_max, v_left)
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
END $$;
`
