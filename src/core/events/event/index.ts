export { deadLetterOfEdit, type Edit, editedFrom, editKey } from './edited-copy.ts'
export type { Envelope, EventSummary, NewEvent, StoredEvent } from './event.ts'
export { showEnvelope } from './event-envelope.ts'
export { CLOCK_MARGIN_MS, type IdSpan, idSpan, workIdSpan } from './event-id-range.ts'
