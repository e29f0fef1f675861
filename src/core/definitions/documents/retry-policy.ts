// When failed attempts are tried again, in its stored form.

export interface RetryPolicy {
  /** Name of the profile it came from, or null when written in place. */
  readonly profile: string | null
  /** Includes the first. */
  readonly attempts: number
  /** attempts − 1 of them. */
  readonly delaysMs: readonly number[]
  /** The only failures that are retried, in this order; omitted: all of them. */
  readonly retryOn?: readonly RetryCause[]
}

/** The failures that a retry may fix: three classes, and calls of either outcome that took too long. */
export const RETRY_CAUSES = ['transient', 'rate_limited', 'timeout', 'unknown'] as const
export type RetryCause = (typeof RETRY_CAUSES)[number]
