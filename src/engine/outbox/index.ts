// Publishes the outbox to the bus, oldest first, from one node at a time.

export { makeOutboxStore } from './outbox-store.ts'
export { makeRelay, type Relay } from './relay.ts'
export { ALWAYS_HELD, makeLeaderLease } from './relay-lease.ts'
