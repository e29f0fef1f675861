export type {
  ConnectionCaller,
  EffectOptions,
  FunctionContext,
  FunctionEvent,
  FunctionLog,
} from './context.ts'
export { defineFunction, type FunctionDefinition, type Templated } from './define.ts'
export { defineWorkflow } from './define-workflow.ts'
export type {
  AuthDefinition,
  Condition,
  Expression,
  Filter,
  SecretReference,
  Sent,
  SizeText,
  Template,
} from './definition-values.ts'
export {
  type ActionDefinition,
  type AgentDefinition,
  type AuthModelName,
  type ConnectionDefinition,
  type CredentialDefinition,
  defineAgent,
  defineConnection,
  defineCredential,
  definePoller,
  defineProfile,
  defineProvider,
  defineRoute,
  defineSource,
  defineSubscription,
  defineVars,
  type FunctionActionDefinition,
  type HttpActionDefinition,
  type OperationDefinition,
  type PollerDefinition,
  type ProfileDefinition,
  type ProviderDefinition,
  type RetryDefinition,
  type RouteDefinition,
  type SourceDefinition,
  type SubscriptionDefinition,
  type VarsDefinition,
} from './definitions.generated.ts'
export { type DurationText, RetryableError, TerminalError } from './errors.ts'
export { type ExprValue, expr } from './expr.ts'
export type { StandardSchema } from './schema.ts'
export type {
  DataTarget,
  PlaceDefinition,
  TransitionDefinition,
  TriggerDefinition,
  WorkflowDefinition,
} from './workflow-definitions.ts'
