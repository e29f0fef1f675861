export { probeOf } from './probe.ts'
export {
  type CircuitOverride,
  CONNECTION_STATUSES,
  type ConnectionState,
  type ConnectionStatus,
  HEALTHS,
  type Health,
  type ProbeResult,
} from './state.ts'
