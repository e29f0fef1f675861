// Retention of ended instances, with their history, and of closed orphans.
//
// Instances are walked by their ids up to those that are too young to have ended long enough ago. A long history is
// removed in pieces like everything else, and its instance with the last of them.

import { CLOCK_MARGIN_MS } from '../../../core/events/event/index.ts'
import { instanceIdAt } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import { longestKeepMs, OPEN_ORPHANS, type PruneRequest } from '../../../core/store/retention/index.ts'
import type { Row } from '../rows.ts'
import type { Session } from '../session.ts'
import { type Gone, type Piece, walkClosed } from './prune-others.ts'

interface EndedInstance {
  readonly seq: number
  readonly id: string
  /** How much of its history is removed. */
  readonly history: number
  readonly isWhole: boolean
}

export function walkInstances(
  session: Session,
  now: Instant,
  tenant: number,
  request: PruneRequest,
  after: string,
  scanMax: number,
): Piece {
  const { sql } = session
  const until = now - longestKeepMs(request)
  const rows: { seq: number; id: string; ended_at: number | null }[] = sql.someInstances.all(
    tenant,
    after,
    instanceIdAt(until + CLOCK_MARGIN_MS),
    scanMax + 1,
  )
  const over: EndedInstance[] = []
  let left = scanMax
  let position = after
  let isMore = false
  for (const { seq, id, ended_at } of rows) {
    isMore = left <= 0
    if (isMore) break
    let cost = 1
    if (ended_at !== null && ended_at <= until) {
      const length: number = sql.historyLength.get(tenant, id, left).n
      // An instance counts only if it is removed, so that every step removes some of a remaining history.
      isMore = length >= left
      cost = isMore ? left : 1 + length
      over.push({ seq, id, history: isMore ? left : length, isWhole: !isMore })
    }
    left -= cost
    if (isMore) break
    position = id
  }
  return {
    seen: scanMax - left,
    isAny: over.length > 0,
    remove: (gone) => deleteInstances(session, tenant, over, gone),
    next: isMore ? position : null,
  }
}

function deleteInstances({ sql }: Session, tenant: number, over: readonly EndedInstance[], gone: Gone): void {
  for (const { seq, id, history, isWhole } of over) {
    if (history > 0) gone.history += Number(sql.pruneHistory.run(tenant, id, history).changes)
    if (isWhole) gone.instances += Number(sql.pruneInstance.run(seq).changes)
  }
}

export function walkOrphans(
  session: Session,
  now: Instant,
  tenant: number,
  request: PruneRequest,
  after: string,
  scanMax: number,
): Piece {
  const rows: Row[] = session.sql.someOrphans.all(tenant, after, scanMax + 1)
  const open: readonly unknown[] = OPEN_ORPHANS
  const isOver = ({ state }: Row) => !open.includes(state)
  return walkClosed(rows, { after, scanMax, until: now - longestKeepMs(request), isOver }, (gone, row) => {
    gone.orphans += Number(session.sql.pruneOrphan.run(row.seq).changes)
  })
}
