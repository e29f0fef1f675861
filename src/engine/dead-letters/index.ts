// Carries out operator actions on dead letters and parked jobs, one at a time, and bulk replays and recoveries of
// missed deliveries.

export { type DeadLetterActions, makeReplayer } from './dead-letter-actions.ts'
export { readEdit } from './edited-events.ts'
export { makeWorkActions } from './job-actions.ts'
export { byAge, findEarlierKey } from './replay-key.ts'
export {
  type BulkReplay,
  type BulkReplays,
  type DeliveriesFilter,
  type DeliveriesPreview,
  type EventFilter,
  listDeadLetters,
  makeBulkReplays,
  RECOVERED,
  RECOVERY_VERDICTS,
  type ReplayFilter,
} from './replays/index.ts'
