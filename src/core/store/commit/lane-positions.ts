// Who has a place in a lane. Pure: counts before and a step give counts after, and whether the eldest that waits gets a place.
//
// Invariants: LA1 no step lets the places grow beyond the width. LA2 nobody overtakes: who comes while others wait, waits. LA3 a
// step promotes one item at most, so that what a commit touches is known beforehand: a lane that was widened fills up step by
// step.

import type { Instant } from '../../foundation/time/index.ts'
import type { WorkRow } from '../../queue/work/index.ts'

export interface LaneCounts {
  /** As the item that came last has it. */
  readonly width: number
  readonly places: number
  readonly waiting: number
}

/** `promotes`: the eldest of those that wait, the newcomer among them, gets a place; the counts say so already. */
export interface LaneStep {
  readonly counts: LaneCounts
  readonly promotes: boolean
}

/** A lane that nobody was in, or whose row retention took. */
export const EMPTY_LANE: LaneCounts = { width: 1, places: 0, waiting: 0 }

/** One more comes: `takesOver` if another hands its own place to it. Without a place it waits. */
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

/** One gives its place up. */
export function leaveLane(before: LaneCounts): LaneStep {
  const { width, waiting } = before
  const places = before.places - 1
  if (waiting === 0 || places >= width) return { counts: { width, places, waiting }, promotes: false }
  return { counts: { width, places: places + 1, waiting: waiting - 1 }, promotes: true }
}

/** One that waits does so no longer: it was settled, or another handed its place to it. */
export function stopWaiting(before: LaneCounts): LaneCounts {
  return { ...before, waiting: before.waiting - 1 }
}

/** The row of one that waited and has a place now: due at the later of now and its own time. */
export function promoteWork<Row extends Pick<WorkRow, 'dueAt'>>(now: Instant, row: Row) {
  return { ...row, state: 'ready' as const, hasPlace: true, dueAt: Math.max(now, row.dueAt) }
}

/** The row of one that was chosen among those that wait. */
export function chooseWork<Row extends object>(now: Instant, row: Row) {
  return { ...row, state: 'ready' as const, hasPlace: true, isFrozen: true, dueAt: now }
}
