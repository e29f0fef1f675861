export { judgeLease, parseLease, RELAY_LEASE_MS, type RelayLease } from './lease.ts'
export { messageOf, type OutboxMessage, tellEvent } from './message.ts'
export type { NewOutboxRow, OutboxRow } from './outbox.ts'
export { BUS_PREFIX, encodeToken, eventSubject, tokenSubject } from './subjects.ts'
export {
  type Marked,
  retellTokens,
  TOKENS_KEPT_MS,
  TOKENS_TOLD_EVERY_MS,
  type TokenTold,
  tellTokens,
} from './tokens.ts'
