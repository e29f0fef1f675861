export {
  applyWrite,
  type CorrelationRow,
  type RecordRow,
  type WriteTables,
  type Writing,
} from './apply-write.ts'
export type { Gatherer, GatherOptions } from './gather.ts'
export { makeGatherer } from './gather.ts'
export type { LaneItem, LaneRows, LaneState } from './lane-rows.ts'
export {
  EMPTY_LANE,
  enterLane,
  type LaneCounts,
  type LaneStep,
  leaveLane,
  stopWaiting,
} from './lanes.ts'
export { attemptsText, bearWork, type Moment } from './rows.ts'
export type { RecordKind, Write } from './write.ts'
