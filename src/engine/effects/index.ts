// Performs actions under the ledger: HTTP calls, batches, upserts, agents, functions.

export type { Agents } from './agents/index.ts'
export { type Batches, endBatches } from './batches/index.ts'
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
  isFresh,
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
export { composeEffects, type EffectParts } from './compose.ts'
export type { FlowControl } from './flow-control-hooks.ts'
export {
  type Extra,
  type FunctionConnections,
  FunctionRun,
  type InternalActions,
  type InternalFailure,
  type OpenEffect,
} from './functions/index.ts'
export type { OpenHttp } from './http-with-secrets.ts'
export { type JobFailures, makeJobFailures } from './job-failures.ts'
export { askProbe } from './probe.ts'
export { redactOutcome, requestHead, responseHead } from './redacted-exchange.ts'
export { openSecrets } from './request-secrets.ts'
export type { Effects } from './run-call.ts'
export { sendFor, verdictOf } from './send-request.ts'
export { nameNext, otherUnknownOutcomes } from './unknown-outcomes.ts'
export { freeLocks, releaseLocks, type Upserts } from './upserts/index.ts'
