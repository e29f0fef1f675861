export { makeMirrorStore } from './mirror-store.ts'
export { makeRelay, OUTBOX_COUNT_MAX, type Relay, type RelayStatus } from './relay.ts'
export { ALWAYS, makeTurn, type Turn } from './turn.ts'
