// What is still to be told to the bus, in PostgreSQL.
//
// Positions come from a sequence, and a sequence is not the order of commits: a reader that went by it would pass over what an
// open transaction is about to commit. So each row has a turn: the greater of its own transaction's id and of the latest id that
// had ended when its statement began. The reader takes what is below the oldest open transaction, by turn and then position.
//
// - Whatever commits later has a turn that is not below the oldest open transaction: its own id is not.
// - What tells of the same row goes in the order of its commits: whoever waited for the row's lock adds after the other has
//   ended, so with a turn that is not below the other's, and with a later position. The transaction's id alone would not do: it
//   may have been given before the wait.

import type { SystemReads } from '../../ports/store.ts'
import { prepare, type Query, type Statement } from './connection.ts'
import { eventList, OUTBOX, readEvent, selectList } from './tables.ts'

/** Ids of transactions are a server's own: rows that were restored from another's backup are settled, and the eldest. */
export function adoptOutboxSql(schema: string): string {
  return `UPDATE ${schema}.outbox SET turn = 0 WHERE turn >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint`
}

type Snapshot = (statements: readonly Statement[]) => ReturnType<Query>

export function makeOutboxReads(
  query: Query,
  snapshot: Snapshot,
  schema: string,
): Pick<SystemReads, 'outbox' | 'outboxCount' | 'outboxEldest'> {
  const settled = `SELECT o.* FROM ${schema}.outbox AS o WHERE o.turn < pg_snapshot_xmin(pg_current_snapshot())::text::bigint `
  const inOrder = 'ORDER BY o.turn, o.position LIMIT $1::int8'
  const behind = `AND (o.turn, o.position) > (SELECT a.turn, a.position FROM ${schema}.outbox AS a WHERE a.position = $2::int8) `
  return {
    async outbox(limit, after) {
      const eldest = settled + (after === undefined ? '' : behind) + inOrder
      const values = after === undefined ? [limit] : [limit, after]
      const fields = [...Object.keys(OUTBOX.columns), 'position']
      const [rows, events] = await snapshot([
        prepare(
          `SELECT ${selectList('t', fields)} FROM (${eldest}) AS t ORDER BY t.turn, t.position`,
          values,
        ),
        prepare(
          `WITH told AS (SELECT DISTINCT e.tenant, e.event FROM (${eldest}) AS e WHERE e.event IS NOT NULL) ` +
            `SELECT ${eventList(schema, 't')} FROM told JOIN ${schema}.event AS t ` +
            'ON t.tenant = told.tenant AND t.id = told.event ORDER BY t.id',
          values,
        ),
      ])
      return { rows, events: events.map(readEvent) }
    },
    async outboxCount(cap) {
      const counted = `SELECT count(*) AS count FROM (SELECT FROM ${schema}.outbox LIMIT $1::int8) AS t`
      const [row] = await query(prepare(counted, [cap]))
      return row.count
    },
    async outboxEldest() {
      const [eldest] = await query(
        prepare(
          `SELECT o.created_at AS at, NOT EXISTS (${settled} LIMIT 1) AS "isHeld" ` +
            `FROM ${schema}.outbox AS o ORDER BY o.position LIMIT 1`,
          [],
        ),
      )
      if (eldest === undefined) return { at: null, heldBy: null }
      return { at: eldest.at, heldBy: eldest.isHeld ? await findHolder(query) : null }
    },
  }
}

/** The oldest transaction of the server that is open. Of other users a session sees only that they are there. */
async function findHolder(query: Query): Promise<string> {
  const [holder] = await query(
    prepare(
      `SELECT * FROM (
        SELECT a.backend_xid AS xid, 'process ' || a.pid || ' (' || concat_ws(', ', nullif(a.application_name, ''), a.usename, a.datname,
          a.state) || '), open since ' || to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS who
        FROM pg_stat_activity AS a WHERE a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid()
        UNION ALL
        SELECT p.transaction, 'the prepared transaction ' || p.gid FROM pg_prepared_xacts AS p
      ) AS t WHERE t.who IS NOT NULL ORDER BY age(t.xid) DESC LIMIT 1`,
      [],
    ),
  )
  const who =
    holder?.who ?? 'one that this user may not see (look for it in pg_stat_activity and pg_prepared_xacts)'
  return `an older transaction of the PostgreSQL server is open, behind which nothing is told: ${who}; end it`
}
