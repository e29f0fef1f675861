// Decides when a circuit opens, probes and closes.

export type { BrokenCircuit, Circuit, CircuitEvent, CircuitStep, ClosedCircuit } from './circuit.ts'
export { CLOSED, circuitOutcome, stepCircuit } from './circuit.ts'
