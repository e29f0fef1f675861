export { DELIVERY_STATES, type DeliveryState } from '../../core/subscription/index.ts'
export { addDelivery } from './add.ts'
export { isDelivered, isUnderWay, judgeDelivery, newDelivery } from './again.ts'
export { SUBSCRIPTION_GONE } from './ends.ts'
export { LENT_MAX, makeLending } from './lending.ts'
export { makeDeliveryViews } from './make-views.ts'
export {
  type Delivery,
  type DeliveryActions,
  type DeliveryFilter,
  makeDeliveryActions,
} from './people.ts'
export {
  mustBeDecided,
  type Rendered,
  renderDelivery,
  sightOf,
  signRequest,
  type ToRender,
} from './request.ts'
export type { Retried } from './retry.ts'
export { type DeliveryRunner, makeDeliveryRunner } from './run.ts'
export { readTurn } from './turn.ts'
export type { DeliveryRequest, DeliveryViews, EndpointWindow } from './views.ts'
export type { DeliveryWatch, FailedDelivery, ToldCall } from './watch.ts'
