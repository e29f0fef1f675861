export type { Envelope, NewEvent, StoredEvent } from './event.ts'
