// Plans what the commit of an event contains: matched routes, dispatched events, new jobs, replayed jobs, workflow
// starts; and starts the jobs leased on insert once the commit has ended.

export { type Acceptance, planAcceptance, planUnread } from './acceptance.ts'
export type { Begun, InlineStart } from './instance-starter.ts'
export { intakeConsumer, newIntake, receiverOf } from './intake-job.ts'
export { makeLeasedOnInsert } from './leased-on-insert.ts'
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
