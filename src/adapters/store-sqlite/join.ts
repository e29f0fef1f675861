// Joining: a node starts a new incarnation, and ends its earlier ones.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Incarnation, NodeId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { recallAlive, type Session } from './session.ts'
import { toStored } from './text-values.ts'

const prepare = (db: DatabaseSyncInstance) => ({
  fenceNode: db.prepare('UPDATE incarnation SET fenced = 1 WHERE node = ? AND fenced = 0'),
  addIncarnation: db.prepare('INSERT INTO incarnation (node, until, fenced) VALUES (?, ?, 0)'),
  forgetFenced: db.prepare(
    'DELETE FROM incarnation WHERE fenced = 1 AND owner NOT IN (SELECT owner FROM work WHERE state = 1)',
  ),
})

export type Join = (
  now: Instant,
  node: NodeId,
  ttlMs: number,
) => { owner: Incarnation; until: Instant; now: Instant }

export function makeJoin(session: Session): Join {
  const sql = prepare(session.db)
  return (now, node, ttlMs) => {
    session.isDirty = true
    sql.fenceNode.run(toStored(node))
    const until = now + ttlMs
    const owner = Number(sql.addIncarnation.run(toStored(node), until).lastInsertRowid) as Incarnation
    // A fenced incarnation stays only while jobs have to be reclaimed from it.
    sql.forgetFenced.run()
    recallAlive(session)
    return { owner, until, now }
  }
}
