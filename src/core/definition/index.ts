export { hashBundle } from './bundle.ts'
export type {
  ActionDocument,
  ConditionDocument,
  DefinitionDocument,
  EmitActionDocument,
  FunctionActionDocument,
  HttpActionDocument,
  ProfileDocument,
  RetryPolicy,
  RouteDocument,
  SecretRef,
  SourceDocument,
  VerifyDocument,
} from './documents.ts'
export { hashDocument, hashText } from './hash.ts'
export {
  type Authored,
  type Change,
  CONTROL_VERBS,
  type ControlVerb,
  compareEntries,
  controlDefinition,
  type DefinitionKind,
  type DefinitionStatus,
  declaredStatus,
  definitionId,
  type Entry,
  hashEntries,
  type ManagedBy,
  mergeEntries,
} from './in-force.ts'
