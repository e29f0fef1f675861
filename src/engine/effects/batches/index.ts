// Collects jobs of one route into one call, and ends each member with its own outcome.

export { endBatches } from './batch-ends.ts'
export { type Batches, makeBatches } from './batches.ts'
export { makeFreeze } from './freeze-batch.ts'
export { type Gathering, makeGathering } from './gather-batch.ts'
