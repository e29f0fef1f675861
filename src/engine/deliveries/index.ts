export { type DeliveryWatch, type FailedDelivery, UNWATCHED } from './watch.ts'
