export { formatBinary, parseBinary } from './binary.ts'
export type { CloudData, CloudEvent, CloudFault, CloudResult } from './cloudevent.ts'
export { type DraftResult, fromEvent, type PublishDraft, toDraft } from './envelope.ts'
export { formatStructured, parseStructured } from './structured.ts'
