// Renewing: a living incarnation extends its lease, never shortens it; one whose lease expired is fenced.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Incarnation } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Fence } from './fence.ts'
import { isAlive, type Session } from './session.ts'

const prepare = (db: DatabaseSyncInstance) => ({
  renew: db.prepare('UPDATE incarnation SET until = ? WHERE owner = ?'),
})

export type Renew = (
  now: Instant,
  owner: Incarnation,
  ttlMs: number,
) => { until: Instant; now: Instant } | 'fenced'

export function makeRenew(session: Session, fence: Fence): Renew {
  const sql = prepare(session.db)
  return (now, owner, ttlMs) => {
    if (!session.alive.has(owner)) return 'fenced'
    session.isDirty = true
    if (!isAlive(session, owner, now)) {
      fence.one(owner)
      return 'fenced'
    }
    const until = Math.max(session.alive.get(owner) ?? 0, now + ttlMs)
    sql.renew.run(until, owner)
    session.alive.set(owner, until)
    return { until, now }
  }
}
