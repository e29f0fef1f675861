// Limits when jobs may run: rates, circuits, closed hosts, drains, endpoint concurrency.

export { type Buckets, makeBuckets } from './connection-buckets.ts'
export type { ConnectionRefusal, Entrance, Gate, Where } from './connection-gate.ts'
export { nameOf } from './consumer-names.ts'
export type { EndpointWindow, Windows } from './endpoint-concurrency.ts'
export { makePace, type Pace } from './flow-control.ts'
export { makePaceActions, type PaceActions, type PaceView } from './flow-control-view.ts'
export { followPace } from './follow-circuits.ts'
export { tellInternalEnds } from './internal-ends.ts'
export { makeSharedBuckets } from './shared-connection-buckets.ts'
export { type BucketName, type Draws, makeDraws } from './shared-permits.ts'
export { makePaced } from './throttle.ts'
