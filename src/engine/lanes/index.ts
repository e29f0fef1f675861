export type { HeldLane, LaneActions } from './actions.ts'
export { makeLaneActions } from './actions.ts'
export type { Turns } from './turns.ts'
export { makeTurns } from './turns.ts'
