export { type Edit, editedFrom, editKey, letterOfEdit } from './edited.ts'
export { showEnvelope } from './envelope.ts'
export type { Envelope, EventSummary, NewEvent, StoredEvent } from './event.ts'
export { CLOCK_MARGIN_MS, type IdSpan, idSpan, workIdSpan } from './range.ts'
