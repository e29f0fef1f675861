export type { NewOutboxRow, OutboxRow } from './outbox.ts'
