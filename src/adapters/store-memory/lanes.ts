// Lanes over the state: who gets a place is decided in src/core/commit/lanes.ts, this file keeps the rows.

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
import type { WorkId } from '../../core/ids/index.ts'
import type { NewWork, WorkRow } from '../../core/work/index.ts'
import { compareText, findWork, type LaneState, laneKey, type MemoryState } from './state.ts'
import { put, putWorkRow, type Transaction } from './transaction.ts'

/** Whoever is in a lane, or comes into it. */
type Member = Pick<WorkRow, 'consumer'> & { readonly lane: string }

export function isLaned<Row extends WorkRow>(row: Row): row is Row & { readonly lane: string } {
  return row.lane !== null
}

function keyOf(tx: Transaction, { consumer, lane }: Member): string {
  return laneKey(tx.tenant, consumer, lane)
}

function laneOf(tx: Transaction, { consumer, lane }: Member): LaneState {
  const row = tx.state.lanes.get(keyOf(tx, { consumer, lane }))
  return row ?? { tenant: tx.tenant, consumer, key: lane, version: null, updatedAt: tx.now, ...EMPTY_LANE }
}

function putLane(tx: Transaction, member: Member, changes: Partial<LaneCounts & { version: string }>): void {
  const row = Object.freeze({ ...laneOf(tx, member), ...changes, updatedAt: tx.now })
  put(tx, tx.state.lanes, keyOf(tx, member), row)
}

/** Those that wait, the eldest first. */
export function waitingRows(state: MemoryState, key: string): readonly WorkRow[] {
  const rows = [...(state.waiting.get(key) ?? [])].flatMap((id) => state.work.get(id) ?? [])
  return rows.sort((a, b) => a.createdAt - b.createdAt || compareText(a.id, b.id))
}

function promoteEldest(tx: Transaction, member: Member): void {
  const [eldest] = waitingRows(tx.state, keyOf(tx, member))
  assert(eldest, `nobody waits in the lane ${member.lane} of ${member.consumer}`)
  putWorkRow(tx, promoteWork(tx.now, eldest))
}

/** Whether a new item has a place, and what becomes of the lane; call `settle` once its row is there. */
export function comeIn(tx: Transaction, work: NewWork, inPlaceOf: WorkId | undefined) {
  const { lane, consumer } = work
  if (lane === undefined) return { place: 'none' as const, settle: () => {} }
  const member = { consumer, lane: lane.key }
  const before = inPlaceOf === undefined ? undefined : findWork(tx.state, tx.tenant, inPlaceOf)
  const takesOver = before?.hasPlace === true && before.lane === lane.key && before.consumer === consumer
  if (takesOver) putWorkRow(tx, { ...before, hasPlace: false })
  const step = enterLane(laneOf(tx, member), lane.width, takesOver)
  putLane(tx, member, step.counts)
  return {
    place: step.hasPlace ? ('has' as const) : ('waits' as const),
    settle: () => {
      if (step.promotes) promoteEldest(tx, member)
    },
  }
}

/** One of a lane that has no place comes in anew: `row` as it would be with one. */
export function comeBack(tx: Transaction, before: WorkRow & { readonly lane: string }, row: WorkRow): void {
  if (before.state === 'waiting') {
    putWorkRow(tx, { ...row, state: 'waiting' })
    return
  }
  const lane = laneOf(tx, before)
  const step = enterLane(lane, lane.width, false)
  putLane(tx, before, step.counts)
  putWorkRow(tx, step.hasPlace ? { ...row, hasPlace: true } : { ...row, state: 'waiting' })
  if (step.promotes) promoteEldest(tx, before)
}

/** What settling does to the lane; the row is the one before it. */
export function goOut(
  tx: Transaction,
  row: WorkRow & { readonly lane: string },
  place: 'keep' | { readonly to: WorkId } | undefined,
): void {
  if (row.state === 'waiting') putLane(tx, row, stopWaiting(laneOf(tx, row)))
  if (!row.hasPlace || place === 'keep') return
  const next = place === undefined ? undefined : findWork(tx.state, tx.tenant, place.to)
  if (next?.state === 'waiting' && next.lane === row.lane && next.consumer === row.consumer) {
    putLane(tx, row, stopWaiting(laneOf(tx, row)))
    putWorkRow(tx, chooseWork(tx.now, next))
  } else {
    const step = leaveLane(laneOf(tx, row))
    putLane(tx, row, step.counts)
    if (step.promotes) promoteEldest(tx, row)
  }
}

export function noteVersion(
  tx: Transaction,
  row: WorkRow & { readonly lane: string },
  version: string,
): void {
  putLane(tx, row, { version })
}
