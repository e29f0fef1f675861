// Runs workflow instances: triggers, steps, signals, operator actions, migrations, orphaned events.

export { composeStarts, composeWorkflowJobs } from './compose.ts'
export { type Instances, makeInstances } from './instances/index.ts'
export {
  makeWorkflowOperatorApi,
  type ReadEntry,
  type ReadInstance,
  type ReadPast,
  type WorkflowOperatorApi,
} from './operator-actions/index.ts'
export type { WorkflowItems } from './run-workflow-job.ts'
export type { RunStart } from './starts/index.ts'
export { endSteps, type ReplayedItem, replayedItem, type Steps } from './steps/index.ts'
export type { OrphanActions } from './triggers/index.ts'
