export { compileWorkflow } from './compile.ts'
export { decodeHistory, decodeInstance, encodeHistory, encodeInstance } from './encode.ts'
export { planMigration } from './migrate.ts'
export { correlationKey, lockConsumer, parseStepName, partName, type StepType, stepName } from './names.ts'
export { diffData, type PastEntry, type PastInstance, rebuildInstance, type Until } from './rebuild.ts'
export { instanceScope, stepScope } from './scope.ts'
export { stepInstance } from './step.ts'
export type {
  Assignment,
  InstanceEffect,
  InstanceInput,
  MigrationPlan,
  Refused,
  Rule,
  StepEnv,
  StepInstance,
  Stepped,
  Transition,
  Trigger,
  Workflow,
} from './types.ts'
export { type Explained, explainTransitions } from './why.ts'
