// The public surface of the engine: what the HTTP API, the app and the simulator may import.

export { DELIVERY_STATES, type DeliveryState } from '../core/webhooks/subscription/index.ts'
export { ENGINE_DEFAULTS, type EngineConfig, type EngineDeps, type EngineSecrets } from './config.ts'
export {
  type BulkReplay,
  type BulkReplays,
  type DeadLetterActions,
  type DeliveriesFilter,
  type DeliveriesPreview,
  type EventFilter,
  listDeadLetters,
  RECOVERED,
  RECOVERY_VERDICTS,
  type ReplayFilter,
  readEdit,
} from './dead-letters/index.ts'
export { makeEngine } from './engine.ts'
export type { Engine, EngineHealth } from './engine-api.ts'
export { asksForSystem, listReads, seenBy, withFacts } from './events/index.ts'
export type { FlowControlActions, FlowControlView, WorkflowCircuit } from './flow-control/index.ts'
export type { Accepted, IntakeRequest, Received, RejectionPage, Rejections } from './ingest/index.ts'
export { type Change, changeName, type Feed, type Meter, type Stats } from './observe/index.ts'
export type { BacklogAges } from './queue/index.ts'
export { DECISIONS, type Decisions, type WorkActions } from './settlement/index.ts'
export {
  type Delivery,
  type DeliveryActions,
  type DeliveryFilter,
  LENT_MAX,
  type Retried,
} from './webhooks/index.ts'
export type { ReadEntry, ReadInstance, ReadPast, WorkflowOperatorApi } from './workflows/index.ts'
