// Who holds a position in a lane. Pure: the counts before and a step give the counts after, and whether the oldest waiting job
// gets a position.
//
// Invariants: LA1 no step raises the held positions above the width. LA2 no job overtakes: one that arrives while others wait,
// waits. LA3 a step promotes at most one job, so that the rows a commit touches are known beforehand: a lane that was widened
// fills up step by step.

import type { Instant } from '../../foundation/time/index.ts'
import type { WorkRow } from '../../queue/work/index.ts'

export interface LaneCounts {
  /** As in the latest job. */
  readonly width: number
  readonly places: number
  readonly waiting: number
}

/** `promotes`: the oldest waiting job, including the newcomer, gets a position; the counts already include it. */
export interface LaneStep {
  readonly counts: LaneCounts
  readonly promotes: boolean
}

/** A lane that was never used, or whose row was removed by retention. */
export const EMPTY_LANE: LaneCounts = { width: 1, places: 0, waiting: 0 }

/** One more arrives: `takesOver` if it takes the position of another job. Without a position it waits. */
export function enterLane(
  before: LaneCounts,
  width: number,
  takesOver: boolean,
): LaneStep & { readonly hasPlace: boolean } {
  const { places, waiting } = before
  if (takesOver) return { counts: { width, places, waiting }, hasPlace: true, promotes: false }
  if (places >= width)
    return { counts: { width, places, waiting: waiting + 1 }, hasPlace: false, promotes: false }
  const counts = { width, places: places + 1, waiting }
  return waiting === 0
    ? { counts, hasPlace: true, promotes: false }
    : { counts, hasPlace: false, promotes: true }
}

/** One gives up its position. */
export function leaveLane(before: LaneCounts): LaneStep {
  const { width, waiting } = before
  const places = before.places - 1
  if (waiting === 0 || places >= width) return { counts: { width, places, waiting }, promotes: false }
  return { counts: { width, places: places + 1, waiting: waiting - 1 }, promotes: true }
}

/** One stops waiting: it was settled, or another handed over its position. */
export function stopWaiting(before: LaneCounts): LaneCounts {
  return { ...before, waiting: before.waiting - 1 }
}

/** The row of a waiting job that got a position: due at the later of now and its own time. */
export function promoteWork<Row extends Pick<WorkRow, 'dueAt'>>(now: Instant, row: Row) {
  return { ...row, state: 'ready' as const, hasPlace: true, dueAt: Math.max(now, row.dueAt) }
}

/** The row of a job that was chosen among the waiting ones. */
export function chooseWork<Row extends object>(now: Instant, row: Row) {
  return { ...row, state: 'ready' as const, hasPlace: true, isFrozen: true, dueAt: now }
}
