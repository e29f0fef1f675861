// Decides when a failed attempt runs again.

export type { RetryProfileName } from './retry.ts'
export { nextDelay, RETRY_PROFILES, stretch } from './retry.ts'
