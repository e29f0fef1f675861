// Lanes in the database: src/core/store/commit/lane-positions.ts decides which job gets a position, this file stores
// the rows. Jobs without a lane never come here.

import { assert } from '../../../core/foundation/errors/index.ts'
import type { WorkId } from '../../../core/foundation/ids/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type { Lane } from '../../../core/queue/work/index.ts'
import {
  EMPTY_LANE,
  enterLane,
  type LaneCounts,
  type LaneStep,
  leaveLane,
  stopWaiting,
} from '../../../core/store/commit/index.ts'
import type { Session } from '../session.ts'
import { WORK_CODE } from '../state-codes.ts'
import { fromStored, isSameText, type Stored, toStored } from '../text-values.ts'

/** The lane of a commit in progress. */
interface LanePosition {
  readonly session: Session
  readonly now: Instant
  readonly tenant: number
  readonly consumer: Stored
  readonly key: Stored
}

interface LanedWork {
  readonly seq: number
  readonly state: number
  readonly consumer: Stored
  readonly lane: Stored
  readonly place: 1 | null
}

type At = Pick<LanePosition, 'session' | 'now' | 'tenant'>

/** The job with its lane; null: it has none. */
export function findLaned({ session, tenant }: At, work: WorkId): LanedWork | null {
  return session.sql.lanedWork.get(tenant, work) ?? null
}

function placeOf(at: At, { consumer, lane }: LanedWork): LanePosition {
  return { ...at, consumer, key: lane }
}

function countsOf({ session, tenant, consumer, key }: LanePosition): LaneCounts {
  return session.sql.lane.get(tenant, consumer, key) ?? EMPTY_LANE
}

function putCounts(place: LanePosition, { width, places, waiting }: LaneCounts): void {
  const { session, now, tenant, consumer, key } = place
  session.sql.putLane.run(tenant, consumer, key, width, places, waiting, now)
}

function take(place: LanePosition, { counts, promotes }: LaneStep): void {
  putCounts(place, counts)
  if (!promotes) return
  const { session, now, tenant, consumer, key } = place
  const oldest: { seq: number } | undefined = session.sql.oldestWaiting.get(tenant, consumer, key)
  assert(oldest, `nobody waits in a lane of tenant ${tenant} that counts some`)
  session.sql.promoteWork.run(now, oldest.seq)
}

/** A new job enters: whether it has a position, and what to do once its row is stored. */
export function comeIn(
  at: At,
  consumer: string,
  lane: Lane,
  inPlaceOf: WorkId | undefined,
): { readonly hasPlace: boolean; readonly finish: () => void } {
  const place: LanePosition = { ...at, consumer: toStored(consumer), key: toStored(lane.key) }
  const before = inPlaceOf === undefined ? null : findLaned(at, inPlaceOf)
  const takesOver =
    before?.place === 1 && isSameText(before.lane, lane.key) && isSameText(before.consumer, consumer)
  if (takesOver) at.session.sql.dropLanePosition.run(before.seq)
  const step = enterLane(countsOf(place), lane.width, takesOver)
  return { hasPlace: step.hasPlace, finish: () => take(place, step) }
}

/** A job that was put back without a position, once its row says that it is ready. */
export function comeBack(at: At, before: LanedWork): void {
  const { sql } = at.session
  if (before.place === 1) return
  if (before.state === WORK_CODE.waiting) {
    sql.waitWork.run(before.seq)
    return
  }
  const place = placeOf(at, before)
  const counts = countsOf(place)
  const step = enterLane(counts, counts.width, false)
  if (step.hasPlace) sql.takeLanePosition.run(before.seq)
  else sql.waitWork.run(before.seq)
  take(place, step)
}

/** What settling does to the lane, once the row is settled; `before` is the job as it was. */
export function goOut(at: At, before: LanedWork, place: 'keep' | { readonly to: WorkId } | undefined): void {
  const { session, now } = at
  const lane = placeOf(at, before)
  if (before.state === WORK_CODE.waiting) putCounts(lane, stopWaiting(countsOf(lane)))
  if (before.place !== 1 || place === 'keep') return
  session.sql.dropLanePosition.run(before.seq)
  const next = place === undefined ? null : findLaned(at, place.to)
  const isNext =
    next?.state === WORK_CODE.waiting &&
    isSameText(next.lane, fromStored(before.lane)) &&
    isSameText(next.consumer, fromStored(before.consumer))
  if (!isNext) {
    take(lane, leaveLane(countsOf(lane)))
    return
  }
  putCounts(lane, stopWaiting(countsOf(lane)))
  session.sql.chooseWork.run(now, next.seq)
}

export function noteVersion(at: At, { consumer, lane }: LanedWork, version: string): void {
  at.session.sql.versionLane.run(toStored(version), at.now, at.tenant, consumer, lane)
}
