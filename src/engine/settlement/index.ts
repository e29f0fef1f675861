// Ends a job or puts it back in one commit: the settler asks the participants of the job's kind and action for their parts.

export { allowedActs, goesOn, isOfInstance, isOrphans } from './allowed-actions.ts'
export { composeEscalations, composeJobEnds } from './compose.ts'
export { newDeadLetter, storableError } from './dead-letter-row.ts'
export {
  DECISIONS,
  type Decisions,
  decideNext,
  SETTLE_MARGIN_MS,
  SHORT_WAIT_MS,
} from './decision-functions.ts'
export type { EscalationActions } from './escalations.ts'
export { type Failures, failOnIngest, makeFailures, NO_FAILURE_CHANGE, raise } from './failures.ts'
export { makeObstacle, makeWait, type Obstacle } from './function-stop.ts'
export {
  again,
  cancelled,
  type Decision,
  type DecisionInput,
  dead,
  done,
  type Held,
  parked,
  type Settlement,
  skipped,
} from './job-decision.ts'
export type { PlanEnd } from './job-end.ts'
export type { WorkActions } from './operator-actions.ts'
export { listParticipants, type OtherEnd, type Part, type Participant } from './participants.ts'
export { makeSettler, type Settler } from './settle.ts'
