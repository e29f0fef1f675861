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
