// Runs the jobs of an instance, and adds to the commit of a job's end what it means for the instance.

export { makeSignals } from './instance-signals.ts'
export { firingItem, type ReplayedItem, replayedItem } from './replayed-step.ts'
export { makeSteps, type StepActions, type Steps } from './run-step.ts'
export { endSteps } from './step-ends.ts'
