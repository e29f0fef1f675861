export type { Envelope, EventSummary, NewEvent, StoredEvent } from './event.ts'
