// Turns requests, bus messages, published events and schedule slots into stored events.

export type { Acceptor } from './accept-event.ts'
export type { IntakeRequest } from './admission.ts'
export type { BusConsumers } from './bus-consumers.ts'
export { composeIngest, type Ingest } from './compose.ts'
export type { Publisher } from './publish.ts'
export type { Accepted, Intake, Received } from './receive-request.ts'
export type { RejectionPage, Rejections } from './rejections.ts'
export { findDispatched, type IntakeItems } from './run-intake-job.ts'
export {
  type BesideEvent,
  besideSchedule,
  iso,
  readSchedule,
  type Schedules,
  type Timed,
  type TimedList,
} from './schedules.ts'
export type { Timetables } from './timetables.ts'
