// A group of commits in one call of one function: one round trip, and no lock apart from the changes themselves.
//
// The call expects every guard to hold: the owners live, each settled job is leased as its guard says, no dedup or
// ledger key of the group exists. It checks all of that while it writes. If something is different, it takes everything
// back and returns no instant; the group is then executed with locks (commit.ts), which finds out what was different.
//
// Rows come as arrays, one per column. Instants are relative: the function adds its own clock to them. The order of the
// locks is that of commit.ts: owners, jobs, then dedup keys and ledger keys, each in the order given.

import type { LiveFunction } from '../install-functions.ts'
import type { ColumnType } from '../parameters.ts'

type Parameters = Readonly<Record<string, ColumnType>>

export const APPEND_PARAMETERS = {
  e_tenant: 'text',
  e_id: 'text',
  e_source: 'text',
  e_subject: 'text',
  e_object_type: 'text',
  e_object_id: 'text',
  e_occurred_at: 'int8',
  e_correlation_id: 'text',
  e_causation_id: 'text',
  e_trace_id: 'text',
  e_dedup_key: 'text',
  e_payload_hash: 'text',
  e_headers: 'text',
  e_data: 'text',
  e_matched: 'int8',
  e_raw: 'text',
  e_dedup_hash: 'uuid',
  e_dedup_for: 'int8',
} as const satisfies Parameters

export const ADD_PARAMETERS = {
  w_tenant: 'text',
  w_id: 'text',
  w_kind: 'text',
  w_consumer: 'text',
  w_definition: 'text',
  w_code_hash: 'text',
  w_event_id: 'text',
  w_owner: 'int8',
  w_due_in: 'int8',
  w_expires_in: 'int8',
  w_replay_of: 'text',
  w_element: 'int8',
  w_generation: 'int8',
  w_instance: 'text',
  w_step: 'text',
} as const satisfies Parameters

/** `s_due_in` is null for a job that ends. */
export const SETTLE_PARAMETERS = {
  s_tenant: 'text',
  s_id: 'text',
  s_owner: 'int8',
  s_epoch: 'int8',
  s_state: 'text',
  s_due_in: 'int8',
  s_expires_in: 'int8',
  s_attempts: 'int8',
  s_waits: 'int8',
  s_losses: 'int8',
  s_key: 'text',
  s_class: 'text',
  s_last_error: 'text',
  s_effect_ref: 'text',
  s_http_status: 'int8',
  s_duration_ms: 'float8',
} as const satisfies Parameters

/** Jobs of which only the lease is checked. */
export const LEASE_PARAMETERS = {
  g_tenant: 'text',
  g_id: 'text',
  g_owner: 'int8',
  g_epoch: 'int8',
} as const satisfies Parameters

/** `l_send_in` is null for an entry that is done at once. */
export const ENTRY_PARAMETERS = {
  l_hash: 'uuid',
  l_tenant: 'text',
  l_key: 'text',
  l_work: 'text',
  l_epoch: 'int8',
  l_consumer: 'text',
  l_event_id: 'text',
  l_object_id: 'text',
  l_payload_hash: 'text',
  l_correlation_id: 'text',
  l_generation: 'int8',
  l_send_in: 'int8',
  l_effect_ref: 'text',
  l_result: 'text',
} as const satisfies Parameters

/** Entries that must be as their guard says. */
export const RESULT_PARAMETERS = {
  r_hash: 'uuid',
  r_tenant: 'text',
  r_key: 'text',
  r_work: 'text',
  r_epoch: 'int8',
  r_before: 'text',
  r_state: 'text',
  r_proof: 'text',
  r_effect_ref: 'text',
  r_result: 'text',
} as const satisfies Parameters

export const ATTEMPT_PARAMETERS = {
  a_tenant: 'text',
  a_work: 'text',
  a_number: 'int8',
  a_started_at: 'int8',
  a_duration_ms: 'float8',
  a_outcome: 'text',
  a_class: 'text',
  a_http_status: 'int8',
  a_error: 'text',
  a_response: 'text',
} as const satisfies Parameters

export const OUTBOX_PARAMETERS = {
  o_tenant: 'text',
  o_id: 'text',
  o_subject: 'text',
  o_about: 'text',
  o_event: 'text',
  o_body: 'text',
} as const satisfies Parameters

export const FACT_PARAMETERS = {
  f_tenant: 'text',
  f_id: 'text',
  f_body: 'text',
} as const satisfies Parameters

const ARRAYS_BEFORE: Parameters = {
  ...APPEND_PARAMETERS,
  ...ADD_PARAMETERS,
  ...SETTLE_PARAMETERS,
  ...LEASE_PARAMETERS,
  ...ENTRY_PARAMETERS,
  ...RESULT_PARAMETERS,
  ...ATTEMPT_PARAMETERS,
  ...OUTBOX_PARAMETERS,
}

const ARRAYS: Parameters = { ...ARRAYS_BEFORE, ...FACT_PARAMETERS }

/** How many, with the group's id and the owners. */
export const OPTIMISTIC_PARAMETERS = 2 + Object.keys(ARRAYS).length

const SQL_TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  int8: 'bigint',
  float8: 'double precision',
  bool: 'boolean',
  uuid: 'uuid',
}

const declare = (arrays: Parameters) =>
  Object.entries(arrays)
    .map(([name, type]) => `${name} ${SQL_TYPES[type]}[]`)
    .join(', ')

/** `unnest(e_tenant, …) AS k(tenant, …)`: the names without their first two characters. */
const rows = (parameters: Parameters) => {
  const names = Object.keys(parameters)
  return `unnest(${names.join(', ')}) AS k(${names.map((name) => name.slice(2)).join(', ')})`
}

/**
 * Another list of parameters needs another name, because the version before calls the former one.
 *
 * `state || ''`: a plan must look a job up by its id, and not search the partial indexes of leased jobs, which have an
 * entry of every job that was leased since the last vacuum.
 */
const commitSql = (name: string, arrays: Parameters, facts: string) =>
  `CREATE OR REPLACE FUNCTION {s}.${name}(p_group uuid, p_owners bigint[], ${declare(arrays)})
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_now bigint;
  v_found bigint;
BEGIN
  IF p_owners IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock_shared('{s}.incarnation'::regclass::oid::int, o::int) FROM unnest(p_owners) AS k(o);
  END IF;
  v_now := {s}.now_ms();
  IF p_owners IS NOT NULL AND (
    SELECT count(*) FROM {s}.incarnation i WHERE i.id = ANY (p_owners) AND NOT i.fenced AND i.until > v_now
  ) <> cardinality(p_owners) THEN
    RETURN NULL;
  END IF;
  IF g_id IS NOT NULL THEN
    PERFORM FROM ${rows(LEASE_PARAMETERS)} JOIN {s}.work AS w ON w.tenant = k.tenant AND w.id = k.id
      WHERE w.state || '' = 'leased' AND w.owner = k.owner AND w.epoch = k.epoch FOR UPDATE OF w;
    GET DIAGNOSTICS v_found = ROW_COUNT;
    IF v_found <> cardinality(g_id) THEN
      RETURN NULL;
    END IF;
  END IF;
  IF s_id IS NOT NULL THEN
    UPDATE {s}.work AS w SET state = k.state, owner = NULL, attempts = k.attempts, waits = k.waits, losses = k.losses,
      key = k.key, class = k.class, last_error = k.last_error, effect_ref = k.effect_ref, http_status = k.http_status,
      duration_ms = k.duration_ms, processed_at = CASE WHEN k.due_in IS NULL THEN v_now END,
      due_at = coalesce(v_now + k.due_in, w.due_at), expires_at = coalesce(v_now + k.expires_in, w.expires_at),
      alone = w.alone AND k.due_in IS NULL, "into" = CASE WHEN k.due_in IS NULL THEN w."into" END
      FROM ${rows(SETTLE_PARAMETERS)}
      WHERE w.tenant = k.tenant AND w.id = k.id AND w.state || '' = 'leased' AND w.owner = k.owner AND w.epoch = k.epoch;
    GET DIAGNOSTICS v_found = ROW_COUNT;
    IF v_found <> cardinality(s_id) THEN
      RAISE EXCEPTION USING ERRCODE = 'MR001';
    END IF;
  END IF;
  IF e_id IS NOT NULL THEN
    INSERT INTO {s}.dedup (hash, event, until)
      SELECT k.hash, k.id, v_now + k.dedup_for FROM unnest(e_dedup_hash, e_id, e_dedup_for) AS k(hash, id, dedup_for);
    INSERT INTO {s}.event (tenant, id, source, subject, object_type, object_id, occurred_at, correlation_id, causation_id,
      trace_id, dedup_key, payload_hash, headers, data, matched, raw, received_at)
      SELECT k.tenant, k.id, k.source, k.subject, k.object_type, k.object_id, k.occurred_at, k.correlation_id,
        k.causation_id, k.trace_id, k.dedup_key, k.payload_hash, k.headers, k.data, k.matched, k.raw, v_now
      FROM ${rows(APPEND_PARAMETERS)};
  END IF;
  IF w_id IS NOT NULL THEN
    INSERT INTO {s}.work (tenant, id, kind, consumer, definition, code_hash, event_id, epoch, created_at, expires_at,
      replay_of, state, due_at, owner, alone, attempts, waits, losses, element, generation, instance, step)
      SELECT k.tenant, k.id, k.kind, k.consumer, k.definition, k.code_hash, k.event_id,
        CASE WHEN k.owner IS NULL THEN 0 ELSE 1 END, v_now, v_now + k.expires_in, k.replay_of,
        CASE WHEN k.owner IS NULL THEN 'ready' ELSE 'leased' END, v_now + k.due_in, k.owner, false, 0, 0, 0,
        k.element, k.generation, k.instance, k.step
      FROM ${rows(ADD_PARAMETERS)};
  END IF;
  IF a_work IS NOT NULL THEN
    INSERT INTO {s}.attempt (tenant, work, number, started_at, duration_ms, outcome, class, http_status, error, response)
      SELECT * FROM ${rows(ATTEMPT_PARAMETERS)};
  END IF;
  IF r_hash IS NOT NULL THEN
    UPDATE {s}.ledger AS t SET state = k.state, proof = k.proof, effect_ref = k.effect_ref, result = k.result,
      settled_at = v_now
      FROM ${rows(RESULT_PARAMETERS)}
      WHERE t.hash = k.hash AND t.tenant = k.tenant AND t.key = k.key AND t.state = k.before AND t.work = k.work
        AND t.epoch = k.epoch;
    GET DIAGNOSTICS v_found = ROW_COUNT;
    IF v_found <> cardinality(r_hash) THEN
      RAISE EXCEPTION USING ERRCODE = 'MR001';
    END IF;
  END IF;
  IF l_hash IS NOT NULL THEN
    INSERT INTO {s}.ledger (hash, tenant, key, work, epoch, consumer, event_id, object_id, payload_hash, correlation_id,
      generation, state, proof, send_by, effect_ref, result, evidence, created_at, settled_at)
      SELECT k.hash, k.tenant, k.key, k.work, k.epoch, k.consumer, k.event_id, k.object_id, k.payload_hash,
        k.correlation_id, k.generation, CASE WHEN k.send_in IS NULL THEN 'done' ELSE 'reserved' END,
        CASE WHEN k.send_in IS NULL THEN 'acknowledged' END, v_now + k.send_in, k.effect_ref, k.result, '[]', v_now,
        CASE WHEN k.send_in IS NULL THEN v_now END
      FROM ${rows(ENTRY_PARAMETERS)};
  END IF;
  IF o_id IS NOT NULL THEN
    INSERT INTO {s}.outbox (tenant, id, subject, about, event, body, created_at)
      SELECT k.*, v_now FROM ${rows(OUTBOX_PARAMETERS)};
  END IF;
${facts}  INSERT INTO {s}.commit_group (id, applied, at) VALUES (p_group, true, v_now);
  RETURN v_now;
EXCEPTION WHEN SQLSTATE 'MR001' OR unique_violation THEN
  RETURN NULL;
END $$`

/** The one that nodes of the version before call, which writes no facts. */
export const COMMIT_OPTIMISTIC: LiveFunction = {
  name: 'commit_optimistic',
  revision: 1,
  sql: commitSql('commit_optimistic', ARRAYS_BEFORE, ''),
}

export const COMMIT_WITH_FACTS: LiveFunction = {
  name: 'commit_with_facts',
  revision: 1,
  sql: commitSql(
    'commit_with_facts',
    ARRAYS,
    `  IF f_id IS NOT NULL THEN
    INSERT INTO {s}.fact (tenant, id, body, created_at) SELECT k.*, v_now FROM ${rows(FACT_PARAMETERS)}
      ON CONFLICT DO NOTHING;
  END IF;
`,
  ),
}

export function optimisticSql(schema: string): string {
  const types = ['uuid', 'int8[]', ...Object.values(ARRAYS).map((type) => `${type}[]`)]
  return `SELECT ${schema}.commit_with_facts(${types.map((type, index) => `$${index + 1}::${type}`).join(', ')}) AS now`
}
