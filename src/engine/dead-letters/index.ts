// Carries out operator actions on dead letters and parked jobs, one at a time, and bulk replays and recoveries of
// missed deliveries.

export { composeDeadLetters } from './compose.ts'
export type { DeadLetterActions } from './dead-letter-actions.ts'
export { readEdit } from './edited-events.ts'
export { byAge, findEarlierKey } from './replay-key.ts'
export {
  type BulkReplay,
  type BulkReplays,
  type DeliveriesFilter,
  type DeliveriesPreview,
  type EventFilter,
  listDeadLetters,
  RECOVERED,
  RECOVERY_VERDICTS,
  type ReplayFilter,
} from './replays/index.ts'
