// Fencing: ends an incarnation for good.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Incarnation } from '../../core/foundation/ids/index.ts'
import type { Session } from './session.ts'

const prepare = (db: DatabaseSyncInstance) => ({
  fence: db.prepare('UPDATE incarnation SET fenced = 1 WHERE owner = ?'),
  fenceAll: db.prepare('UPDATE incarnation SET fenced = 1 WHERE fenced = 0'),
})

export interface Fence {
  one(owner: Incarnation): void
  /** For a process that knows that no other one has the database open. */
  all(): void
}

export function makeFence(session: Session): Fence {
  const sql = prepare(session.db)
  return {
    one(owner) {
      sql.fence.run(owner)
      session.alive.delete(owner)
    },
    all() {
      if (session.alive.size === 0) return
      session.isDirty = true
      sql.fenceAll.run()
      session.alive.clear()
    },
  }
}
