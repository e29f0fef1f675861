export {
  newSecret,
  type ParsedSecret,
  parseSecret,
  publicKeyOf,
  SECRET_BYTES,
} from './secret.ts'
export { type DeliveryToSign, SecretError, signDelivery } from './sign.ts'
