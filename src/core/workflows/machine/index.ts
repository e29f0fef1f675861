// Compiles a workflow and computes each next state of an instance.

export { compileWorkflow } from './compile-workflow.ts'
export { decodeHistory, decodeInstance, encodeHistory, encodeInstance } from './encode-instance.ts'
export { type Explained, explainTransitions } from './explain-transition.ts'
export type {
  Assignment,
  InstanceEffect,
  InstanceInput,
  MigrationPlan,
  MigrationRequest,
  Refused,
  Rule,
  StepEnv,
  StepInstance,
  Stepped,
  TransformCall,
  Transition,
  Trigger,
  Workflow,
} from './machine-types.ts'
export { isManualMigration, planMigration } from './migrate-instance.ts'
export {
  diffData,
  type PastEntry,
  type PastInstance,
  rebuildInstance,
  type Until,
} from './rebuild-instance.ts'
export { stepInstance } from './step-instance.ts'
export {
  correlationKey,
  lockConsumer,
  parseStepName,
  partName,
  type StepType,
  stepName,
} from './workflow-names.ts'
export { instanceScope, stepScope } from './workflow-scope.ts'
