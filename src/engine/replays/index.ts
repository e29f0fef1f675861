export { type BulkReplays, makeBulkReplays } from './bulk.ts'
export { listLetters } from './letters.ts'
export type { Preview, PreviewedLetter } from './preview.ts'
export type { DeliveriesPreview, PreviewedDelivery } from './preview-deliveries.ts'
export type { EventsPreview, PreviewedEvent } from './preview-events.ts'
export {
  type BulkReplay,
  type DeliveriesFilter,
  type EventFilter,
  isReplayId,
  RECOVERED,
  type ReplayFilter,
} from './record.ts'
export { RECOVERY_VERDICTS } from './verdict.ts'
