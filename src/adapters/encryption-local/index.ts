export { makeLocalEncryption } from './encryption-local.ts'
