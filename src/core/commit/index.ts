export type { Gatherer, GatherOptions } from './gather.ts'
export { makeGatherer } from './gather.ts'
export {
  chooseWork,
  EMPTY_LANE,
  enterLane,
  type LaneCounts,
  type LaneStep,
  leaveLane,
  promoteWork,
  stopWaiting,
} from './lanes.ts'
export {
  againWork,
  bearWork,
  changeEscalation,
  doneEntry,
  isNewGeneration,
  type Moment,
  observeEntry,
  putFailure,
  putLetter,
  raiseEscalation,
  reserveEntry,
  settleEntry,
  settleWork,
} from './rows.ts'
