// Reclaiming: incarnations whose lease expired are fenced, and the jobs that they had leased become ready again.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { WorkId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { recallAlive, type Session } from './session.ts'

const prepare = (db: DatabaseSyncInstance) => ({
  fenceExpired: db.prepare('UPDATE incarnation SET fenced = 1 WHERE fenced = 0 AND until <= ?'),
  lostWork: db.prepare(
    'SELECT seq, id FROM work WHERE state = 1 AND owner IN (SELECT owner FROM incarnation WHERE fenced = 1)' +
      ' ORDER BY id LIMIT ?',
  ),
  giveBack: db.prepare(
    'UPDATE work SET state = 2, owner = NULL, due_at = ?, losses = losses + alone, alone = 1 WHERE seq = ?',
  ),
})

export type Reclaim = (now: Instant, limit: number) => readonly WorkId[]

export function makeReclaim(session: Session): Reclaim {
  const sql = prepare(session.db)
  return (now, limit) => {
    if (sql.fenceExpired.run(now).changes > 0) {
      session.isDirty = true
      recallAlive(session)
    }
    const lost: { seq: number; id: WorkId }[] = sql.lostWork.all(limit)
    if (lost.length > 0) session.isDirty = true
    for (const { seq, id } of lost) {
      sql.giveBack.run(now, seq)
      session.leases.delete(id)
    }
    return lost.map(({ id }) => id)
  }
}
