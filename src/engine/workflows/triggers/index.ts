// Applies events and schedule slots to workflows, and stores events that find no instance as orphans.

export { makeOrphans, type OrphanActions, type Orphans } from './orphans.ts'
export { makeTriggers } from './run-trigger.ts'
export { makeScheduledTriggers, type ScheduledTriggers } from './scheduled-triggers.ts'
export { makeTriggerRates } from './trigger-rates.ts'
