// Leaving: a node that stops is fenced, and its leased jobs become ready at once, without a crash count.

import type { WorkId } from '../../core/foundation/ids/index.ts'
import type { Store } from '../../ports/store.ts'
import { type Pool, prepare } from './connection.ts'
import { fenceSql } from './fence.ts'
import { queryAgain } from './retry.ts'

export function makeLeave(pool: Pool, schema: string): Store['leave'] {
  const aliveSql = `SELECT 1 FROM ${schema}.incarnation WHERE id = $1::int8 AND NOT fenced`
  const putDownSql =
    `WITH held AS MATERIALIZED (SELECT tenant, id FROM ${schema}.work WHERE owner = $1::int8 ` +
    `AND state = 'leased' ORDER BY tenant, id FOR UPDATE) UPDATE ${schema}.work w SET state = 'ready', ` +
    `owner = NULL, due_at = ${schema}.now_ms() FROM held h WHERE w.tenant = h.tenant AND w.id = h.id ` +
    'RETURNING w.id'
  return async (owner) => {
    const [alive] = await queryAgain(pool, prepare(aliveSql, [owner]))
    if (alive === undefined) return []
    // A separate statement: the next one sees what was committed while this one waited for its lock.
    await queryAgain(pool, prepare(fenceSql(schema), [owner]))
    const rows = await queryAgain(pool, prepare(putDownSql, [owner]))
    return rows.map((row) => row.id as WorkId).sort()
  }
}
