// Performs actions under the ledger: HTTP calls, batches, upserts, agents, functions.

export { type AgentProgress, type Agents, makeAgents } from './agents/index.ts'
export { type Batches, endBatches, makeBatches, makeFreeze, makeGathering } from './batches/index.ts'
export type {
  Beside,
  Call,
  DeadLetterRouteJob,
  InternalCall,
  KnownOutcome,
  Performed,
  Sent,
  Through,
} from './call.ts'
export {
  countersOf,
  errorText,
  errorTextInFull,
  factsOf,
  hostOf,
  isFirstRun,
  leaseGuard,
  ledgerGuard,
  measured,
  newEntry,
  reserveGuard,
  resultText,
  settleLedger,
  traceparentOf,
  unreservedGuard,
  withoutWords,
} from './call-outcome.ts'
export { type Effects, makeEffects } from './effects.ts'
export type { FlowControl } from './flow-control-hooks.ts'
export {
  type Extra,
  type FunctionConnections,
  FunctionRun,
  type InternalActions,
  type InternalFailure,
  makeFunctionEffects,
  makeFunctionEnds,
  makeInternalActions,
  type OpenEffect,
} from './functions/index.ts'
export { makeOpenHttp, type OpenHttp } from './http-with-secrets.ts'
export { makeLateAcks } from './late-acks.ts'
export { askProbe } from './probe.ts'
export { redactOutcome, requestHead, responseHead } from './redacted-exchange.ts'
export { openSecrets } from './request-secrets.ts'
export { nameNext, otherUnknownOutcomes } from './unknown-outcomes.ts'
export { freeLocks, makeUpserts, releaseLocks, type Upserts } from './upserts/index.ts'
