// Replays many dead letters or events in pieces, with a preview, and recovers missed deliveries.

export { type BulkReplays, makeBulkReplays } from './bulk-replays.ts'
export { listDeadLetters } from './dead-letter-pages.ts'
export type { DeliveriesPreview } from './preview-deliveries.ts'
export { RECOVERY_VERDICTS } from './recovery-verdict.ts'
export {
  type BulkReplay,
  type DeliveriesFilter,
  type EventFilter,
  RECOVERED,
  type ReplayFilter,
} from './replay-record.ts'
