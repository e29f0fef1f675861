// Loads instances, steps them by the pure machine, and plans the commit of each change.

export { isOver, type Keys, type KnownRow, loadRows, planRows, type RowChange } from './correlation-rows.ts'
export { type Creation, planCreate } from './create-instance.ts'
export { encryptedPaths, encryptInstance, openHistory, openInstance } from './encrypt-instance.ts'
export { deadLetterOfItems, failedFiring, itemsOfFiring, resumeFiring, withItem } from './failed-firings.ts'
export type { InstancePlan, Loaded, Origin, SteppedOk } from './instance-types.ts'
export { type Instances, makeInstances, originOfEvent, orRefused } from './instances.ts'
export { refusalError, unknownName } from './machine-refusals.ts'
export { type MigrationOrder, makeMigrator } from './migrate-instance.ts'
export { FOREVER_MS, KeyRefused } from './plan-instance-change.ts'
