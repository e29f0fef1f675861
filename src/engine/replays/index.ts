export { type BulkReplays, makeBulkReplays } from './bulk.ts'
export type { Preview, PreviewedLetter } from './preview.ts'
export type { EventsPreview, PreviewedEvent } from './preview-events.ts'
export { type BulkReplay, type EventFilter, isReplayId, type ReplayFilter } from './record.ts'
