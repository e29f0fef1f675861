// Decides when a draining route claims its jobs.

export type { DrainCycle, DrainRecord, DrainStep } from './drain.ts'
export { decideDrain, slotOf } from './drain.ts'
