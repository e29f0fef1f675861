export { type Addresses, type Located, locate, resolveAddresses } from './address.ts'
export { probeOf, provesReachOnly } from './probe.ts'
export {
  type CircuitOverride,
  CONNECTION_STATUSES,
  type ConnectionState,
  type ConnectionStatus,
  HEALTHS,
  type Health,
  type ProbeResult,
} from './state.ts'
export {
  type ConnectionEvent,
  type ConnectionStep,
  type ConnectionTell,
  type ConnectionTerms,
  connectionStatus,
  NEW_CONNECTION,
  overrideAt,
  stepConnection,
} from './step.ts'
