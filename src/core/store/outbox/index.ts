// Defines the messages of the outbox, their order and the lease of their publisher.

export { BUS_PREFIX, encodeToken, eventSubject, tokenSubject } from './bus-subjects.ts'
export type { NewOutboxRow, OutboxRow } from './outbox.ts'
export { judgeLease, parseLease, RELAY_LEASE_MS, type RelayLease } from './outbox-lease.ts'
export { eventMessage, factMessage, messageOf, type OutboxMessage } from './outbox-message.ts'
export { publishInOrder, type Sent } from './publish-order.ts'
export {
  type Marked,
  type PublishedData,
  republishTokens,
  TOKENS_REPUBLISHED_EVERY_MS,
  TOKENS_STORED_MS,
  type TokenMessage,
  tokenMessages,
} from './token-messages.ts'
