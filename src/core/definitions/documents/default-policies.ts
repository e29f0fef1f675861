// The named policies, and the defaults for definitions without flow control.

import { MINUTE, SECOND } from '../../foundation/time/index.ts'
import type { CircuitPolicy, DrainPolicy } from './documents.ts'

function drain(profile: string, events: number, cycles: number): DrainPolicy {
  return { profile, everyMs: 5 * MINUTE, events, cycles }
}

/** null: immediately, as without a drain. */
export const DRAIN_PROFILES = {
  FEED_SAFE_5MIN: drain('FEED_SAFE_5MIN', 25, 2),
  FEED_THROUGHPUT_5MIN: drain('FEED_THROUGHPUT_5MIN', 50, 2),
  FEED_CATCHUP_5MIN: drain('FEED_CATCHUP_5MIN', 50, 4),
  SAGA_CONSERVATIVE_5MIN: drain('SAGA_CONSERVATIVE_5MIN', 5, 1),
  SAGA_BALANCED_5MIN: drain('SAGA_BALANCED_5MIN', 5, 2),
  UPSERT_SAFE_5MIN: drain('UPSERT_SAFE_5MIN', 25, 1),
  INSTANT: null,
} as const satisfies Readonly<Record<string, DrainPolicy | null>>

/** For a route that sets no circuit. */
export const USUAL_CIRCUIT: CircuitPolicy = { consecutive: 5, ratio: 0.5, of: 20, openMs: 30 * SECOND }

/** Without a burst: the rate of ten seconds, and at least one. */
const BURST_SHARE = 6

export function usualBurst(perMinute: number): number {
  return Math.max(1, Math.ceil(perMinute / BURST_SHARE))
}
