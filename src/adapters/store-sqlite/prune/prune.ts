// Retention: events that nothing needs any more are removed, with everything that depends on them; then ledger entries,
// lanes, escalations, instances, orphans, runs and facts. Scanning needs no transaction (no other process writes), so a scan
// that finds nothing costs no flush.

import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Pruned, PruneRequest } from '../../../core/store/retention/index.ts'
import { keeperOf, keepMsOf, pruneEnd } from '../../../core/store/retention/index.ts'
import { findOwnHash } from '../commit/keys.ts'
import { walkFacts } from '../facts.ts'
import { walkRuns } from '../runs.ts'
import type { Session } from '../session.ts'
import { fromStored, type Stored } from '../text-values.ts'
import { walkInstances, walkOrphans } from './prune-instances.ts'
import { type Gone, none, type Piece, walkEntries, walkEscalations, walkLanes } from './prune-others.ts'

interface OldEvent {
  readonly seq: number
  readonly id: string
  readonly source: Stored
  readonly causation_id: string | null
  readonly received_at: number
  readonly dedup_until: number
  readonly dedup_key: Stored
}

/** In this order. A cursor is the name of the walk and its position; for events, their id alone. */
const WALKS = {
  events: walkEvents,
  ledger: walkEntries,
  lanes: walkLanes,
  escalations: walkEscalations,
  instances: walkInstances,
  orphans: walkOrphans,
  runs: walkRuns,
  facts: walkFacts,
}
const NAMES = Object.keys(WALKS) as (keyof typeof WALKS)[]

export function pruneRows(
  session: Session,
  now: Instant,
  request: PruneRequest,
  transact: (work: () => Gone) => Gone,
): Pruned {
  const tenant = session.tenants.get(request.tenant)
  if (tenant === undefined) return { ...none(), next: null }
  let { name, after } = parseCursor(request.after)
  let left = request.scanMax
  let gone = none()
  for (;;) {
    const piece = WALKS[name](session, now, tenant, request, after, left)
    // Before the next walk scans: an entry may be removed once its event is.
    if (piece.isAny) gone = transact(() => remove(session, piece, gone))
    left -= piece.seen
    if (piece.next !== null)
      return { ...gone, next: name === 'events' ? piece.next : `${name} ${piece.next}` }
    const following = NAMES[NAMES.indexOf(name) + 1]
    if (following === undefined) return { ...gone, next: null }
    name = following
    after = ''
  }
}

/** Counts on a copy: a transaction may be executed again. */
function remove(session: Session, piece: Piece, before: Gone): Gone {
  session.isDirty = true
  const gone = { ...before }
  piece.remove(gone)
  return gone
}

function parseCursor(cursor: string | null): { name: keyof typeof WALKS; after: string } {
  const at = cursor?.indexOf(' ') ?? -1
  if (cursor === null || at < 0) return { name: 'events', after: cursor ?? '' }
  const name = NAMES.find((known) => known === cursor.slice(0, at)) ?? 'events'
  return { name, after: cursor.slice(at + 1) }
}

function walkEvents(
  session: Session,
  now: Instant,
  tenant: number,
  request: PruneRequest,
  after: string,
  scanMax: number,
): Piece {
  const seen: OldEvent[] = session.sql.oldEvents.all(tenant, after, pruneEnd(request, now), scanMax + 1)
  const isMore = seen.length > scanMax
  if (isMore) seen.pop()
  const going = new Set<string>()
  const isOver = (row: OldEvent) =>
    row.received_at + keepMsOf(request, fromStored(row.source)) <= now &&
    (row.dedup_until <= now || hashOf(session, tenant, row) === null) &&
    !isNeeded(session, tenant, row) &&
    !isKept(session, tenant, row, going)
  const old = seen.filter((row) => {
    if (!isOver(row)) return false
    going.add(row.id)
    return true
  })
  return {
    seen: seen.length,
    isAny: old.length > 0,
    remove: (gone) => deleteEvents(session, tenant, old, gone),
    next: isMore ? (seen.at(-1)?.id ?? after) : null,
  }
}

function isNeeded({ sql }: Session, tenant: number, { seq, id }: OldEvent): boolean {
  return (
    [sql.openWork, sql.openEntry].some((statement) => statement.get(seq) !== undefined) ||
    [sql.openDeadLetter, sql.activeInstance, sql.openOrphan, sql.untold].some(
      (statement) => statement.get(tenant, id) !== undefined,
    )
  )
}

/** By the event it resulted from. `going`: those removed with this piece; a cause comes before what it caused. */
function isKept({ sql }: Session, tenant: number, row: OldEvent, going: ReadonlySet<string>): boolean {
  const keeper = keeperOf({ source: fromStored(row.source), causationId: row.causation_id })
  return keeper !== null && !going.has(keeper) && sql.eventSeq.get(tenant, keeper) !== undefined
}

function hashOf(session: Session, tenant: number, { seq, source, dedup_key }: OldEvent): string | null {
  return findOwnHash(session, tenant, fromStored(source), fromStored(dedup_key), seq)
}

function deleteEvents(session: Session, tenant: number, old: readonly OldEvent[], gone: Gone): void {
  const { sql } = session
  for (const event of old) {
    const { seq, id } = event
    gone.attempts += Number(sql.pruneAttempts.run(seq).changes)
    gone.runs += Number(sql.pruneRuns.run(seq, tenant).changes)
    gone.work += Number(sql.pruneWork.run(seq).changes)
    gone.deadLetters += Number(sql.pruneDeadLetters.run(tenant, id).changes)
    gone.failures += Number(sql.pruneFailures.run(tenant, id).changes)
    const hash = hashOf(session, tenant, event)
    if (hash !== null) {
      gone.dedup += 1
      session.keys.forget(hash)
    }
    sql.pruneRepeats.run(seq)
    gone.events += Number(sql.pruneEvent.run(seq).changes)
  }
}
