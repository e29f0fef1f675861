// Claiming: due jobs go to an incarnation, slot by slot, in one statement.
//
// The response of a claim must not get lost: its jobs would stay leased by a living owner that does not know of them. A
// claim that took something has a group id like a commit, and a lost response is settled by it.

import type { QueryResult } from 'pg'
import type { ClaimedWork, ClaimRequest, ClaimResult, Store } from '../../ports/store.ts'
import { makeClaimBounds } from './claim-bounds.ts'
import { type GroupDeps, settleGroup } from './commit/group.ts'
import { assertIdle, prepare } from './connection.ts'
import { classifyError, toStoreError } from './errors.ts'
import type { LiveFunction } from './install-functions.ts'
import { makeArray } from './parameters.ts'
import { queryAgain, retry } from './retry.ts'
import { EVENT, eventList, readEvent, selectList, WORK } from './tables.ts'

/**
 * Slot by slot, because the jobs of one slot reduce the budget of the next. A last row without a job has the instant
 * and the next due time.
 *
 * - Claims under a limit (what a consumer may have leased at once, over all nodes) come one after the other, so that
 *   two of them cannot both see room for the last one. Their locks are taken in one order and before any row.
 * - Each look-up leaves the planner one way, by index: before it has seen a table it takes it for nearly empty.
 * - `p_from` has a due time for each slot, or null. Jobs that were due before it are not looked for, so that the scan of
 *   the index begins behind the entries of jobs that are gone: they stay while any session has an older snapshot. The
 *   last row has the times for the next claim, and how many entries of the index this one read. Jobs that a crash left
 *   are few, and always looked for.
 * - Only isolated jobs (`alone` with `losses`) are limited by `p_max_alone`: jobs that one crash interrupted run in
 *   parallel.
 */
export const CLAIM_FROM: LiveFunction = {
  name: 'claim_from',
  revision: 1,
  sql: `CREATE OR REPLACE FUNCTION {s}.claim_from(
  p_group uuid, p_owner bigint, p_tenants text[], p_consumers text[], p_slot_max bigint[], p_slot_limit bigint[],
  p_max bigint, p_max_alone bigint, p_codes text[], p_from bigint[]
) RETURNS TABLE (item {s}.work, event {s}.event, next_due_at bigint, now bigint, next_from bigint[], read bigint) LANGUAGE plpgsql AS $$
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
  v_from bigint[];
  v_taken_here bigint;
  v_due bigint;
  v_read bigint := pg_stat_get_xact_tuples_returned('{s}.work_ready'::regclass);
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
    -- What is committed after the next claim began may have been due a little before that.
    v_from := array_fill(v_now - 500, ARRAY[cardinality(p_tenants)]);
    FOR v_slot IN
      SELECT k.tenant, k.consumer, k.slot_max, k.slot_limit, coalesce(k.due_from, 0) AS due_from, k.position::int
      FROM unnest(p_tenants, p_consumers, p_slot_max, p_slot_limit, p_from)
        WITH ORDINALITY AS k(tenant, consumer, slot_max, slot_limit, due_from, position)
      WHERE v_now >= (
        SELECT w.due_at FROM {s}.work w
        WHERE w.tenant = k.tenant AND w.consumer = k.consumer AND w.state = 'ready' AND w.alone = false
          AND w.due_at >= coalesce(k.due_from, 0)
        ORDER BY w.due_at, w.id LIMIT 1
      ) OR v_now >= (
        SELECT w.due_at FROM {s}.work w
        WHERE w.tenant = k.tenant AND w.consumer = k.consumer AND w.state = 'ready' AND w.alone = true
        ORDER BY w.due_at, w.id LIMIT 1
      )
      ORDER BY k.position
    LOOP
      -- Until it was looked through to the end of what is due.
      v_from[v_slot.position] := p_from[v_slot.position];
      CONTINUE WHEN v_left <= 0;
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
      v_taken_here := 0;
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
            AND w.alone = false AND w.due_at >= v_slot.due_from AND w.due_at <= v_now
            AND (w.code_hash IS NULL OR w.code_hash = ANY (p_codes))
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
        v_taken_here := v_taken_here + 1;
        v_due := v_taken.due_at;
        IF v_taken.is_isolated THEN
          v_isolated_left := v_isolated_left - 1;
        END IF;
        v_ids := v_ids || v_taken.id::text;
        item := v_taken.item;
        event := v_taken.event;
        now := v_now;
        RETURN NEXT;
      END LOOP;
      v_from[v_slot.position] := CASE WHEN v_taken_here < v_room THEN v_now - 500 ELSE least(v_due, v_now - 500) END;
    END LOOP;
    SELECT min(d.due_at) INTO v_next
      FROM unnest(p_tenants, p_consumers, p_from) AS k(tenant, consumer, due_from)
      CROSS JOIN (VALUES (false), (true)) AS a(alone)
      CROSS JOIN LATERAL (
        SELECT w.due_at FROM {s}.work w
        WHERE w.tenant = k.tenant AND w.consumer = k.consumer AND w.state = 'ready' AND w.alone = a.alone
          AND w.due_at >= CASE WHEN a.alone THEN 0 ELSE coalesce(k.due_from, 0) END
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
  next_from := v_from;
  read := pg_stat_get_xact_tuples_returned('{s}.work_ready'::regclass) - v_read;
  RETURN NEXT;
END $$`,
}

/** `w_` and `e_` before the names of the work item's and the event's properties. */
const prefixed = (prefix: string, list: string) => list.replaceAll(' AS "', ` AS "${prefix}`)

const itemColumns = (schema: string, work: string, event: string) =>
  `${prefixed('w_', selectList(work, Object.keys(WORK.columns)))}, ${prefixed('e_', eventList(schema, event))}`

const EVENT_NAMES = [...Object.keys(EVENT.columns), 'duplicates', 'lastDuplicateAt']

export function claimSql(schema: string): string {
  return (
    `SELECT c.now, c.next_due_at AS "nextDueAt", c.next_from AS "nextFrom", c.read, ` +
    `${itemColumns(schema, '(c.item)', '(c.event)')} FROM ${schema}.claim_from(` +
    '$1::uuid, $2::int8, $3::text[], $4::text[], $5::int8[], $6::int8[], $7::int8, $8::int8, $9::text[], $10::int8[]) AS c'
  )
}

export function makeClaim(deps: GroupDeps): Store['claim'] {
  const { pool, schema } = deps
  const sql = claimSql(schema)
  const claimedSql =
    `SELECT ${schema}.now_ms() AS now, ${itemColumns(schema, 'w', 'e')} FROM ${schema}.commit_group AS g ` +
    `JOIN ${schema}.work AS w ON w.owner = $2::int8 AND w.state = 'leased' AND w.id = ANY (g.claimed) ` +
    `JOIN ${schema}.event AS e ON e.tenant = w.tenant AND e.id = w.event_id ` +
    'WHERE g.id = $1::uuid ORDER BY array_position(g.claimed, w.id)'

  const bounds = makeClaimBounds()

  const tryClaim = async (request: ClaimRequest): Promise<ClaimResult> => {
    const groupId = deps.makeGroupId()
    const { owner, slots } = request
    const from = bounds.next(request)
    const statement = prepare(sql, [
      groupId,
      owner,
      makeArray(
        'text',
        slots.map(({ tenant }) => tenant),
      ),
      makeArray(
        'text',
        slots.map(({ consumer }) => consumer),
      ),
      makeArray(
        'int8',
        slots.map(({ max }) => Math.max(0, max)),
      ),
      makeArray(
        'int8',
        slots.map(({ limit }) => limit),
      ),
      Math.max(0, request.max),
      Math.max(0, request.maxIsolated),
      makeArray('text', request.codeHashes),
      makeArray('int8', from),
    ])
    const client = await pool.connect()
    try {
      const { rows } = await client.query(statement)
      assertIdle(client)
      client.release()
      const claimed = readClaim(rows)
      bounds.learn(request, from, rows.at(-1))
      deps.laneless.learn(claimed.items.map(({ work }) => work))
      return claimed
    } catch (error) {
      const isLost = classifyError(error) === 'lost'
      client.release(isLost)
      if (!isLost || (await settleGroup(deps, groupId, error)) === null) throw error
      const rows = await queryAgain(pool, prepare(claimedSql, [groupId, owner]))
      if (rows.length === 0) throw toStoreError(error, 'no')
      const now = rows[0].now
      // What else is due is not known any more: the owner asks again at once.
      return { items: rows.map(readClaimed), nextDueAt: now, now }
    }
  }

  return (request) => retry(() => tryClaim(request))
}

function readClaim(rows: QueryResult['rows']): ClaimResult {
  const last = rows.at(-1)
  return { items: rows.slice(0, -1).map(readClaimed), nextDueAt: last.nextDueAt, now: last.now }
}

function readClaimed(row: Record<string, unknown>): ClaimedWork {
  const part = (prefix: string, properties: readonly string[]) =>
    Object.fromEntries(properties.map((name) => [name, row[`${prefix}${name}`]]))
  return {
    work: part('w_', Object.keys(WORK.columns)) as unknown as ClaimedWork['work'],
    event: readEvent(part('e_', EVENT_NAMES)),
  }
}
