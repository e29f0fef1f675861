export { makeMirrorStore } from './mirror-store.ts'
export { makeRelay, type Relay, type RelayStatus } from './relay.ts'
export { ALWAYS, makeTurn, type Turn } from './turn.ts'
