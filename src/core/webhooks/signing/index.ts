// Signs outbound deliveries with the secrets of a subscription.

export { type DeliveryToSign, SecretError, signDelivery } from './sign-delivery.ts'
export {
  newSecret,
  type ParsedSecret,
  parseSecret,
  publicKeyOf,
  SECRET_BYTES,
} from './signing-secret.ts'
