// Jobs that enter, re-enter or leave their lane, over rows that a store reads and writes. lane-positions.ts decides who gets a
// position.

import { assert } from '../../foundation/errors/index.ts'
import type { TenantId, WorkId } from '../../foundation/ids/index.ts'
import type { Instant } from '../../foundation/time/index.ts'
import type { Counters, NewWork, Note, SettledState, WorkRow } from '../../queue/work/index.ts'
import {
  chooseWork,
  EMPTY_LANE,
  enterLane,
  type LaneCounts,
  leaveLane,
  promoteWork,
  stopWaiting,
} from './lane-positions.ts'
import { againWork, type Moment, settleWork } from './row-writes.ts'

/** The fields of a job that lane steps need. */
export type LaneItem = Pick<
  WorkRow,
  'id' | 'consumer' | 'lane' | 'state' | 'dueAt' | 'hasPlace' | 'isFrozen' | 'into' | 'expiresAt'
>

export interface LaneState extends LaneCounts {
  readonly tenant: TenantId
  readonly consumer: string
  readonly key: string
  readonly version: string | null
  readonly updatedAt: Instant
}

/** The tenant's rows, including the changes of the commit under way. */
export interface LaneRows<Item extends LaneItem> {
  findItem(id: WorkId): Item | undefined
  putItem(item: Item): void
  findLane(consumer: string, key: string): LaneState | undefined
  putLane(lane: LaneState): void
  /** By creation, and then by id. */
  findOldestWaiting(consumer: string, key: string): Item | undefined
}

type Progress = { readonly work: WorkId; readonly counters: Counters; readonly note: Note }
type Place = 'keep' | { readonly to: WorkId }

/** A job that is in a lane, or enters it. */
type Member = { readonly consumer: string; readonly lane: string }
type Laned<Item> = Item & { readonly lane: string }

function isLaned<Item extends LaneItem>(item: Item): item is Laned<Item> {
  return item.lane !== null
}

function laneOf<Item extends LaneItem>(rows: LaneRows<Item>, moment: Moment, member: Member): LaneState {
  const { consumer, lane } = member
  const { tenant, now } = moment
  return (
    rows.findLane(consumer, lane) ?? {
      ...EMPTY_LANE,
      ...{ tenant, consumer, key: lane, version: null, updatedAt: now },
    }
  )
}

function putLane<Item extends LaneItem>(
  rows: LaneRows<Item>,
  moment: Moment,
  member: Member,
  changes: Partial<LaneCounts & { version: string }>,
): void {
  rows.putLane({ ...laneOf(rows, moment, member), ...changes, updatedAt: moment.now })
}

function promoteOldest<Item extends LaneItem>(rows: LaneRows<Item>, { now }: Moment, member: Member): void {
  const oldest = rows.findOldestWaiting(member.consumer, member.lane)
  assert(oldest, `nobody waits in the lane ${member.lane} of ${member.consumer}`)
  rows.putItem(promoteWork(now, oldest))
}

/** A new job enters. `place`: its initial lane state; call `finish` once its row is stored. */
export function comeIn<Item extends LaneItem>(
  rows: LaneRows<Item>,
  moment: Moment,
  { consumer, lane }: NewWork,
  inPlaceOf: WorkId | undefined,
): { readonly place: 'none' | 'has' | 'waits'; finish(): void } {
  if (lane === undefined) return { place: 'none', finish: () => {} }
  const member = { consumer, lane: lane.key }
  const before = inPlaceOf === undefined ? undefined : rows.findItem(inPlaceOf)
  const takesOver = before?.hasPlace === true && before.lane === lane.key && before.consumer === consumer
  if (takesOver) rows.putItem({ ...before, hasPlace: false })
  const step = enterLane(laneOf(rows, moment, member), lane.width, takesOver)
  putLane(rows, moment, member, step.counts)
  return {
    place: step.hasPlace ? 'has' : 'waits',
    finish: () => {
      if (step.promotes) promoteOldest(rows, moment, member)
    },
  }
}

/** `work.settle`: the job, and what happens to its position. */
export function settleItem<Item extends LaneItem>(
  rows: LaneRows<Item>,
  moment: Moment,
  write: Progress & {
    readonly to: SettledState
    readonly place?: Place
    readonly laneVersion?: string
    readonly into?: WorkId
  },
): void {
  const item = rows.findItem(write.work)
  if (item === undefined) return
  const keeps = write.place === 'keep' && item.hasPlace
  rows.putItem({ ...settleWork(moment, item, write), hasPlace: keeps })
  if (!isLaned(item)) return
  goOut(rows, moment, item, write.place)
  if (write.laneVersion !== undefined) putLane(rows, moment, item, { version: write.laneVersion })
}

/** `lane.leave`. */
export function leaveItem<Item extends LaneItem>(rows: LaneRows<Item>, moment: Moment, id: WorkId): void {
  const item = rows.findItem(id)
  if (!item?.hasPlace || !isLaned(item)) return
  rows.putItem({ ...item, hasPlace: false })
  goOut(rows, moment, item, undefined)
}

/** The effect of leaving on the lane; the job's row is as before. */
function goOut<Item extends LaneItem>(
  rows: LaneRows<Item>,
  moment: Moment,
  item: Laned<Item>,
  place: Place | undefined,
): void {
  const lane = laneOf(rows, moment, item)
  if (item.state === 'waiting') putLane(rows, moment, item, stopWaiting(lane))
  if (!item.hasPlace || place === 'keep') return
  const next = place === undefined ? undefined : rows.findItem(place.to)
  if (next?.state === 'waiting' && next.lane === item.lane && next.consumer === item.consumer) {
    putLane(rows, moment, item, stopWaiting(lane))
    rows.putItem(chooseWork(moment.now, next))
    return
  }
  const step = leaveLane(lane)
  putLane(rows, moment, item, step.counts)
  if (step.promotes) promoteOldest(rows, moment, item)
}

/** `work.again`: a job of a lane without a position enters again, unless it already waits for one. */
export function againItem<Item extends LaneItem>(
  rows: LaneRows<Item>,
  moment: Moment,
  write: Progress & { readonly delayMs: number; readonly expiresInMs?: number },
): void {
  const item = rows.findItem(write.work)
  if (item === undefined) return
  const again = againWork(moment, item, write)
  if (!isLaned(item) || item.hasPlace) {
    rows.putItem(again)
    return
  }
  if (item.state === 'waiting') {
    rows.putItem({ ...again, state: 'waiting' })
    return
  }
  const lane = laneOf(rows, moment, item)
  const step = enterLane(lane, lane.width, false)
  putLane(rows, moment, item, step.counts)
  rows.putItem(step.hasPlace ? { ...again, hasPlace: true } : { ...again, state: 'waiting' })
  if (step.promotes) promoteOldest(rows, moment, item)
}
