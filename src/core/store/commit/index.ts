export {
  applyWrite,
  type CorrelationRow,
  type RecordRow,
  type WriteTables,
  type Writing,
} from './apply-write.ts'
export { weighCommit } from './commit-weight.ts'
export type { Gatherer, GatherOptions } from './group-commit.ts'
export { makeGatherer } from './group-commit.ts'
export {
  EMPTY_LANE,
  enterLane,
  type LaneCounts,
  type LaneStep,
  leaveLane,
  stopWaiting,
} from './lane-positions.ts'
export type { LaneItem, LaneRows, LaneState } from './lane-rows.ts'
export { attemptsText, type Moment, newWorkRow } from './row-writes.ts'
export type { RecordKind, Write } from './write.ts'
