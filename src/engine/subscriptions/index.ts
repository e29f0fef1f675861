export { heldByApi } from './held.ts'
export type {
  NewSubscription,
  RotatedSecret,
  ShownSecret,
  SubscriptionDetail,
  SubscriptionHealth,
  SubscriptionItem,
  SubscriptionQuery,
  SubscriptionSecret,
  Subscriptions,
  SubscriptionTest,
  SubscriptionView,
} from './types.ts'
