// Describes a tenant's connection to a provider: its address, health probe and state.

export { type Addresses, type Located, locate, resolveAddresses } from './connection-address.ts'
export { CIRCUIT_OPEN, connectionFailure, connectionFailureId } from './connection-failure.ts'
export { probeOf, provesReachOnly } from './connection-probe.ts'
export {
  type CircuitOverride,
  CONNECTION_STATUSES,
  type ConnectionFailing,
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
