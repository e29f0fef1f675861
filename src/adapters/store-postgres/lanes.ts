// Items that come into their lane or leave it: who gets a place is decided in src/core/commit/lanes.ts, this file keeps the rows.

import {
  chooseWork,
  EMPTY_LANE,
  enterLane,
  type LaneCounts,
  leaveLane,
  promoteWork,
  stopWaiting,
} from '../../core/commit/index.ts'
import { assert } from '../../core/errors/index.ts'
import type { TenantId, WorkId } from '../../core/ids/index.ts'
import type { NewWork, WorkRow } from '../../core/work/index.ts'
import { findEldest, findWork, type LaneState, putWork, type View, type WorkHead } from './changes.ts'
import { Overtaken } from './errors.ts'
import { laneKey } from './keys.ts'

/** Whoever is in a lane, or comes into it. */
type Member = Pick<WorkRow, 'tenant' | 'consumer'> & { readonly lane: string }
type InLane = WorkHead & { readonly lane: string }

export function isLaned(row: WorkHead): row is InLane {
  return row.lane !== null
}

const keyOf = ({ tenant, consumer, lane }: Member) => laneKey(tenant, consumer, lane)

function laneOf({ changes, loaded }: View, member: Member): LaneState {
  const key = keyOf(member)
  const row = changes.lanes.get(key) ?? loaded.lanes.get(key)
  if (row) return row
  const { tenant, consumer, lane } = member
  return { tenant, consumer, key: lane, version: null, updatedAt: loaded.now, ...EMPTY_LANE }
}

/** The lane of one that is in it: it was locked by the item's row, which somebody may have added since. */
function ownLane(view: View, row: InLane): LaneState {
  const lane = laneOf(view, row)
  if (lane.places + lane.waiting === 0) throw new Overtaken('an item is in a lane that was not locked')
  return lane
}

function putLane(view: View, member: Member, changes: Partial<LaneCounts & { version: string }>): void {
  view.changes.lanes.set(keyOf(member), {
    ...laneOf(view, member),
    ...changes,
    updatedAt: view.loaded.now,
  })
}

function promoteEldest(view: View, member: Member): void {
  const eldest = findEldest(view, keyOf(member))
  assert(eldest, `nobody waits in the lane ${member.lane} of ${member.consumer}`)
  putWork(view, promoteWork(view.loaded.now, eldest))
}

/** Whether a new item has a place, and what becomes of the lane; call `settle` once its row is there. */
export function comeIn(view: View, tenant: TenantId, work: NewWork, inPlaceOf: WorkId | undefined) {
  const { lane, consumer } = work
  if (lane === undefined) return { place: 'none' as const, settle: () => {} }
  const member = { tenant, consumer, lane: lane.key }
  const before = inPlaceOf === undefined ? undefined : findWork(view, tenant, inPlaceOf)
  const takesOver = before?.hasPlace === true && before.lane === lane.key && before.consumer === consumer
  if (takesOver) putWork(view, { ...before, hasPlace: false })
  const step = enterLane(laneOf(view, member), lane.width, takesOver)
  putLane(view, member, step.counts)
  return {
    place: step.hasPlace ? ('has' as const) : ('waits' as const),
    settle: () => {
      if (step.promotes) promoteEldest(view, member)
    },
  }
}

/** One of a lane that has no place comes in anew: `row` as it would be with one. */
export function comeBack(view: View, before: InLane, row: WorkHead): void {
  if (before.state === 'waiting') {
    putWork(view, { ...row, state: 'waiting' })
    return
  }
  const lane = laneOf(view, before)
  const step = enterLane(lane, lane.width, false)
  putLane(view, before, step.counts)
  putWork(view, step.hasPlace ? { ...row, hasPlace: true } : { ...row, state: 'waiting' })
  if (step.promotes) promoteEldest(view, before)
}

/** What settling does to the lane; the row is the one before it. */
export function goOut(view: View, row: InLane, place: 'keep' | { readonly to: WorkId } | undefined): void {
  if (row.state === 'waiting') putLane(view, row, stopWaiting(ownLane(view, row)))
  if (!row.hasPlace || place === 'keep') return
  const next = place === undefined ? undefined : findWork(view, row.tenant, place.to)
  if (next?.state === 'waiting' && next.lane === row.lane && next.consumer === row.consumer) {
    putLane(view, row, stopWaiting(ownLane(view, row)))
    putWork(view, chooseWork(view.loaded.now, next))
  } else {
    const step = leaveLane(ownLane(view, row))
    putLane(view, row, step.counts)
    if (step.promotes) promoteEldest(view, row)
  }
}

export function noteVersion(view: View, row: InLane, version: string): void {
  putLane(view, row, { version })
}
