export { makePaceActions, type PaceActions, type PaceView } from './actions.ts'
export { followPace } from './follow.ts'
export { nameOf } from './names.ts'
export { makePace, type Pace } from './pace.ts'
