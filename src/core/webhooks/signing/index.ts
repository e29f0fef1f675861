export { type DeliveryToSign, SecretError, signDelivery } from './sign-delivery.ts'
export {
  newSecret,
  type ParsedSecret,
  parseSecret,
  publicKeyOf,
  SECRET_BYTES,
} from './signing-secret.ts'
