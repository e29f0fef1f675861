// Holds what goes into one commit, sends it to the store, and knows the store's clock.

export { type About, type Commits, type FirmResult, makeCommits } from './commits.ts'
export { isUnreadable, makeSealStore, rewrapRecords } from './encrypted-store.ts'
export type { Beginning, Birth, Draft, EventPlan, PlanEvent, PlanGroup, Planned } from './event-plan.ts'
export { makeStoreTime, type StoreTime } from './store-time.ts'
export { tenantsInStore, tenantsWithKnownTimes } from './tenants-in-store.ts'
export {
  type Births,
  makeUnitOfWork,
  orConflict,
  orFail,
  RACES_MAX,
  retrying,
  type Unit,
  type UnitOfWork,
} from './unit-of-work.ts'
