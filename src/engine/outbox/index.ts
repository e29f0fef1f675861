// Publishes the outbox to the bus, oldest first, from one node at a time.

export { composeOutbox, type Outbox } from './compose.ts'
export type { Relay } from './relay.ts'
