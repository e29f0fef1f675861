export type { RetryProfileName } from './retry.ts'
export { JITTER, nextDelay, RETRY_AFTER_MS_MAX, RETRY_PROFILES } from './retry.ts'
