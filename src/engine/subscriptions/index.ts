export { heldByApi } from './held.ts'
export { makeSubscriptionKeeping, type SubscriptionKeeping } from './keeping.ts'
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
