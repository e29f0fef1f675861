// Holds the node's own lease, the jobs leased to this node, and the slots they run in.

export { type BeginJob, makeBeginJob, startTimeLimit } from './begin-job.ts'
export { type JobSlots, makeJobSlots, sizeOf } from './job-slots.ts'
export { type Item, type JobSlot, makeItem } from './leased-job.ts'
export { makeLeasedOnInsert } from './leased-on-insert.ts'
export { type Lease, makeLease } from './node-lease.ts'
