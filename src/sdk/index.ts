export type {
  ConnectionCaller,
  EffectOptions,
  FunctionContext,
  FunctionEvent,
  FunctionLog,
} from './context.ts'
export {
  defineFunction,
  defineProfile,
  defineRoute,
  defineSource,
  type FunctionDefinition,
  type Templated,
} from './define.ts'
export { type AgentDefinition, defineAgent, defineWorkflow } from './define-workflow.ts'
export type {
  ActionDefinition,
  AuthDefinition,
  Condition,
  Expression,
  Filter,
  FunctionActionDefinition,
  HttpActionDefinition,
  ProfileDefinition,
  RetryDefinition,
  RouteDefinition,
  SecretReference,
  Sent,
  SizeText,
  SourceDefinition,
  Template,
} from './definitions.ts'
export { type DurationText, RetryableError, TerminalError } from './errors.ts'
export { type ExprValue, expr } from './expr.ts'
export {
  type AuthModelName,
  type ConnectionDefinition,
  type CredentialDefinition,
  defineConnection,
  defineCredential,
  defineProvider,
  type OperationDefinition,
  type ProviderDefinition,
} from './integration-definitions.ts'
export type { StandardSchema } from './schema.ts'
export { defineSubscription, type SubscriptionDefinition } from './subscription-definitions.ts'
export type {
  DataTarget,
  PlaceDefinition,
  TransitionDefinition,
  TriggerDefinition,
  WorkflowDefinition,
} from './workflow-definitions.ts'
