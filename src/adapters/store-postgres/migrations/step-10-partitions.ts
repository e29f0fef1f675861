// Step 10: events, attempts and history in weekly partitions, so that expired rows go by dropping a table instead of
// row by row.
//
// Ids are a prefix and a UUIDv7: their text order is the order of their creation, so a range of ids is a span of time,
// and a look-up by id finds its partition. Existing rows stay where they are, as the partition of everything up to a
// Monday; ids without a partition (a clock that is weeks off) go to the default one. An event is looked up only by
// tenant and id, so that is its key, and one index less is written for each.
//
// Released: never changed.

import { CLAIM_WITH_LIMITS } from './step-05-lanes.ts'

const WEEKS = `
-- Weeks begin on Monday 00:00 UTC.
CREATE FUNCTION {s}.week_of(p_at bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT floor((p_at - 345600000) / 604800000.0)::bigint * 604800000 + 345600000 $$;

-- The least id that the instant can have.
CREATE FUNCTION {s}.id_at(p_prefix text, p_at bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT p_prefix || '_' || left(hex, 8) || '-' || right(hex, 4) FROM lpad(to_hex(p_at), 12, '0') AS hex $$;

-- As the catalogue has them: from lower (null: the very first) up to upper; the default one has neither.
CREATE VIEW {s}.partition AS
  SELECT p.relname::text AS parent, c.relname::text AS name,
    substring(b.bound FROM $re$ FROM \\('([^']*)'\\)$re$) COLLATE "C" AS lower,
    substring(b.bound FROM $re$ TO \\('([^']*)'\\)$re$) COLLATE "C" AS upper
  FROM pg_class p
  JOIN pg_inherits i ON i.inhparent = p.oid
  JOIN pg_class c ON c.oid = i.inhrelid
  CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid)) AS b(bound)
  WHERE p.relnamespace = '{s}'::regnamespace AND p.relkind = 'p';

ALTER TABLE {s}.event RENAME TO event_past;
ALTER TABLE {s}.event_past DROP CONSTRAINT event_pkey;
DROP INDEX {s}.event_of_tenant;
ALTER TABLE {s}.event_past ADD CONSTRAINT event_past_pkey PRIMARY KEY (tenant, id);
ALTER INDEX {s}.event_unmatched RENAME TO event_past_unmatched;
ALTER INDEX {s}.event_caused RENAME TO event_past_caused;
CREATE TABLE {s}.event (LIKE {s}.event_past INCLUDING STORAGE) PARTITION BY RANGE (id);
ALTER TABLE {s}.event ADD CONSTRAINT event_pkey PRIMARY KEY (tenant, id);
CREATE INDEX event_unmatched ON {s}.event (tenant, id) WHERE matched = 0;
CREATE INDEX event_caused ON {s}.event (tenant, causation_id COLLATE "C", id) WHERE causation_id IS NOT NULL;

ALTER TABLE {s}.attempt RENAME TO attempt_past;
ALTER INDEX {s}.attempt_pkey RENAME TO attempt_past_pkey;
ALTER TABLE {s}.attempt_past ALTER COLUMN sequence DROP IDENTITY;
CREATE SEQUENCE {s}.attempt_number;
SELECT setval('{s}.attempt_number', (SELECT coalesce(max(sequence), 0) + 1 FROM {s}.attempt_past), false);
ALTER TABLE {s}.attempt_past ALTER COLUMN sequence SET DEFAULT nextval('{s}.attempt_number');
CREATE TABLE {s}.attempt (LIKE {s}.attempt_past INCLUDING DEFAULTS INCLUDING STORAGE) PARTITION BY RANGE (work);
ALTER TABLE {s}.attempt ADD CONSTRAINT attempt_pkey PRIMARY KEY (tenant, work, number, sequence);
ALTER SEQUENCE {s}.attempt_number OWNED BY {s}.attempt.sequence;

ALTER TABLE {s}.history RENAME TO history_past;
ALTER INDEX {s}.history_pkey RENAME TO history_past_pkey;
CREATE TABLE {s}.history (LIKE {s}.history_past INCLUDING STORAGE) PARTITION BY RANGE (instance);
ALTER TABLE {s}.history ADD CONSTRAINT history_pkey PRIMARY KEY (tenant, instance, sequence);

-- What is there reaches to this Monday if nothing is younger, and otherwise to the next one. What is younger even than that has an
-- id of no time that was.
DO $$
DECLARE
  v_table record;
  v_at bigint;
  v_is_younger boolean;
BEGIN
  FOR v_table IN
    SELECT * FROM (VALUES ('event', 'evt', 'id'), ('attempt', 'wrk', 'work'), ('history', 'ins', 'instance')) AS t(name, prefix, key)
  LOOP
    v_at := {s}.week_of(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    EXECUTE format('CREATE TABLE {s}.%I PARTITION OF {s}.%I DEFAULT', v_table.name || '_default', v_table.name);
    EXECUTE format('SELECT EXISTS (SELECT FROM {s}.%I WHERE %I >= %L)', v_table.name || '_past', v_table.key,
      {s}.id_at(v_table.prefix, v_at)) INTO v_is_younger;
    IF v_is_younger THEN
      v_at := v_at + 604800000;
      EXECUTE format('WITH moved AS (DELETE FROM {s}.%I WHERE %I >= %L RETURNING *) INSERT INTO {s}.%I SELECT * FROM moved',
        v_table.name || '_past', v_table.key, {s}.id_at(v_table.prefix, v_at), v_table.name || '_default');
    END IF;
    EXECUTE format('ALTER TABLE {s}.%I ATTACH PARTITION {s}.%I FOR VALUES FROM (MINVALUE) TO (%L)', v_table.name,
      v_table.name || '_past', {s}.id_at(v_table.prefix, v_at));
  END LOOP;
END $$;

-- Makes the partitions of so many weeks from an instant on, where there are none, and answers their names. A partition is made apart
-- and then attached, which stands in the way of nobody who has another one in hand; the default one is looked through, so it is
-- held for a moment. Whoever waits too long for that leaves it for the next time. A week that the default partition has rows
-- of stays there.
CREATE FUNCTION {s}.make_partitions(p_from bigint, p_weeks int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  v_table record;
  v_at bigint;
  v_name text;
  v_lower text;
  v_upper text;
BEGIN
  IF NOT pg_try_advisory_xact_lock('{s}.migration'::regclass::oid::int, 1) THEN
    RETURN;
  END IF;
  PERFORM set_config('lock_timeout', '200ms', true);
  FOR v_table IN
    SELECT * FROM (VALUES ('event', 'evt'), ('attempt', 'wrk'), ('history', 'ins')) AS t(name, prefix)
  LOOP
    FOR v_week IN 0 .. p_weeks - 1 LOOP
      v_at := {s}.week_of(p_from) + v_week * 604800000::bigint;
      v_lower := {s}.id_at(v_table.prefix, v_at);
      v_upper := {s}.id_at(v_table.prefix, v_at + 604800000);
      v_name := v_table.name || to_char(to_timestamp(v_at / 1000) AT TIME ZONE 'UTC', '"_"YYYYMMDD');
      CONTINUE WHEN to_regclass('{s}.' || v_name) IS NOT NULL OR EXISTS (
        SELECT FROM {s}.partition p
        WHERE p.parent = v_table.name AND p.upper > v_lower AND (p.lower IS NULL OR p.lower < v_upper)
      );
      BEGIN
        EXECUTE format('CREATE TABLE {s}.%I (LIKE {s}.%I INCLUDING ALL)', v_name, v_table.name);
        EXECUTE format('ALTER TABLE {s}.%I ATTACH PARTITION {s}.%I FOR VALUES FROM (%L) TO (%L)', v_table.name, v_name, v_lower, v_upper);
        RETURN NEXT v_name;
      EXCEPTION WHEN lock_not_available OR check_violation THEN
        NULL;
      END;
    END LOOP;
  END LOOP;
END $$;
`

const CLAIM = `
DROP FUNCTION {s}.claim(uuid, bigint, text[], text[], bigint[], bigint[], bigint, bigint, text[]);
${CLAIM_WITH_LIMITS}
`

export const PARTITIONS = `${WEEKS}${CLAIM}`
