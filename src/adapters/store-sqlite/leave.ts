// Leaving: a node that stops is fenced, and its leased jobs become ready at once, without a crash count.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Incarnation, WorkId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Fence } from './fence.ts'
import type { Session } from './session.ts'

const prepare = (db: DatabaseSyncInstance) => ({
  heldWork: db.prepare('SELECT seq, id FROM work WHERE state = 1 AND owner = ? ORDER BY id'),
  putDown: db.prepare('UPDATE work SET state = 2, owner = NULL, due_at = ? WHERE seq = ?'),
})

export type Leave = (now: Instant, owner: Incarnation) => readonly WorkId[]

export function makeLeave(session: Session, fence: Fence): Leave {
  const sql = prepare(session.db)
  return (now, owner) => {
    if (!session.alive.has(owner)) return []
    session.isDirty = true
    fence.one(owner)
    const held: { seq: number; id: WorkId }[] = sql.heldWork.all(owner)
    for (const { seq, id } of held) {
      sql.putDown.run(now, seq)
      session.leases.delete(id)
    }
    return held.map(({ id }) => id)
  }
}
