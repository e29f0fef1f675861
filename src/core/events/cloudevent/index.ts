// Reads and writes CloudEvents in binary and structured mode.

export { formatBinary, parseBinary } from './binary-mode.ts'
export type { CloudData, CloudEvent, CloudFault, CloudResult } from './cloudevent.ts'
export { type DraftResult, fromEvent, type PublishDraft, toDraft } from './cloudevent-envelope.ts'
export { formatStructured, parseStructured } from './structured-mode.ts'
