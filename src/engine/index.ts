export type { IntakeRequest } from './admission.ts'
export type { BacklogAges } from './backlog.ts'
export { DECISIONS, type Decisions } from './decisions.ts'
export {
  DELIVERY_STATES,
  type Delivery,
  type DeliveryActions,
  type DeliveryFilter,
  type DeliveryState,
  LENT_MAX,
  type Retried,
} from './deliveries/index.ts'
export { ENGINE_DEFAULTS, type EngineConfig, type EngineDeps, type EngineSecrets } from './deps.ts'
export { readEdit } from './edits.ts'
export { type Engine, type EngineHealth, makeEngine } from './engine.ts'
export { type Change, changeName, type Feed } from './feed.ts'
export type { Accepted, Received } from './intake.ts'
export type { Meter, Stats } from './meter.ts'
export type { PaceActions, PaceView } from './pace/index.ts'
export type { RejectionPage, Rejections } from './rejections.ts'
export type { DeadLetterActions } from './replay.ts'
export {
  type BulkReplay,
  type BulkReplays,
  type DeliveriesFilter,
  type DeliveriesPreview,
  type EventFilter,
  listLetters,
  RECOVERED,
  RECOVERY_VERDICTS,
  type ReplayFilter,
} from './replays/index.ts'
export type { WorkActions } from './work-actions.ts'
export type { ReadEntry, ReadInstance, ReadPast, WorkflowPeople } from './workflows/index.ts'
