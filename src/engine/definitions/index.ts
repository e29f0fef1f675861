export { makeDefinitions } from './definitions.ts'
export type { NewDefinition } from './documents.ts'
export { followDefinitions } from './follow.ts'
export { putDocument, readPulse } from './records.ts'
export type {
  Applied,
  ApplyRequest,
  DefinedSubscriptions,
  DefinitionItem,
  Definitions,
  DefinitionsChange,
  PlannedChange,
} from './types.ts'
export type { VersionWarning } from './workflow-versions.ts'
