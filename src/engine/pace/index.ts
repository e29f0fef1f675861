export { followPace } from './follow.ts'
export { nameOf } from './names.ts'
export { makePace, type Offer, type Pace, type RoutePace } from './pace.ts'
