// Creates, changes and removes subscriptions, and watches the health of their endpoints.

export { heldByApi } from './api-subscription-names.ts'
export { composeSubscriptions } from './compose.ts'
export type {
  NewSubscription,
  SubscriptionDetail,
  Subscriptions,
  SubscriptionView,
} from './subscription-types.ts'
