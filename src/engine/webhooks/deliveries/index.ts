// Sends one event to one endpoint, and settles the attempt.

export { addDelivery } from './add-delivery.ts'
export { SUBSCRIPTION_GONE } from './delivery-ends.ts'
export {
  type Delivery,
  type DeliveryActions,
  type DeliveryFilter,
  makeDeliveryActions,
} from './delivery-operator-api.ts'
export {
  mustBeDecided,
  type Rendered,
  renderDelivery,
  sightOf,
  signRequest,
  type ToRender,
} from './delivery-request.ts'
export { readDeliveryVersion } from './delivery-version-guard.ts'
export type { DeliveryRequest, DeliveryViews } from './delivery-views.ts'
export type { DeliveryWatch, ToldCall } from './endpoint-reports.ts'
export { makeDeliveryViews } from './make-delivery-views.ts'
export { isDelivered, isUnderWay, judgeDelivery, newDelivery } from './redelivery.ts'
export type { Retried } from './retry-delivery.ts'
export { type DeliveryRunner, makeDeliveryRunner } from './run-delivery.ts'
export { LENT_MAX, makeSlotLending } from './slot-lending.ts'
