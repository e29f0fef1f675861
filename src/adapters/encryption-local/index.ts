export { makeLocalSeal } from './encryption-local.ts'
