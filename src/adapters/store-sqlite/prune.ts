// Retention: events that nothing needs any more go, with everything that hangs on them. Looking needs no transaction (nobody
// else writes), so a look that finds nothing costs no flush.

import type { Pruned, PruneRequest } from '../../core/retention/index.ts'
import { keeperOf, keepMsOf, pruneEnd } from '../../core/retention/index.ts'
import type { Instant } from '../../core/time/index.ts'
import { findOwnHash } from './keys.ts'
import type { Session } from './session.ts'
import { fromStored, type Stored } from './text.ts'

interface OldEvent {
  readonly seq: number
  readonly id: string
  readonly source: Stored
  readonly causation_id: string | null
  readonly received_at: number
  readonly dedup_until: number
  readonly dedup_key: Stored
}

type Gone = { -readonly [Name in Exclude<keyof Pruned, 'next'>]: number }

export function pruneEvents(
  session: Session,
  now: Instant,
  request: PruneRequest,
  transact: (work: () => Gone) => Gone,
): Pruned {
  const tenant = session.tenants.get(request.tenant)
  if (tenant === undefined) return { ...none(), next: null }
  const seen: OldEvent[] = session.sql.oldEvents.all(
    tenant,
    request.after ?? '',
    pruneEnd(request, now),
    request.scanMax + 1,
  )
  const isMore = seen.length > request.scanMax
  if (isMore) seen.pop()
  const going = new Set<string>()
  const isOver = (row: OldEvent) =>
    row.received_at + keepMsOf(request, fromStored(row.source)) <= now &&
    (row.dedup_until <= now || hashOf(session, tenant, row) === null) &&
    !isNeeded(session, tenant, row.id) &&
    !isKept(session, tenant, row, going)
  const old = seen.filter((row) => {
    if (!isOver(row)) return false
    going.add(row.id)
    return true
  })
  const gone = old.length === 0 ? none() : transact(() => deleteEvents(session, tenant, old))
  return { ...gone, next: isMore ? (seen.at(-1)?.id ?? null) : null }
}

const none = (): Gone => ({ events: 0, work: 0, attempts: 0, deadLetters: 0, dedup: 0 })

function isNeeded({ sql }: Session, tenant: number, id: string): boolean {
  return [sql.openWork, sql.openLetter, sql.openEntry].some(
    (statement) => statement.get(tenant, id) !== undefined,
  )
}

/** By the event that it was made of. `going`: those that go with this piece; a cause is before what it caused. */
function isKept({ sql }: Session, tenant: number, row: OldEvent, going: ReadonlySet<string>): boolean {
  const keeper = keeperOf({ source: fromStored(row.source), causationId: row.causation_id })
  return keeper !== null && !going.has(keeper) && sql.hasEvent.get(tenant, keeper) !== undefined
}

function hashOf(session: Session, tenant: number, { seq, source, dedup_key }: OldEvent): string | null {
  return findOwnHash(session, tenant, fromStored(source), fromStored(dedup_key), seq)
}

function deleteEvents(session: Session, tenant: number, old: readonly OldEvent[]): Gone {
  const { sql } = session
  session.isDirty = true
  const gone = none()
  for (const event of old) {
    const { seq, id } = event
    gone.attempts += Number(sql.pruneAttempts.run(tenant, id).changes)
    gone.work += Number(sql.pruneWork.run(tenant, id).changes)
    gone.deadLetters += Number(sql.pruneLetters.run(tenant, id).changes)
    const hash = hashOf(session, tenant, event)
    if (hash !== null) {
      gone.dedup += 1
      session.keys.forget(hash)
    }
    sql.pruneRepeats.run(seq)
    gone.events += Number(sql.pruneEvent.run(seq).changes)
  }
  return gone
}
