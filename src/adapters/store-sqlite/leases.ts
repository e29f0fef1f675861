// The lives of nodes: one heartbeat per incarnation, and the way back for what a dead one held.

import type { Incarnation, NodeId, WorkId } from '../../core/ids/index.ts'
import type { Instant } from '../../core/time/index.ts'
import { isAlive, type Session } from './session.ts'
import { toStored } from './text.ts'

export function joinNode(
  session: Session,
  now: Instant,
  node: NodeId,
  ttlMs: number,
): { owner: Incarnation; until: Instant; now: Instant } {
  session.isDirty = true
  session.sql.fenceNode.run(toStored(node))
  const until = now + ttlMs
  const owner = Number(session.sql.addIncarnation.run(toStored(node), until).lastInsertRowid) as Incarnation
  // Fenced lives are kept only while work has to come back from them.
  session.sql.forgetFenced.run()
  learnAlive(session)
  return { owner, until, now }
}

export function renewIncarnation(
  session: Session,
  now: Instant,
  owner: Incarnation,
  ttlMs: number,
): { until: Instant; now: Instant } | 'fenced' {
  if (!session.alive.has(owner)) return 'fenced'
  session.isDirty = true
  if (!isAlive(session, owner, now)) {
    session.sql.fence.run(owner)
    session.alive.delete(owner)
    return 'fenced'
  }
  const until = Math.max(session.alive.get(owner) ?? 0, now + ttlMs)
  session.sql.renew.run(until, owner)
  session.alive.set(owner, until)
  return { until, now }
}

export function reclaimWork(session: Session, now: Instant, limit: number): readonly WorkId[] {
  if (session.sql.fenceExpired.run(now).changes > 0) {
    session.isDirty = true
    learnAlive(session)
  }
  const lost: { seq: number; id: WorkId }[] = session.sql.lostWork.all(limit)
  if (lost.length > 0) session.isDirty = true
  for (const { seq, id } of lost) {
    session.sql.giveBack.run(now, seq)
    session.leases.delete(id)
  }
  return lost.map(({ id }) => id)
}

export function leaveNode(session: Session, now: Instant, owner: Incarnation): readonly WorkId[] {
  if (!session.alive.has(owner)) return []
  session.isDirty = true
  session.sql.fence.run(owner)
  session.alive.delete(owner)
  const held: { seq: number; id: WorkId }[] = session.sql.heldWork.all(owner)
  for (const { seq, id } of held) {
    session.sql.putDown.run(now, seq)
    session.leases.delete(id)
  }
  return held.map(({ id }) => id)
}

export function fenceAll(session: Session): void {
  if (session.alive.size === 0) return
  session.isDirty = true
  session.sql.fenceAll.run()
  session.alive.clear()
}

function learnAlive(session: Session): void {
  session.alive.clear()
  for (const row of session.sql.incarnations.all()) session.alive.set(row.owner, row.until)
}
