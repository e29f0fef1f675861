// Ends or reschedules a job in one commit: ledger, failure, dead letter, lane position, emitted events.

export { allowedActs, goesOn, isOfInstance, isOrphans } from './allowed-actions.ts'
export { type Bury, newLetter, storableError } from './dead-letter-row.ts'
export {
  DECISIONS,
  type Decisions,
  decideNext,
  SETTLE_MARGIN_MS,
  SHORT_WAIT_MS,
} from './decision-functions.ts'
export { type EscalationActions, makeEscalations } from './escalations.ts'
export { makeFailureSweep } from './failure-sweep.ts'
export { type Failures, failAtTheDoor, makeFailures, NO_FAILURE_CHANGE } from './failures.ts'
export { makeObstacle, makeWait, type Obstacle } from './function-stop.ts'
export {
  again,
  cancelled,
  type Decision,
  dead,
  done,
  type Held,
  type OtherEnd,
  parked,
  type Saying,
  skipped,
} from './job-decision.ts'
export type { WorkActions } from './operator-actions.ts'
export { endPlans, makeSettler, type PlanEnd, type Settlement, type Settler } from './settle.ts'
