export { classifyDelivery, type DeliveryVerdict, type EndpointSign } from './classify.ts'
export { compileAddress, compileSubscription, isTestEvent, withStatus } from './compile.ts'
export {
  DELIVERY_STATES,
  DELIVERY_STEPS,
  type DeliveryState,
  deliveryState,
  WORK_STATES_OF,
} from './delivery.ts'
export { isReservedHeader, RESERVED_HEADERS } from './reserved.ts'
export { responseHead } from './response-head.ts'
export { generatedSecret, secretRefOf } from './secret-ref.ts'
export {
  effectiveStatus,
  type SubscriptionInput,
  type SubscriptionPolicy,
  type SubscriptionStep,
  type SubscriptionTell,
  stepSubscription,
} from './status.ts'
export type {
  DeliveredEvent,
  DisabledBecause,
  Subscription,
  SubscriptionRecord,
  SubscriptionState,
  SubscriptionStatus,
} from './types.ts'
export { FRESH_SUBSCRIPTION, SUBSCRIPTION_PREFIX, SUBSCRIPTION_STATUSES } from './types.ts'
export { newWindow, stepWindow, type Window, type WindowInput, windowAllows } from './window.ts'
