export { BUS_PREFIX, encodeToken, eventSubject, tokenSubject } from './bus-subjects.ts'
export type { NewOutboxRow, OutboxRow } from './outbox.ts'
export { judgeLease, parseLease, RELAY_LEASE_MS, type RelayLease } from './outbox-lease.ts'
export { messageOf, type OutboxMessage, tellEvent } from './outbox-message.ts'
export { publishInOrder, type Sent } from './publish-order.ts'
export {
  type Marked,
  retellTokens,
  TOKENS_KEPT_MS,
  TOKENS_TOLD_EVERY_MS,
  type TokenTold,
  tellTokens,
} from './token-messages.ts'
