// Carries out what operators decide about dead letters and parked jobs, one or many at a time.

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
  listLetters,
  makeBulkReplays,
  RECOVERED,
  RECOVERY_VERDICTS,
  type ReplayFilter,
} from './replays/index.ts'
