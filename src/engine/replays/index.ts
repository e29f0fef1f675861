export { type BulkReplays, makeBulkReplays } from './bulk.ts'
export type { Preview, PreviewedLetter } from './preview.ts'
export { type BulkReplay, isReplayId, type ReplayFilter } from './record.ts'
