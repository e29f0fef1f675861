// Decides when a failed attempt runs again.

export type { Backoff, RetryProfileName } from './retry.ts'
export { backoffDelays, nextDelay, RETRY_PROFILES, stretch } from './retry.ts'
