// Claiming and the lives of nodes: each call is one statement, a function of the schema.
//
// The answer of a claim must not get lost: its items would stay in the hands of a living owner that does not know of
// them. A claim that took something has a group id like a commit, and a lost answer is settled by it.

import type { QueryResult } from 'pg'
import type { Incarnation, NodeId, WorkId } from '../../core/ids/index.ts'
import {
  type ClaimedWork,
  type ClaimRequest,
  type ClaimResult,
  type Store,
  StoreError,
} from '../../ports/store.ts'
import { prepare, type Statement } from './connection.ts'
import { classifyError, toStoreError } from './errors.ts'
import { type GroupDeps, settleGroup } from './group.ts'
import { joinUnlessHalfMoved } from './join.ts'
import { makeArray } from './parameters.ts'
import { EVENT, eventList, readEvent, selectList, WORK } from './tables.ts'

const KEPT_GROUPS = "interval '1 hour'"
const PRUNED_GROUPS = 10_000

type Leases = Pick<Store, 'claim' | 'join' | 'renew' | 'reclaim' | 'leave'>

/** `w_` and `e_` before the names of the work item's and the event's properties. */
const prefixed = (prefix: string, list: string) => list.replaceAll(' AS "', ` AS "${prefix}`)

const itemColumns = (schema: string, work: string, event: string) =>
  `${prefixed('w_', selectList(work, Object.keys(WORK.columns)))}, ${prefixed('e_', eventList(schema, event))}`

const EVENT_NAMES = [...Object.keys(EVENT.columns), 'duplicates', 'lastDuplicateAt']

export function claimSql(schema: string): string {
  return (
    `SELECT c.now, c.next_due_at AS "nextDueAt", ${itemColumns(schema, '(c.item)', '(c.event)')} FROM ${schema}.claim(` +
    '$1::uuid, $2::int8, $3::text[], $4::text[], $5::int8[], $6::int8[], $7::int8, $8::int8, $9::text[]) AS c'
  )
}

export function makeLeases(deps: GroupDeps): Leases {
  const { pool, schema } = deps
  const claimedSql =
    `SELECT ${schema}.now_ms() AS now, ${itemColumns(schema, 'w', 'e')} FROM ${schema}.commit_group AS g ` +
    `JOIN ${schema}.work AS w ON w.owner = $2::int8 AND w.state = 'leased' AND w.id = ANY (g.claimed) ` +
    `JOIN ${schema}.event AS e ON e.tenant = w.tenant AND e.id = w.event_id ` +
    'WHERE g.id = $1::uuid ORDER BY array_position(g.claimed, w.id)'

  const query = async (statement: Statement): Promise<QueryResult['rows']> => {
    const client = await pool.connect()
    try {
      const { rows } = await client.query(statement)
      client.release()
      return rows
    } catch (error) {
      client.release(classifyError(error) === 'lost')
      throw error
    }
  }

  /** Runs again what may be run twice, once per connection that turns out to be dead, and after a race. */
  const retry = async <Result>(run: () => Promise<Result>): Promise<Result> => {
    for (let tried = 1; ; tried += 1) {
      try {
        return await run()
      } catch (error) {
        const failure = classifyError(error)
        const isFinal = error instanceof StoreError || (failure !== 'lost' && failure !== 'again')
        if (tried >= 3 || isFinal) throw toStoreError(error)
      }
    }
  }

  const tryClaim = async (request: ClaimRequest): Promise<ClaimResult> => {
    const groupId = deps.makeGroupId()
    const { owner, slots } = request
    const statement = prepare(claimSql(schema), [
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
    ])
    const client = await pool.connect()
    try {
      const { rows } = await client.query(statement)
      client.release()
      const claimed = readClaim(rows)
      deps.laneless.learn(claimed.items.map(({ work }) => work))
      return claimed
    } catch (error) {
      const isLost = classifyError(error) === 'lost'
      client.release(isLost)
      if (!isLost || !(await settleGroup(deps, groupId, error))) throw error
      const rows = await retry(() => query(prepare(claimedSql, [groupId, owner])))
      if (rows.length === 0) throw toStoreError(error, 'no')
      const now = rows[0].now
      // What else is due is not known any more: the owner asks again at once.
      return { items: rows.map(readClaimed), nextDueAt: now, now }
    }
  }

  return {
    claim: (request) => retry(() => tryClaim(request)),
    async join(node: NodeId, ttlMs: number) {
      return retry(() => joinUnlessHalfMoved(deps, node, Math.ceil(ttlMs)))
    },
    async renew(owner: Incarnation, ttlMs: number) {
      const sql = `SELECT until, now FROM ${schema}.renew_incarnation($1::int8, $2::int8)`
      const [row] = await retry(() => query(prepare(sql, [owner, Math.ceil(ttlMs)])))
      return row === undefined ? 'fenced' : { until: row.until, now: row.now }
    },
    async reclaim(limit: number) {
      const rows = await retry(() => query(prepare(`SELECT id FROM ${schema}.reclaim($1::int8)`, [limit])))
      await retry(() =>
        query(
          prepare(
            `DELETE FROM ${schema}.commit_group WHERE id IN (SELECT id FROM ${schema}.commit_group ` +
              `WHERE made_at < clock_timestamp() - ${KEPT_GROUPS} ORDER BY made_at LIMIT ${PRUNED_GROUPS} ` +
              'FOR UPDATE SKIP LOCKED)',
          ),
        ),
      )
      return rows.map((row) => row.id as WorkId)
    },
    async leave(owner: Incarnation) {
      const [before] = await retry(() =>
        query(prepare(`SELECT 1 FROM ${schema}.incarnation WHERE id = $1::int8 AND NOT fenced`, [owner])),
      )
      if (before === undefined) return []
      // A statement of its own: what was committed while it waited for its lock is seen by the next.
      await retry(() => query(prepare(`SELECT ${schema}.fence_incarnation($1::int8)`, [owner])))
      const rows = await retry(() =>
        query(
          prepare(
            `WITH held AS MATERIALIZED (SELECT tenant, id FROM ${schema}.work WHERE owner = $1::int8 ` +
              `AND state = 'leased' ORDER BY tenant, id FOR UPDATE) UPDATE ${schema}.work w SET state = 'ready', ` +
              `owner = NULL, due_at = ${schema}.now_ms() FROM held h WHERE w.tenant = h.tenant AND w.id = h.id ` +
              'RETURNING w.id',
            [owner],
          ),
        ),
      )
      return rows.map((row) => row.id as WorkId).sort()
    },
  }
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
