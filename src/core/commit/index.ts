export type { Gatherer, GatherOptions } from './gather.ts'
export { makeGatherer } from './gather.ts'
export {
  againItem,
  comeIn,
  type LaneItem,
  type LaneRows,
  type LaneState,
  leaveItem,
  settleItem,
} from './lane-rows.ts'
export {
  EMPTY_LANE,
  enterLane,
  type LaneCounts,
  type LaneStep,
  leaveLane,
  stopWaiting,
} from './lanes.ts'
export {
  appendHistory,
  attemptsText,
  bearWork,
  changeEntry,
  changeEscalation,
  type LedgerWrite,
  ledgerKeyOf,
  type Moment,
  putFailure,
  putInstance,
  putLetter,
  putOrphan,
  putRun,
  raiseEscalation,
} from './rows.ts'
