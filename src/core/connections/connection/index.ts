export { type Addresses, type Located, locate, resolveAddresses } from './connection-address.ts'
export { probeOf, provesReachOnly } from './connection-probe.ts'
export {
  type CircuitOverride,
  CONNECTION_STATUSES,
  type ConnectionState,
  type ConnectionStatus,
  HEALTHS,
  type Health,
  type ProbeResult,
} from './connection-state.ts'
export {
  type ConnectionEvent,
  type ConnectionNotice,
  type ConnectionStep,
  type ConnectionTerms,
  connectionStatus,
  NEW_CONNECTION,
  overrideAt,
  stepConnection,
} from './connection-step.ts'
