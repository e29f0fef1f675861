// Deletes events and records when their retention time is over.

export { composeRetention } from './compose.ts'
export type { Retention } from './retention.ts'
