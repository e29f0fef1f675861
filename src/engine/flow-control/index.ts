// Limits when jobs may run: rates, circuits, closed hosts, drains, endpoint concurrency.

export { type Buckets, makeBuckets } from './connection-buckets.ts'
export type { ConnectionRefusal, Entrance, Gate, Where } from './connection-gate.ts'
export { nameOf } from './consumer-names.ts'
export type { EndpointConcurrencyView, EndpointConcurrency } from './endpoint-concurrency.ts'
export { makeFlowControl, type FlowControl } from './flow-control.ts'
export { makeFlowControlActions, type FlowControlActions, type FlowControlView } from './flow-control-view.ts'
export { followCircuits } from './follow-circuits.ts'
export { makeSharedBuckets } from './shared-connection-buckets.ts'
export { type BucketName, type SharedPermits, makeSharedPermits } from './shared-permits.ts'
export { makeThrottled } from './throttle.ts'
