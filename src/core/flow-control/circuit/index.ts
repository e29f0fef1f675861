// Decides when a circuit opens, probes and closes.

export type {
  BrokenCircuit,
  Circuit,
  CircuitEvent,
  CircuitOutcome,
  CircuitStep,
  ClosedCircuit,
} from './circuit.ts'
export { CLOSED, circuitOutcome, stepCircuit } from './circuit.ts'
