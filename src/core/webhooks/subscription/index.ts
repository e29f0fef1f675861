export { classifyDelivery, type DeliveryVerdict, type EndpointSign } from './classify-response.ts'
export { compileAddress, compileSubscription, isTestEvent, withStatus } from './compile-subscription.ts'
export type {
  DeliveredEvent,
  DisabledBecause,
  Subscription,
  SubscriptionRecord,
  SubscriptionState,
  SubscriptionStatus,
} from './compiled-subscription.ts'
export { FRESH_SUBSCRIPTION, SUBSCRIPTION_PREFIX, SUBSCRIPTION_STATUSES } from './compiled-subscription.ts'
export {
  DELIVERY_STATES,
  DELIVERY_STEPS,
  type DeliveryState,
  deliveryState,
  WORK_STATES_OF,
} from './delivery-state.ts'
export {
  type ConcurrencyLimit,
  type ConcurrencyLimitInput,
  concurrencyAllows,
  newConcurrencyLimit,
  stepConcurrencyLimit,
} from './endpoint-concurrency-limit.ts'
export { isReservedHeader, RESERVED_HEADERS } from './reserved-headers.ts'
export { responseHead } from './response-head.ts'
export { generatedSecret, secretRefOf } from './signing-secret-ref.ts'
export {
  effectiveStatus,
  type SubscriptionInput,
  type SubscriptionNotice,
  type SubscriptionPolicy,
  type SubscriptionStep,
  stepSubscription,
} from './subscription-status.ts'
