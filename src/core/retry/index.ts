export type { RetryProfileName } from './retry.ts'
export { nextDelay, RETRY_PROFILES } from './retry.ts'
