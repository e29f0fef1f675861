// Stores the definitions of each tenant, and holds the deployed ones compiled in memory.

export { type Account, type Lookups, makeLookups } from './connection-lookup.ts'
export { connectionOf } from './connection-of-action.ts'
export { putDocument, readChangeCounter } from './definition-records.ts'
export type {
  Applied,
  ApplyRequest,
  DefinedSubscriptions,
  DefinitionItem,
  Definitions,
  PlannedChange,
} from './definition-types.ts'
export { makeDefinitions } from './definitions.ts'
export { subscriptionOf } from './deployed-subscriptions.ts'
export type { NewDefinition } from './record-batches.ts'
export { type Deployed, makeRegistry, NEWER_LANGUAGE, type Registry } from './registry.ts'
export type { VersionWarning } from './workflow-versions.ts'
