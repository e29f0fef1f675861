// A node's entry into the schema: not while a store is moved into it.

import type { NodeId } from '../../core/ids/index.ts'
import type { Store } from '../../ports/store.ts'
import { prepare } from './connection.ts'
import type { GroupDeps } from './group.ts'
import { lockJoins, refuseHalfMoved } from './move-mark.ts'

/** A node that opened the store before the move began has passed the look that comes with the opening. */
export async function joinUnlessHalfMoved(
  { pool, schema }: Pick<GroupDeps, 'pool' | 'schema'>,
  node: NodeId,
  ttlMs: number,
): ReturnType<Store['join']> {
  const client = await pool.connect()
  try {
    await client.query(prepare('BEGIN'))
    await lockJoins(client, schema)
    await refuseHalfMoved(client, schema)
    const { rows } = await client.query(
      prepare(`SELECT owner, until, now FROM ${schema}.join_node($1::text, $2::int8)`, [node, ttlMs]),
    )
    await client.query(prepare('COMMIT'))
    client.release()
    return rows[0]
  } catch (error) {
    // With its transaction.
    client.release(true)
    throw error
  }
}
