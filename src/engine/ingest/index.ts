// Turns requests, bus messages, published events and schedule slots into stored events.

export { makeAcceptor } from './accept-event.ts'
export { type IntakeRequest, makeAdmission } from './admission.ts'
export { type BusConsumers, makeBusConsumers } from './bus-consumers.ts'
export { makeMessages } from './bus-messages.ts'
export { makeDuplicates } from './duplicate-counts.ts'
export { makeStoredHeaders } from './headers-and-trace.ts'
export { type Accepted, type Intake, makeIntake, type Received } from './intake.ts'
export { makePublisher, type Publisher } from './publish.ts'
export { makeRefusalLines } from './rejection-log.ts'
export { makeRejections, type RejectionPage, type Rejections } from './rejections.ts'
export { findDispatched, type IntakeItems, makeIntakeItems } from './run-intake-job.ts'
export {
  type BesideEvent,
  besideSchedule,
  iso,
  makeSchedules,
  readSchedule,
  type Schedules,
  type Timed,
} from './schedules.ts'
export { makeTenantBacklog } from './tenant-backlog.ts'
export { makeTimetables, type Timetables } from './timetables.ts'
