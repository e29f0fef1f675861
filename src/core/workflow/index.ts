export { compileWorkflow } from './compile.ts'
export { decodeHistory, decodeInstance, encodeHistory, encodeInstance } from './encode.ts'
export { correlationKey, parseStepName, partName, type StepType, stepName } from './names.ts'
export { instanceScope, stepScope } from './scope.ts'
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
