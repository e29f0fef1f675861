// Turns a named event into the content of its commit: matched routes, new jobs, inline starts.

export { type Acceptance, planAcceptance, planUnread } from './acceptance.ts'
export type { Begun, Door } from './inline-start.ts'
export { intakeConsumer, newIntake, receiverOf } from './intake-job.ts'
export { makeBirths } from './leased-on-insert.ts'
export { type DispatchedEvent, matchEvent } from './matching.ts'
export {
  delayOf,
  findRoutes,
  inLane,
  isWanted,
  type MayBegin,
  newItems,
  newWork,
  type PlanDeps,
  planAlone,
  planEvent,
  planItems,
  planRefused,
  planWork,
  receivedEvent,
} from './plan.ts'
export { addReplay, replayedWork } from './replayed-job.ts'
