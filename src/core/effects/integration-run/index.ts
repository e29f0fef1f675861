// Describes one integration run (a connector call): its id, state and steps.

export {
  type NewRun,
  RUN_ATTEMPTS_MAX,
  RUN_PURPOSES,
  RUN_STATES,
  type Run,
  type RunAttempt,
  type RunPurpose,
  type RunState,
} from './integration-run.ts'
export { runIdOf, runIdOfEffect } from './integration-run-id.ts'
export { type MadeAttempt, makeRun, type RunAbout, type RunEvent, stepRun } from './integration-run-step.ts'
