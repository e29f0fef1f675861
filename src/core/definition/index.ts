export { hashBundle } from './bundle.ts'
export type {
  ActionDocument,
  AnswerDocument,
  CatalogDocument,
  ConditionDocument,
  DefinitionDocument,
  DispatchDocument,
  EmitActionDocument,
  FunctionActionDocument,
  HandshakeDocument,
  HttpActionDocument,
  ProfileDocument,
  RetryPolicy,
  RouteDocument,
  ScheduleDocument,
  SecretRef,
  SourceDocument,
  VerifyDocument,
} from './documents.ts'
export { RETENTION_MS, secretsOf } from './documents.ts'
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
