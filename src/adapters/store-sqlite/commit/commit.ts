// One commit within the transaction of its group: its guards in order, and then its writes.

import type { WorkId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Commit, CommitResult, Guard } from '../../../ports/store.ts'
import type { Session } from '../session.ts'
import { checkGuard } from './guards.ts'
import { applyWrite } from './writes.ts'

export function applyCommit(session: Session, now: Instant, commit: Commit): CommitResult {
  const { guards, writes, tenant } = commit
  session.dedupSlot = null
  session.ledgerSlot = null
  session.seenLedger = null
  session.seenInstance = null
  session.addedEvent = null
  session.changedWork = null
  for (let index = 0; index < guards.length; index += 1) {
    const refusal = checkGuard(session, now, tenant, guards[index] as Guard)
    if (refusal) return { ok: false, at: now, guard: index, found: refusal.found }
  }
  const leased: WorkId[] = []
  if (writes.length > 0) session.isDirty = true
  for (const write of writes) applyWrite(session, now, tenant, write, leased)
  return { ok: true, at: now, leased }
}
