// Defines the documents that users write, their language version and their hashes.

export {
  ACTION_TYPES,
  type ActionDocument,
  type ActionType,
  type AgentActionDocument,
  actionFactsOf,
  type ConnectionUse,
  type EmitActionDocument,
  type FunctionActionDocument,
  type HttpActionDocument,
  type OperationActionDocument,
  type ScheduleActionDocument,
  type StartActionDocument,
  type UnscheduleActionDocument,
  type UpsertActionDocument,
  type UpsertCallDocument,
} from './action-documents.ts'
export type { AgentDocument } from './agent-document.ts'
export { type AuthDocument, authHeaderOf, authSecretOf } from './auth-document.ts'
export { hashBundle } from './bundle-hash.ts'
export { CLASSIFICATIONS, type Classification } from './classification.ts'
export { actionsOf, codeHashesOf } from './code-hashes.ts'
export { type ConnectionDocument, PROBE_EVERY_MS, PROBE_TIMEOUT_MS } from './connection-document.ts'
export type { CredentialDocument } from './credential-document.ts'
export { ROTATION_COOL_DOWN_MS, ROTATION_OVERLAP_MS } from './credential-document.ts'
export { DRAIN_PROFILES, USUAL_CIRCUIT, usualBurst } from './default-policies.ts'
export type { DefinitionDocument } from './definition-kinds.ts'
export {
  CONTROL_VERBS,
  type ControlVerb,
  DEFINITION_KINDS,
  type DefinitionKind,
  type DefinitionStatus,
  type DocumentOf,
} from './definition-kinds.ts'
export {
  type Authored,
  type Change,
  compareEntries,
  controlDefinition,
  declaredStatus,
  definitionId,
  type Entry,
  hashEntries,
  type ManagedBy,
  mergeEntries,
} from './deployed-entries.ts'
export { hashDocument } from './document-hash.ts'
export type {
  AnswerDocument,
  CatalogDocument,
  CircuitPolicy,
  ConditionDocument,
  DispatchDocument,
  DrainPolicy,
  HandshakeDocument,
  NatsDocument,
  ProfileDocument,
  RatePolicy,
  RouteDocument,
  ScheduleDocument,
  SourceDocument,
} from './documents.ts'
export { MESSAGE_SUBJECT, MESSAGE_SUBJECT_HEADER, RETENTION_MS } from './documents.ts'
export { HMAC_LANGUAGE, LANGUAGE, languageOf } from './language-version.ts'
export type { PagingDocument, PollerDocument } from './poller-document.ts'
export type {
  AuthModel,
  Bucket,
  Idempotency,
  OperationDocument,
  OperationRequest,
  ProviderDocument,
  Refinement,
} from './provider-document.ts'
export { AUTH_MODELS, authenticationOf, BEARER, IDEMPOTENCIES, operationOf } from './provider-document.ts'
export { RETRY_CAUSES, type RetryCause, type RetryPolicy } from './retry-policy.ts'
export type { Signing, SubscriptionDocument } from './subscription-document.ts'
export { DISABLE_AFTER_MS, SIGNINGS } from './subscription-document.ts'
export {
  applyVarSettings,
  type SetVars,
  VAR_SETTING,
  type VarSettingProblem,
  type VarSettings,
} from './var-settings.ts'
export {
  ENVIRONMENTS,
  type EnvironmentName,
  filledVarsOf,
  OWN_VARS,
  type VarsDocument,
  type VarValues,
  valuesIn,
  withFilledVars,
} from './vars-document.ts'
export type {
  ApiKeyVerify,
  BasicVerify,
  HmacVerify,
  SecretRef,
  VendorScheme,
  VendorVerify,
  VerifyDocument,
} from './verify-document.ts'
export {
  ADDRESSED_SCHEMES,
  PLAIN_SCHEMES,
  secretsOf,
  TIMED_ADDRESSED_SCHEMES,
  TIMED_SCHEMES,
} from './verify-document.ts'
export type {
  FireMode,
  MigrationDocument,
  OnFailureDocument,
  PlaceDocument,
  PlaceType,
  TransitionDocument,
  TriggerDocument,
  WorkflowDocument,
} from './workflow-document.ts'
export {
  enforcedClassification,
  FIRE_MODES,
  MIGRATION_STRATEGIES,
  PLACE_TYPES,
  publishesData,
} from './workflow-document.ts'
