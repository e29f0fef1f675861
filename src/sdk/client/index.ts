// `millrace/client`: the API of a node for programs. Runs in browsers and in Node.

export type {
  Attempt,
  Change,
  Connection,
  ConnectionDetail,
  Consumer,
  Credential,
  DeadLetter,
  DeadLetterDetail,
  Delivery,
  DeliveryDetail,
  Envelope,
  Escalation,
  Event,
  EventDetail,
  Failure,
  Instance,
  InstanceChange,
  InstanceDetail,
  InstanceHistory,
  LedgerEntry,
  Operations,
  Orphan,
  Probe,
  Problem,
  Provider,
  ProviderDetail,
  Run,
  Subscription,
  SubscriptionDetail,
  Work,
  Workflow,
  WorkflowDetail,
  WorkStory,
} from './api.generated.ts'
export { type CallOptions, type Client, type ClientOptions, type ListName, makeClient } from './client.ts'
export { ExactNumber } from './exact-json.ts'
export { ConnectionError, ProblemError } from './problem-error.ts'
export type { StreamMessage, StreamOptions } from './stream.ts'
export {
  type SignOptions,
  sign,
  type VerifyOptions,
  verify,
  type WebhookErrorCode,
  type WebhookHeaders,
  WebhookVerificationError,
} from './webhook.ts'
