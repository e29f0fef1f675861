// Decides which jobs form a batch and how each member ends.

export { batchKey, batchScope, type MemberInBatch, splitBatch } from './batch.ts'
export { type BatchRules, compileBatch, type MemberOutcome } from './batch-outcomes.ts'
