// Runs workflow instances: triggers, steps, signals, operator actions, migrations, orphaned events.

export { composeStarts, composeWorkflowJobs } from './compose.ts'
export { type Instances, makeInstances } from './instances.ts'
export type { OrphanActions } from './orphans.ts'
export type { ReadEntry, ReadInstance, ReadPast } from './read-instance.ts'
export { type ReplayedItem, replayedItem } from './replayed-step.ts'
export type { Steps } from './run-step.ts'
export type { WorkflowItems } from './run-workflow-job.ts'
export type { RunStart } from './start-action.ts'
export { endSteps } from './step-ends.ts'
export { makeWorkflowOperatorApi, type WorkflowOperatorApi } from './workflow-operator-api.ts'
