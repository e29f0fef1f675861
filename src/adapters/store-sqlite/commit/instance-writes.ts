// Writes of instances, their history, correlations and orphans.

import type { InstanceId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import { markingText, type NewHistory, type NewInstance } from '../../../core/workflows/instance/index.ts'
import type { NewOrphan } from '../../../core/workflows/orphan/index.ts'
import type { Session } from '../session.ts'
import { INSTANCE_CODE } from '../state-codes.ts'
import { correlationHash, toStored, toStoredOrNull } from '../text-values.ts'

/** What a guard asks for; the write after it need not look again. */
export function findRevision(
  session: Session,
  tenant: number,
  id: string,
): { readonly version: number } | undefined {
  const row = session.sql.instance.get(tenant, id)
  if (row === undefined) return undefined
  session.seenInstance = { id, seq: row.seq }
  return { version: row.revision }
}

export function putInstance(session: Session, now: Instant, tenant: number, row: NewInstance): void {
  const seen = session.seenInstance
  if (seen?.id === row.id && stepInstance(session, now, seen.seq, row)) return
  const state = INSTANCE_CODE[row.state]
  session.sql.putInstance.run(
    tenant,
    row.id,
    toStored(row.workflow),
    row.definition,
    toStored(row.version),
    row.eventId,
    toStored(row.correlationId),
    row.parent,
    now,
    state,
    row.attention,
    row.revision,
    now,
    state === 0 ? null : now,
    toStored(markingText(row.marking)),
    toStored(row.body),
  )
}

/** Whether it was a plain step, which keeps the properties that the instance started with. */
function stepInstance(session: Session, now: Instant, seq: number, row: NewInstance): boolean {
  const { changes } = session.sql.stepInstance.run(
    INSTANCE_CODE[row.state],
    row.attention,
    row.revision,
    now,
    toStored(markingText(row.marking)),
    toStored(row.body),
    seq,
    toStored(row.workflow),
    row.definition,
    toStored(row.version),
    row.eventId,
    toStored(row.correlationId),
    row.parent,
  )
  return Number(changes) > 0
}

export function addHistory(session: Session, now: Instant, tenant: number, row: NewHistory): void {
  session.sql.addHistory.run(tenant, row.instance, row.sequence, row.type, now, toStored(row.body))
}

export function findCorrelation(
  session: Session,
  tenant: number,
  key: string,
): { readonly version: number } | undefined {
  return session.sql.correlation.get(correlationHash(tenant, key), tenant, toStored(key))
}

export function putCorrelation(
  { sql }: Session,
  tenant: number,
  key: string,
  version: number,
  body: string,
): void {
  const hash = correlationHash(tenant, key)
  const stored = toStored(key)
  const { changes } = sql.changeCorrelation.run(version, toStored(body), hash, tenant, stored)
  if (Number(changes) === 0) sql.addCorrelation.run(hash, tenant, version, stored, toStored(body))
}

export function deleteCorrelation({ sql }: Session, tenant: number, key: string): void {
  sql.deleteCorrelation.run(correlationHash(tenant, key), tenant, toStored(key))
}

export function putOrphan(session: Session, now: Instant, tenant: number, row: NewOrphan): void {
  session.sql.putOrphan.run(
    tenant,
    row.id,
    row.version,
    row.state,
    row.reason,
    toStored(row.workflow),
    toStored(row.trigger),
    row.eventId,
    row.workId,
    toStored(row.keys),
    row.instance satisfies InstanceId | null,
    toStoredOrNull(row.by),
    toStoredOrNull(row.note),
    row.expiresInMs === null ? null : now + row.expiresInMs,
    now,
    now,
  )
}
