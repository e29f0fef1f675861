// The outbox in PostgreSQL: what is still to be published to the bus.
//
// Positions come from a sequence, and a sequence is not the order of commits: a reader that went by it would skip what
// an open transaction is about to commit. So each row has a `turn`: the greater of its own transaction's id and of the
// latest id that had ended when its statement began. The reader takes rows below the oldest open transaction, by turn
// and then position.
//
// - A later commit has a turn that is not below the oldest open transaction: its own id is not.
// - Messages about the same row go in the order of its commits: a transaction that waited for the row's lock adds its
//   message after the other has ended, so with a turn that is not below the other's, and with a later position. The
//   transaction's id alone would not do: it may have been assigned before the wait.

import type { SystemReads } from '../../ports/store.ts'
import { prepare, type Query, type Statement } from './connection.ts'
import { eventList, OUTBOX, readEvent, selectList } from './tables.ts'

/** Transaction ids belong to one server: rows restored from another server's backup count as committed, and oldest. */
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
      const oldest = settled + (after === undefined ? '' : behind) + inOrder
      const values = after === undefined ? [limit] : [limit, after]
      const fields = [...Object.keys(OUTBOX.columns), 'position']
      const [rows, events] = await snapshot([
        prepare(
          `SELECT ${selectList('t', fields)} FROM (${oldest}) AS t ORDER BY t.turn, t.position`,
          values,
        ),
        prepare(
          `WITH told AS (SELECT DISTINCT e.tenant, e.event FROM (${oldest}) AS e WHERE e.event IS NOT NULL) ` +
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
      const [oldest] = await query(
        prepare(
          `SELECT o.created_at AS at, NOT EXISTS (${settled} LIMIT 1) AS "isHeld" ` +
            `FROM ${schema}.outbox AS o ORDER BY o.position LIMIT 1`,
          [],
        ),
      )
      if (oldest === undefined) return { at: null, heldBy: null }
      return { at: oldest.at, heldBy: oldest.isHeld ? await findHolder(query) : null }
    },
  }
}

/** The oldest open transaction of the server. A session sees of other users only that they are there. */
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
