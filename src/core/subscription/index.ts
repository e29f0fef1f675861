export { generatedSecret, secretRefOf } from './secret-ref.ts'
export type {
  DisabledBecause,
  Subscription,
  SubscriptionRecord,
  SubscriptionState,
  SubscriptionStatus,
} from './types.ts'
export { FRESH_SUBSCRIPTION, SUBSCRIPTION_PREFIX, SUBSCRIPTION_STATUSES } from './types.ts'
