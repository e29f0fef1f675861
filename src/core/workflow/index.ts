export { correlationKey, parseStepName, partName, type StepType, stepName } from './names.ts'
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
