// Limits when jobs may run: rates, circuits, closed hosts, drains, endpoint concurrency.

export { type Buckets, makeBuckets } from './connection-buckets.ts'
export type { CallAdmission, ConnectionRefusal, Gate, Where } from './connection-gate.ts'
export { nameOf } from './consumer-keys.ts'
export type { EndpointConcurrency, EndpointConcurrencyView } from './endpoint-concurrency.ts'
export { type FlowControl, makeFlowControl } from './flow-control.ts'
export {
  type FlowControlActions,
  type FlowControlView,
  makeFlowControlActions,
  type WorkflowCircuit,
} from './flow-control-view.ts'
export { limitsSaid } from './limits-said.ts'
export { reportInternalEnds } from './report-internal-results.ts'
export { makeSharedBuckets } from './shared-connection-buckets.ts'
export { type BucketName, makeSharedPermits, type SharedPermits } from './shared-permits.ts'
export { makeThrottled } from './throttle.ts'
