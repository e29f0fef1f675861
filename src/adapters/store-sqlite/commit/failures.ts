// Failures and escalations in the database.

import type { NewEscalation } from '../../../core/failures/escalation/index.ts'
import type { NewFailure } from '../../../core/failures/failure/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Write } from '../../../ports/store.ts'
import type { Session } from '../session.ts'
import { toStored, toStoredOrNull } from '../text-values.ts'

export function putFailure(session: Session, now: Instant, tenant: number, row: NewFailure): void {
  session.sql.putFailure.run(
    tenant,
    row.id,
    row.state,
    row.workId,
    toStored(row.consumer),
    row.eventId,
    row.class,
    toStoredOrNull(row.reason),
    toStoredOrNull(row.key),
    row.attempts,
    toStored(row.lastError),
    row.retryInMs === null ? null : now + row.retryInMs,
    toStored(row.correlationId),
    toStored(row.severity),
    toStoredOrNull(row.cause),
    now,
    now,
  )
}

export function raiseEscalation(session: Session, now: Instant, tenant: number, row: NewEscalation): void {
  const cause = toStored(row.cause)
  const latest = [
    toStored(row.consumer),
    row.class,
    toStored(row.reason),
    toStored(row.severity),
    toStoredOrNull(row.runbook),
    toStored(row.lastError),
    row.workId,
  ] as const
  const counted = session.sql.countEscalation.run(...latest, now, tenant, cause).changes
  if (Number(counted) === 0) session.sql.addEscalation.run(tenant, row.id, cause, ...latest, now, now)
}

export function changeEscalation(
  session: Session,
  now: Instant,
  tenant: number,
  { id, announced, acknowledged }: Extract<Write, { w: 'escalation.change' }>,
): void {
  const { sql } = session
  if (announced) sql.announceEscalation.run(tenant, id)
  if (acknowledged) {
    const { by, note } = acknowledged
    sql.acknowledgeEscalation.run(toStored(by), toStoredOrNull(note), tenant, id)
  }
  sql.touchEscalation.run(now, tenant, id)
}
