// Builds one commit of guards, writes and event plans, sends it to the store (encrypting sensitive data on the way),
// and knows the store's clock and tenants.

export { type About, type Commits, type FirmResult, makeCommits } from './commits.ts'
export { isUnreadable, makeEncryptedStore, rewrapRecords } from './encrypted-store.ts'
export type { EngineBase } from './engine-base.ts'
export {
  type Beginning,
  type Draft,
  type EventPlan,
  matchedEvent,
  type PlanEvent,
  type PlanGroup,
  type Planned,
  type PlannedJob,
  receivedEvent,
} from './event-plan.ts'
export { followTenants } from './follow-tenants.ts'
export { type EngineSignals, makeEngineSignals, makeSignal } from './signals.ts'
export { makeStoreTime, type StoreTime } from './store-time.ts'
export { tenantsInStore, tenantsWithKnownTimes } from './tenants-in-store.ts'
export {
  type LeasedOnInsert,
  makeUnitOfWork,
  orConflict,
  orFail,
  RACES_MAX,
  retrying,
  type Unit,
  type UnitOfWork,
} from './unit-of-work.ts'
