export { type Batches, makeBatches } from './batches.ts'
export { endBatches } from './ends.ts'
export { makeFreeze } from './freeze.ts'
export { makeGathering } from './gather.ts'
