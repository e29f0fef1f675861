// Plans what the commit of an event contains: matched routes, dispatched events, new jobs, replayed jobs, workflow
// starts.

export { type Acceptance, planAcceptance, planUnread } from './acceptance.ts'
export { composePlanning, type Planning } from './compose.ts'
export type { Begun, InlineStart } from './instance-starter.ts'
export { intakeConsumer, newIntake, receiverOf } from './intake-job.ts'
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
  planEvent,
  planItems,
  planRefused,
  planWork,
} from './plan.ts'
export { addReplay, replayedWork } from './replayed-job.ts'
