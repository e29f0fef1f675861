export { makeLocalSeal } from './seal-local.ts'
