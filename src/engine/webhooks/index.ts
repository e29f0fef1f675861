// Delivers events to the endpoints of subscriptions, and manages the subscriptions.

export {
  addDelivery,
  type Delivery,
  type DeliveryActions,
  type DeliveryFilter,
  type DeliveryRequest,
  type DeliveryRunner,
  type DeliveryViews,
  isDelivered,
  isUnderWay,
  judgeDelivery,
  LENT_MAX,
  makeDeliveryActions,
  makeDeliveryRunner,
  makeDeliveryViews,
  makeSlotLending,
  mustBeDecided,
  newDelivery,
  type Retried,
  readDeliveryVersion,
  sightOf,
} from './deliveries/index.ts'
export {
  composeSubscriptions,
  heldByApi,
  type NewSubscription,
  type SubscriptionDetail,
  type Subscriptions,
  type SubscriptionView,
} from './subscriptions/index.ts'
